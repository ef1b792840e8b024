/// A FIFO queue. Removing the first element is amortized O(1), and removed elements are released at once.
struct Queue<Element>: Sequence {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var count: Int { elements.count - head }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }
    mutating func insert(_ element: Element, at offset: Int) {
        elements.insert(element, at: head + Swift.min(offset, count))
    }
    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head].take()
        head += 1
        if head == elements.count || head > 32 && 2 * head > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
    mutating func remove(where condition: (Element) -> Bool) -> Element? {
        let index = elements[head...].firstIndex { $0.map(condition) ?? false }
        return index.flatMap { elements.remove(at: $0) }
    }
    mutating func removeAll() { self = Queue() }
    mutating func update(_ change: (inout Element) -> Void) {
        for index in head..<elements.count {
            if var element = elements[index] {
                change(&element)
                elements[index] = element
            }
        }
    }

    func makeIterator() -> AnyIterator<Element> {
        var index = head
        return AnyIterator {
            guard index < elements.count else { return nil }
            defer { index += 1 }
            return elements[index]
        }
    }
}
