public import MeshFoundation
public import MeshIdentity

/// One entry of the log outside the engine: in a store, or in a copy for a newcomer.
public struct SessionRecord<Event: Sendable>: Sendable {
    /// The kind of a record and what it carries.
    public enum Content: Sendable {
        /// An event of this version of the app.
        case event(Event)
        /// An event that the writer could not read: its bytes, the codec's number and the payload type.
        indirect case opaque(bytes: [UInt8], codec: UInt8, payloadType: String)
        /// `old` has lost its store; `new` follows it, from `final` on.
        indirect case replacement(SessionReplacement)
    }

    /// Who wrote it.
    package var source: SessionSource
    /// Its place in the source's sequence.
    package var sequence: UInt64
    /// Its place in the total order.
    package var stamp: HybridTimestamp
    /// The caller's own time: the moment of the tap.
    package var causalTimestamp: Date
    /// Seconds on the author's monotonic clock; nil when the author does not say.
    package var monotonicTimestamp: TimeInterval?
    /// nil when the id follows from the other fields.
    package var eventID: UUID?
    /// The event, or what stands for it.
    package var content: Content

    /// An entry as it is written. Nothing is checked here, but when an engine takes it.
    package init(
        source: SessionSource, sequence: UInt64, stamp: HybridTimestamp, causalTimestamp: Date,
        monotonicTimestamp: TimeInterval? = nil, eventID: UUID? = nil, content: Content
    ) {
        self.source = source
        self.sequence = sequence
        self.stamp = stamp
        self.causalTimestamp = causalTimestamp
        self.monotonicTimestamp = monotonicTimestamp
        self.eventID = eventID
        self.content = content
    }

    var place: SourceSequence { SourceSequence(source: source, sequence: sequence) }
}

/// The survivor's word on a member that lost its store.
public struct SessionReplacement: Hashable, Sendable, Codable {
    /// The member that has lost its store.
    package var old: SessionSource
    /// The member's new store.
    package var new: SessionSource
    /// The last sequence of `old` that the survivor holds; nothing beyond it is taken any more.
    package var final: UInt64

    /// To be authored by a member that holds the events of `old` up to `final`.
    package init(old: SessionSource, new: SessionSource, final: UInt64) {
        self.old = old
        self.new = new
        self.final = final
    }
}

extension SessionRecord: Equatable where Event: Equatable {}
extension SessionRecord.Content: Equatable where Event: Equatable {}
extension SessionRecord: Hashable where Event: Hashable {}
extension SessionRecord.Content: Hashable where Event: Hashable {}
extension SessionRecord: Decodable where Event: Decodable {}
extension SessionRecord.Content: Decodable where Event: Decodable {}
extension SessionRecord: Encodable where Event: Encodable {}
extension SessionRecord.Content: Encodable where Event: Encodable {}

/// One store of one peer: what writes a dense sequence of events.
///
/// Sources are ordered by the bytes of the peer's id, then by incarnation, which breaks ties between stamps alike on
/// every system. Of two incarnations of a peer neither is newer by its number: newer means joined later.
public struct SessionSource: Hashable, Sendable, Codable {
    /// The `SessionPeer.id` of the peer that issues the events.
    public let peerID: String
    /// 32 random bits drawn when the store was created; 0 without one.
    public let incarnation: UInt32

    /// A source without a store has incarnation 0.
    public init(peerID: String, incarnation: UInt32 = 0) {
        self.peerID = peerID
        self.incarnation = incarnation
    }
}

extension SessionSource: Comparable {
    public static func < (left: Self, right: Self) -> Bool {
        if left.peerID == right.peerID { return left.incarnation < right.incarnation }
        return left.peerID.utf8.lexicographicallyPrecedes(right.peerID.utf8)
    }
}

extension SessionSource: CustomStringConvertible {
    public var description: String { "\(peerID)/\(incarnation)" }
}

/// A source and one number for it: the last sequence held, acknowledged, folded or final.
public struct SourceSequence: Hashable, Sendable, Codable {
    /// The source that issued the event.
    public var source: SessionSource
    /// Its number, counted from 1; 0 for none.
    public var sequence: UInt64

    /// A number for one source.
    public init(source: SessionSource, sequence: UInt64) {
        self.source = source
        self.sequence = sequence
    }
}

/// A stretch of one source's events, both ends included.
public struct SessionRange: Hashable, Sendable, Codable {
    /// The source that issued the events.
    public var source: SessionSource
    /// The first sequence of the stretch.
    public var first: UInt64
    /// The last sequence of the stretch.
    public var last: UInt64

    /// Creates a range without checking it: one whose `last` is before its `first` is empty.
    public init(source: SessionSource, first: UInt64, last: UInt64) {
        self.source = source
        self.first = first
        self.last = last
    }
}

/// The last sequence known of each source, sorted by source, so that equal vectors have equal bytes.
public struct SequenceVector: Hashable, Sendable, Codable {
    /// The last sequence of each source. Sorted by source, at most one entry each.
    public private(set) var entries: [SourceSequence]

    /// Creates a vector by sorting the entries. Each source must be in them once. O(n log n).
    public init(_ entries: [SourceSequence] = []) {
        self.entries = entries.sorted { $0.source < $1.source }
    }

    /// 0 for a source that is not in it. O(sources), of which there are a few.
    public subscript(source: SessionSource) -> UInt64 {
        entries.first { $0.source == source }?.sequence ?? 0
    }
}

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
