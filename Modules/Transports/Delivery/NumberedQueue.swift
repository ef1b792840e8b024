/// Elements that are numbered without a gap, appended at the back and taken from the front. O(1) amortised.
struct NumberedQueue<Element> {
    /// The number of the first element, or of the next one when there is none.
    private(set) var first: UInt64
    private var elements: [Element?] = []
    private var head = 0

    init(first: UInt64) { self.first = first }

    /// The number that the next element gets.
    var next: UInt64 { first + UInt64(count) }
    var count: Int { elements.count - head }
    var isEmpty: Bool { head == elements.count }

    func contains(_ number: UInt64) -> Bool { number >= first && number < next }

    /// - Precondition: the number is among those held.
    subscript(number: UInt64) -> Element {
        // The unwrapped place itself, so that nothing is copied out and in again.
        _read {
            yield elements[head + Int(number - first)]!
        }
        _modify {
            yield &elements[head + Int(number - first)]!
        }
    }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeLast() {
        if !isEmpty { elements.removeLast() }
    }

    mutating func removeFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head].take()
        head += 1
        first += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 64, 2 * head > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Begins anew after the last element.
    mutating func removeAll() {
        first = next
        elements.removeAll()
        head = 0
    }
}

extension NumberedQueue: Sendable where Element: Sendable {}
