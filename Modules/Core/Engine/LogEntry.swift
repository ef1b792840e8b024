public import MeshFoundation
public import MeshIdentity

/// Who wrote an entry and when. The source is a slot of the `SourceTable`, which keeps strings off the hot path.
@usableFromInline
struct EntryHeader: Sendable {
    @usableFromInline var stamp: HybridTimestamp
    @usableFromInline var sequence: UInt64
    @usableFromInline var slot: Int
    @usableFromInline var causalTimestamp: Date
    @usableFromInline var monotonicTimestamp: TimeInterval?
    /// nil when the id follows from the other fields.
    @usableFromInline var eventID: UUID?

    @inlinable
    init(
        stamp: HybridTimestamp, sequence: UInt64, slot: Int, causalTimestamp: Date,
        monotonicTimestamp: TimeInterval? = nil, eventID: UUID? = nil
    ) {
        self.stamp = stamp
        self.sequence = sequence
        self.slot = slot
        self.causalTimestamp = causalTimestamp
        self.monotonicTimestamp = monotonicTimestamp
        self.eventID = eventID
    }
}

/// One event at its place in the log.
///
/// The header stands apart because it is copied by plain moves; a content may own memory.
@usableFromInline
struct LogEntry<Event: Sendable>: Sendable {
    @usableFromInline let header: EntryHeader
    /// What it did when it was last reduced.
    @usableFromInline var outcome: SessionEventOutcome?
    /// Of its encoded event, where somebody counts; here because nothing else fits into the gap.
    @usableFromInline var byteCount: UInt32 = 0
    @usableFromInline var content: SessionRecord<Event>.Content

    @inlinable
    init(_ header: EntryHeader, _ content: SessionRecord<Event>.Content, outcome: SessionEventOutcome? = nil) {
        self.header = header
        self.outcome = outcome
        self.content = content
    }

    @inlinable var stamp: HybridTimestamp { header.stamp }
    @inlinable var sequence: UInt64 { header.sequence }
    @inlinable var slot: Int { header.slot }
    @inlinable var eventID: UUID? { header.eventID }
    @inlinable var isReplacement: Bool { if case .replacement = content { true } else { false } }
    @inlinable var isOpaque: Bool { if case .opaque = content { true } else { false } }
}

extension LogEntry {
    @usableFromInline
    init(_ record: SessionRecord<Event>, slot: Int, outcome: SessionEventOutcome? = nil) {
        let header = EntryHeader(
            stamp: record.stamp, sequence: record.sequence, slot: slot, causalTimestamp: record.causalTimestamp,
            monotonicTimestamp: record.monotonicTimestamp, eventID: record.eventID)
        self.init(header, record.content, outcome: outcome)
    }

    @usableFromInline
    func record(of source: SessionSource) -> SessionRecord<Event> {
        SessionRecord(
            source: source, sequence: sequence, stamp: stamp, causalTimestamp: header.causalTimestamp,
            monotonicTimestamp: header.monotonicTimestamp, eventID: eventID, content: content)
    }
}
