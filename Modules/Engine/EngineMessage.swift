public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a message between engines says, whether it came as a control or with a copy, with every number in range.
///
/// There is no other way from a peer's bytes to the engine's tables: what an engine could not have counted, drawn or
/// listed ends here, so that no sum over it overflows further in.
struct EngineMessage<State: Codable & Sendable, Event: Codable & Sendable> {
    let source: SessionSource
    let sentAt: Date
    let promise: SequencePromise?
    let control: SessionControl
    let checkpoint: SessionCheckpoint<State, Event>?

    /// - Throws: `SessionSyncError.outOfRange`.
    init(
        _ metadata: SessionSyncMetadata, _ control: SessionControl,
        _ checkpoint: SessionCheckpoint<State, Event>? = nil, mutations: EngineMutations
    ) throws {
        source = SessionSource(metadata)
        sentAt = metadata.causalTimestamp
        // A promise that no clock could keep is none.
        promise = metadata.promise.flatMap { $0.isUsable ? $0 : nil }
        self.control = control
        self.checkpoint = checkpoint
        guard !mutations.contains(.unboundedNumbers) else { return }
        try control.checkNumbers()
        try checkpoint?.checkNumbers()
    }
}

extension SessionControl {
    func checkNumbers() throws {
        try check(members.count, "members")
        try check(held.entries.map(\.sequence), "held")
        try check(asks.count, "asks")
        try check(echoes.count, "echoes")
        try check(wants.flatMap { [$0.first, $0.last] }, "wants")
        try check(replacements.count, "replacements")
        for record in replacements { try record.checkNumbers() }
        try check(clockEchoes.count, "clockEchoes")
        guard clockEchoes.allSatisfy({ $0.sentAt.isFinite && $0.receivedAt.isFinite }) else {
            throw SessionSyncError.outOfRange(field: "clockEchoes")
        }
        try check(forked.map(\.sequence), "forked")
        try check([firstSequence], "firstSequence")
        try check([position], "position")
    }
}

extension SessionCheckpoint {
    func checkNumbers() throws {
        try check(membership.open.count, "open")
        try check(membership.closed.map(\.sequence), "closed")
        try check(membership.first.map(\.sequence), "first")
        try check(base.vector.entries.map(\.sequence), "base")
        try check([base.count], "baseCount")
        try check([chain.position], "position")
        for record in log { try record.checkNumbers() }
        guard cut.isUsable, membership.open.allSatisfy({ $0.floor.isUsable }) else {
            throw SessionSyncError.outOfRange(field: "cut")
        }
        guard (0...log.count).contains(settledCount) else {
            throw SessionSyncError.outOfRange(field: "settledCount")
        }
        guard base.reduced.recentEventIDs.count <= ReducedState<State>.recentEventIDsMax else {
            throw SessionSyncError.outOfRange(field: "recentEventIDs")
        }
    }
}

extension SessionRecord {
    func checkNumbers() throws {
        try check([sequence], "sequence")
        if case .replacement(let replacement) = content { try check([replacement.final], "final") }
        guard stamp.isUsable else { throw SessionSyncError.outOfRange(field: "stamp") }
        guard causalTimestamp.isFinite, monotonicTimestamp?.isFinite ?? true else {
            throw SessionSyncError.outOfRange(field: "causalTimestamp")
        }
    }
}

extension SessionSyncSnapshot {
    func checkNumbers() throws {
        try check(Array(peerSequenceVector.values), "peerSequenceVector")
        try check([revision], "revision")
    }
}

extension SessionSyncMetadata {
    /// What every message says of itself.
    @inlinable var isInRange: Bool {
        sequence <= SequenceBounds.highest && causalTimestamp.isFinite && (monotonicTimestamp?.isFinite ?? true)
    }
}

extension Date {
    @inlinable var isFinite: Bool { timeIntervalSinceReferenceDate.isFinite }
}

/// As long as a list of all sources may be.
private func check(_ count: Int, _ field: String) throws {
    guard count <= SourceTable.countMax else { throw SessionSyncError.outOfRange(field: field) }
}

private func check(_ numbers: [UInt64], _ field: String) throws {
    try check(numbers.count, field)
    guard numbers.allSatisfy({ $0 <= SequenceBounds.highest }) else { throw SessionSyncError.outOfRange(field: field) }
}
