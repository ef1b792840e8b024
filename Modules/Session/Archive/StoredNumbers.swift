import MeshEngine
import MeshIdentity
import MeshStorage

/// Numbers that come from a store or with a peer's copy, looked at once, before anything counts with them.
///
/// No store takes an entry beyond `StoreLimits.positionMax`, so no event has a sequence beyond it, and there is room to
/// count on from there.
enum StoredNumbers {
    static func areUsable(_ numbers: some Sequence<UInt64>) -> Bool {
        numbers.allSatisfy { $0 <= StoreLimits.positionMax }
    }
}

extension SequenceVector {
    fileprivate var sequences: [UInt64] { entries.map(\.sequence) }

    /// What a peer has said may be any number; no more than all can be meant.
    fileprivate var clamped: SequenceVector {
        guard !StoredNumbers.areUsable(sequences) else { return self }
        return SequenceVector(
            entries.map { SourceSequence(source: $0.source, sequence: min($0.sequence, StoreLimits.positionMax)) })
    }
}

extension SessionMembership {
    fileprivate var sequences: [UInt64] { (closed + first).map(\.sequence) }
}

extension SessionBase {
    fileprivate var numbers: [UInt64] { vector.sequences + [count] }
}

extension SessionEngineHead {
    /// What this peer counts itself.
    private var numbers: [UInt64] {
        var numbers: [UInt64] = [sequence, chain.position]
        numbers += held.sequences
        numbers += membership.sequences
        for effect in sideEffectsDue { numbers += [effect.position, effect.record.sequence] }
        return numbers
    }

    /// The head with its numbers as an engine can use them; nil when they are not from one.
    func checked<State: Codable & Sendable>(above base: SessionBase<State>) -> Self? {
        guard StoredNumbers.areUsable(numbers + base.numbers), settledCount >= 0 else { return nil }
        var head = self
        head.snapshotRevision = min(snapshotRevision, StoreLimits.positionMax)
        for index in head.acknowledgements.indices {
            head.acknowledgements[index].held = head.acknowledgements[index].held.clamped
        }
        return head
    }
}

extension SessionCheckpoint {
    /// Whether every number in it can be counted on.
    var hasUsableNumbers: Bool {
        var numbers: [UInt64] = [control.firstSequence, control.position, chain.position]
        numbers += control.held.sequences
        numbers += control.forked.map(\.sequence)
        for range in control.wants { numbers += [range.first, range.last] }
        numbers += membership.sequences
        numbers += base.numbers
        return settledCount >= 0 && StoredNumbers.areUsable(numbers)
            && StoredNumbers.areUsable(log.lazy.map { $0.sequence })
    }
}
