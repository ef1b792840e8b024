import MeshFoundation
import MeshIdentity

extension SessionSyncEngine {
    /// Reduces what follows the last checkpoint once more and compares: a reducer that reads a clock, draws ids or depends
    /// on the order of a set gives itself away. It costs up to 32 events, two digests and a copy of the log.
    @usableFromInline
    mutating func checkReducer() {
        guard !log.isBehind, options.reducesTwice || isSampleDue, let last = log.entries.last else { return }
        var again = log
        again.rollBack(to: again.entries.count - 1)
        let first = again.marks[again.marks.count - 1].count
        again.replay(by: interpreter, sources: sources)
        guard differ(again.current.state, log.current.state), !isToldNondeterministic else { return }
        isToldNondeterministic = !options.reducesTwice
        let culprit = culprit(from: first) ?? last
        pending.raise(
            .nondeterministicReducer(
                eventSequence: SourceSequence(source: sources[culprit.slot].source, sequence: culprit.sequence)))
    }

    /// The first event whose own result is not the same twice. nil when each was this time.
    private func culprit(from first: Int) -> LogEntry<Event>? {
        var step = log
        step.rollBack(to: first)
        let rest = step.entries[first...]
        step.entries.removeSubrange(first...)
        step.replay(by: interpreter, sources: sources)
        for entry in rest {
            var twin = step
            for log in [0, 1] {
                var next = log == 0 ? step : twin
                next.entries.append(entry)
                _ = next.reduceEntry(at: next.entries.count - 1, by: interpreter, sources: sources)
                if log == 0 { step = next } else { twin = next }
            }
            if differ(step.current.state, twin.current.state) { return entry }
        }
        return nil
    }

    /// Every event gives some credit and every look costs what state and log weigh, so that small ones are looked at with
    /// every event and one of a megabyte every thousandth time.
    private var isSampleDue: Bool {
        mutating get {
            samplingCredit = min(samplingCredit + Self.creditOfAnEvent, Self.creditMax)
            guard samplingCredit >= Self.creditOfAnEvent else { return false }
            samplingCredit -=
                2 * (encoded(log.current.state)?.count ?? 0) + log.entries.count * MemoryLayout<LogEntry<Event>>.stride
            return true
        }
    }

    private static var creditOfAnEvent: Int { 2048 }
    private static var creditMax: Int { 1 << 20 }

    private func differ(_ left: State, _ right: State) -> Bool {
        if let stateDigest = options.stateDigest { return stateDigest(left) != stateDigest(right) }
        guard let left = encoded(left), let right = encoded(right), left != right else { return false }
        // Two equal sets may list their elements in different orders.
        return options.reducesTwice || left.sorted() != right.sorted()
    }

    private func encoded(_ state: State) -> Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try? encoder.encode([state])
    }
}
