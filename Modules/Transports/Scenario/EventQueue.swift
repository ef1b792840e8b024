/// What is due, soonest first, and of two at the same time the one entered first.
///
/// A binary heap: O(log n) to enter and to take.
package struct EventQueue<Event> {
    @usableFromInline struct Entry {
        @usableFromInline let time: UInt64
        @usableFromInline let ticket: UInt64
        @usableFromInline let event: Event

        @inlinable init(time: UInt64, ticket: UInt64, event: Event) {
            self.time = time
            self.ticket = ticket
            self.event = event
        }

        @inlinable func precedes(_ other: Entry) -> Bool { (time, ticket) < (other.time, other.ticket) }
    }

    @usableFromInline var heap: [Entry] = []
    @usableFromInline var nextTicket: UInt64 = 0

    @inlinable package init() {}

    @inlinable package var count: Int { heap.count }
    @inlinable package var nextTime: UInt64? { heap.first?.time }

    @inlinable @inline(__always) package mutating func enter(_ event: Event, at time: UInt64) {
        heap.append(Entry(time: time, ticket: nextTicket, event: event))
        nextTicket += 1
        var index = heap.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].precedes(heap[parent]) else { break }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    @inlinable @inline(__always) package mutating func take() -> (time: UInt64, event: Event)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (first.time, first.event)
    }

    @inlinable @inline(__always) mutating func sink() {
        var index = 0
        while true {
            var soonest = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].precedes(heap[soonest]) { soonest = child }
            guard soonest != index else { return }
            heap.swapAt(index, soonest)
            index = soonest
        }
    }
}
