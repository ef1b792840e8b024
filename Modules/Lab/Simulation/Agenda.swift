/// What is due next.
enum Step {
    case frame(slot: Int32)
    case exchange(peer: Int32)
    case tap(Int32)
    case fault(Int32)
    case faultEnd(Int32)
    case lie(Int32)
    case mend
}

/// Steps by the time at which they are due, and of the same moment in the order in which they were entered.
///
/// A binary heap of single words: a run spends much of its time here.
struct Agenda {
    private struct Entry {
        /// Microseconds, then a ticket: 2^32 of either are more than any run needs.
        let key: UInt64
        let step: Step
    }

    private var heap: [Entry] = []
    private var tickets: UInt64 = 0

    var nextTime: UInt64? { heap.isEmpty ? nil : heap[0].key >> 32 }

    mutating func enter(_ step: Step, at time: UInt64) {
        let entry = Entry(key: time << 32 | tickets, step: step)
        tickets += 1
        heap.append(entry)
        var index = heap.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[parent].key > entry.key else { break }
            heap[index] = heap[parent]
            index = parent
        }
        heap[index] = entry
    }

    mutating func take() -> Step? {
        guard let last = heap.popLast() else { return nil }
        guard let first = heap.first else { return last.step }
        var index = 0
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].key < heap[child].key { child += 1 }
            guard heap[child].key < last.key else { break }
            heap[index] = heap[child]
            index = child
        }
        heap[index] = last
        return first.step
    }
}
