/// What is due, soonest first, and of two at the same time the one entered first: a binary heap.
struct Timeline<Event> {
    private struct Entry {
        let time: UInt64
        let ticket: UInt64
        let event: Event

        func precedes(_ other: Entry) -> Bool { time != other.time ? time < other.time : ticket < other.ticket }
    }

    private var heap: [Entry] = []
    private var nextTicket: UInt64 = 0

    var next: (time: UInt64, event: Event)? { heap.first.map { ($0.time, $0.event) } }

    /// O(log n).
    mutating func enter(_ event: Event, at time: UInt64) {
        heap.append(Entry(time: time, ticket: nextTicket, event: event))
        nextTicket += 1
        var index = heap.count - 1
        while index > 0, heap[index].precedes(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Drops the first. O(log n).
    mutating func drop() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count && heap[child].precedes(heap[least]) {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}

/// A queue that gives up its front in amortised O(1), and keeps nothing of what it has given up.
struct Line<Element>: Sequence {
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
    mutating func removeAll() { self = Line() }
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
