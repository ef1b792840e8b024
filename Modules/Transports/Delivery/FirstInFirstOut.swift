/// A queue in an array. Appending and removing are O(1) amortized.
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

    /// Returns true if the queue contains the element. O(count).
    package func contains(_ element: Element) -> Bool where Element: Equatable {
        elements[head...].contains { $0 == element }
    }

    @inlinable package mutating func removeLast() {
        if !isEmpty { elements.removeLast() }
    }

    /// Puts the element of `takeFirst` back in front. O(1) amortized directly after it.
    package mutating func putBack(_ element: Element) {
        if head > 0 {
            head -= 1
            elements[head] = element
        } else {
            elements.insert(element, at: 0)
        }
    }

    /// Accesses the element at a distance from the first, in place.
    /// - Precondition: the distance is less than `count`.
    @inlinable package subscript(offset: Int) -> Element {
        @inline(__always) _read { yield elements[head + offset]! }
        @inline(__always) _modify { yield &elements[head + offset]! }
    }
}

extension FirstInFirstOut: Sendable where Element: Sendable {}
