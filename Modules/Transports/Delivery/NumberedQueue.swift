/// Elements that are numbered without a gap, appended at the back and taken from the front. O(1) amortised.
struct NumberedQueue<Element> {
    /// The number of the first element, or of the next one when there is none.
    private(set) var first: UInt64
    private var elements = FirstInFirstOut<Element>()

    init(first: UInt64) { self.first = first }

    /// The number that the next element gets.
    var next: UInt64 { first + UInt64(elements.count) }
    var isEmpty: Bool { elements.isEmpty }

    func contains(_ number: UInt64) -> Bool { number >= first && number < next }

    /// The element itself, so that nothing is copied out and in again.
    /// - Precondition: the number is among those held.
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
