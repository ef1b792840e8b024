/// A queue of elements with consecutive numbers, appended at the back and removed from the front. O(1) amortized.
struct NumberedQueue<Element> {
    /// The number of the first element, or of the next one if the queue is empty.
    private(set) var first: UInt64
    private var elements = FirstInFirstOut<Element>()

    init(first: UInt64) { self.first = first }

    /// The number of the next element to append.
    var next: UInt64 { first + UInt64(elements.count) }
    var isEmpty: Bool { elements.isEmpty }

    func contains(_ number: UInt64) -> Bool { number >= first && number < next }

    /// Accesses the element in place, without a copy.
    /// - Precondition: the queue contains the number.
    subscript(number: UInt64) -> Element {
        _read { yield elements[Int(number - first)] }
        _modify { yield &elements[Int(number - first)] }
    }

    mutating func append(_ element: Element) { elements.append(element) }
    mutating func removeLast() { elements.removeLast() }

    mutating func removeFirst() -> Element? {
        guard let element = elements.takeFirst() else { return nil }
        first += 1
        return element
    }
}

extension NumberedQueue: Sendable where Element: Sendable {}
