/// A queue in an array: O(1) amortised both ways.

package struct FirstInFirstOut<Element> {
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    @inlinable package init() {}

    @inlinable @inline(__always) package var count: Int { elements.count - head }
    @inlinable @inline(__always) package var isEmpty: Bool { head == elements.count }
    @inlinable @inline(__always) package var first: Element? { isEmpty ? nil : elements[head] }

    @inlinable @inline(__always) package mutating func append(_ element: Element) { elements.append(element) }

    @inlinable @inline(__always) package mutating func takeFirst() -> Element? {
        guard !isEmpty else { return nil }
        let first = elements[head].take()
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 64, 2 * head > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }

    @inlinable package mutating func removeLast() {
        if !isEmpty { elements.removeLast() }
    }

    /// What waits, the first first.
    @inlinable @inline(__always) package var waiting: [Element] { elements[head...].compactMap { $0 } }
}

extension FirstInFirstOut: Sendable where Element: Sendable {}
