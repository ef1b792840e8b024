import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SessionSyncEngine {
    /// Reduces what follows the last checkpoint once more and compares: a reducer that reads a clock, randomness or the
    /// order of a set gives itself away. For debugging: it costs up to 32 events and two digests a call.
    @usableFromInline
    mutating func reduceAgain() {
        guard let last = log.entries.last else { return }
        var again = log
        again.rollBack(to: again.entries.count - 1)
        again.replay(by: interpreter, sources: sources)
        guard digest(again.current.state) != digest(log.current.state) else { return }
        pending.raise(
            .nondeterministicReducer(
                eventSequence: SourceSequence(source: sources[last.slot].source, sequence: last.sequence)))
    }

    private func digest(_ state: State) -> UInt64 {
        if let stateDigest = options.stateDigest { return stateDigest(state) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode([state])).map { StableHash(Array($0)).low } ?? 0
    }
}
