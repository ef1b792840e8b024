public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One event at its place in the log. The source is a slot of the `SourceTable`, which keeps strings off the hot path.
@usableFromInline
struct LogEntry<Event: Sendable>: Sendable {
    @usableFromInline var stamp: HybridTimestamp
    @usableFromInline var sequence: UInt64
    @usableFromInline var slot: Int
    @usableFromInline var causalTimestamp: Date
    @usableFromInline var monotonicTimestamp: TimeInterval?
    /// nil when the id follows from the other fields.
    @usableFromInline var eventID: UUID?
    /// What it did when it was last reduced.
    @usableFromInline var outcome: SessionEventOutcome?
    @usableFromInline var content: SessionRecord<Event>.Content

    @inlinable
    init(
        stamp: HybridTimestamp, sequence: UInt64, slot: Int, causalTimestamp: Date, monotonicTimestamp: TimeInterval?,
        eventID: UUID?, content: SessionRecord<Event>.Content
    ) {
        self.stamp = stamp
        self.sequence = sequence
        self.slot = slot
        self.causalTimestamp = causalTimestamp
        self.monotonicTimestamp = monotonicTimestamp
        self.eventID = eventID
        self.outcome = nil
        self.content = content
    }

    init(_ record: SessionRecord<Event>, slot: Int) {
        self.init(
            stamp: record.stamp, sequence: record.sequence, slot: slot, causalTimestamp: record.causalTimestamp,
            monotonicTimestamp: record.monotonicTimestamp, eventID: record.eventID, content: record.content)
    }

    func record(of source: SessionSource) -> SessionRecord<Event> {
        SessionRecord(
            source: source, sequence: sequence, stamp: stamp, causalTimestamp: causalTimestamp,
            monotonicTimestamp: monotonicTimestamp, eventID: eventID, content: content)
    }

    @usableFromInline var isReplacement: Bool { if case .replacement = content { true } else { false } }
    @usableFromInline var isOpaque: Bool { if case .opaque = content { true } else { false } }
}
