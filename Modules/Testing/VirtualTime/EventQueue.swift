/// A queue of scheduled events, soonest first. Of two at the same time, the one entered first comes first.
///
/// A binary heap: O(log n) to enter and to take. It moves only times and indexes; events stay in place. Inlinable, so
/// that other modules specialize it.
package struct EventQueue<Event> {
    @usableFromInline struct Entry {
        @usableFromInline let time: UInt64
        @usableFromInline let ticket: UInt64
        @usableFromInline let place: Int

        @inlinable init(time: UInt64, ticket: UInt64, place: Int) {
            self.time = time
            self.ticket = ticket
            self.place = place
        }

        @inlinable func precedes(_ other: Entry) -> Bool {
            time != other.time ? time < other.time : ticket < other.ticket
        }
    }

    @usableFromInline var heap: [Entry] = []
    @usableFromInline var events: [Event?] = []
    @usableFromInline var free: [Int] = []
    @usableFromInline var nextTicket: UInt64 = 0

    @inlinable package init() {}

    @inlinable package var count: Int { heap.count }
    @inlinable package var isEmpty: Bool { heap.isEmpty }
    @inlinable package var nextTime: UInt64? { heap.first?.time }

    /// The event that `take` would return.
    @inlinable package var next: (time: UInt64, event: Event)? {
        guard let first = heap.first else { return nil }
        return events[first.place].map { (first.time, $0) }
    }

    @inlinable package mutating func enter(_ event: Event, at time: UInt64) {
        let place: Int
        if let vacant = free.popLast() {
            place = vacant
            events[place] = event
        } else {
            place = events.count
            events.append(event)
        }
        rise(Entry(time: time, ticket: nextTicket, place: place))
        nextTicket += 1
    }

    @inlinable package mutating func take() -> (time: UInt64, event: Event)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if !heap.isEmpty { sink(last) }
        free.append(first.place)
        return events[first.place].take().map { (first.time, $0) }
    }

    /// Adds an entry at the end and moves it up past later ones.
    @inlinable mutating func rise(_ entry: Entry) {
        var index = heap.count
        heap.append(entry)
        while index > 0 {
            let parent = (index - 1) / 2
            guard entry.precedes(heap[parent]) else { break }
            heap[index] = heap[parent]
            index = parent
        }
        heap[index] = entry
    }

    /// Places an entry at the top and moves it down past earlier ones.
    @inlinable mutating func sink(_ entry: Entry) {
        var index = 0
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
            guard heap[child].precedes(entry) else { break }
            heap[index] = heap[child]
            index = child
        }
        heap[index] = entry
    }
}
