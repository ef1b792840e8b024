public import MeshFoundation
public import MeshIdentity

/// One entry of the log outside the engine: in a store, or in a copy for a newcomer.
public struct SessionRecord<Event: Sendable>: Sendable {
    /// The kind of a record and what it carries.
    public enum Content: Sendable {
        /// An event of this version of the app.
        case event(Event)
        /// An event that the writer couldn't read: its bytes, the codec's number and the payload type.
        indirect case opaque(bytes: [UInt8], codec: UInt8, payloadType: String)
        /// A replacement: `old` has lost its store, and `new` follows it after `final`.
        indirect case replacement(SessionReplacement)
    }

    /// The source that wrote the entry.
    package var source: SessionSource
    /// The number of the entry in the source's sequence.
    package var sequence: UInt64
    /// The stamp that determines the entry's place in the total order.
    package var stamp: HybridTimestamp
    /// The caller's own time: the moment of the tap.
    package var causalTimestamp: Date
    /// Seconds on the author's monotonic clock; nil if the author doesn't state them.
    package var monotonicTimestamp: TimeInterval?
    /// The explicit ID of the event; nil if it follows from the other fields.
    package var eventID: UUID?
    /// The event, its unread bytes, or a replacement.
    package var content: Content

    /// Creates a record. The engine that takes it checks it.
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

/// A survivor's statement about a member that lost its store.
public struct SessionReplacement: Hashable, Sendable, Codable {
    /// The source that has lost its store.
    package var old: SessionSource
    /// The source with the peer's new store.
    package var new: SessionSource
    /// The last sequence of `old` that the survivor holds; later events aren't accepted any more.
    package var final: UInt64

    /// Creates a statement by a member that holds the events of `old` up to `final`.
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

/// One store of one peer, which writes a dense sequence of events.
///
/// Sources are ordered by the bytes of the peer's ID, then by incarnation. Every device breaks ties between equal
/// stamps by this order. The number of an incarnation doesn't tell its age: the newer one is the one that joined later.
public struct SessionSource: Hashable, Sendable, Codable {
    /// The `SessionPeer.id` of the peer that issues the events.
    public let peerID: String
    /// The 32 random bits generated with the store; 0 if the author states none.
    public let incarnation: UInt32

    /// Creates the source of a peer's incarnation. Incarnation 0 stands for an author that states none.
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

/// A source and one of its sequence numbers, such as the last one that is held, acknowledged, folded or final.
public struct SourceSequence: Hashable, Sendable, Codable {
    /// The source that issued the event.
    public var source: SessionSource
    /// The number of the event, counted from 1; 0 for none.
    public var sequence: UInt64

    /// Creates a pair of a source and a number.
    public init(source: SessionSource, sequence: UInt64) {
        self.source = source
        self.sequence = sequence
    }
}

/// A range of one source's events, with both ends included.
public struct SessionRange: Hashable, Sendable, Codable {
    /// The source that issued the events.
    public var source: SessionSource
    /// The first sequence of the range.
    public var first: UInt64
    /// The last sequence of the range.
    public var last: UInt64

    /// Creates a range without checking it: one whose `last` is before its `first` is empty.
    public init(source: SessionSource, first: UInt64, last: UInt64) {
        self.source = source
        self.first = first
        self.last = last
    }
}

/// The last sequence known of each source. Sorted by source, so that equal vectors have equal bytes.
public struct SequenceVector: Hashable, Sendable, Codable {
    /// The last sequence of each source. Sorted by source, at most one entry each; decoding doesn't check that.
    public private(set) var entries: [SourceSequence]

    /// Creates a vector and sorts its entries. Each source must occur at most once. O(n log n).
    public init(_ entries: [SourceSequence] = []) {
        self.entries = entries.sorted { $0.source < $1.source }
    }

    /// The sequence of a source; 0 if it isn't in the vector. O(sources).
    public subscript(source: SessionSource) -> UInt64 {
        entries.first { $0.source == source }?.sequence ?? 0
    }
}

/// The author, place and time of an entry. A slot of the `SourceTable` stands for the source, to avoid strings.
@usableFromInline
struct EntryHeader: Sendable {
    @usableFromInline var stamp: HybridTimestamp
    @usableFromInline var sequence: UInt64
    @usableFromInline var slot: Int
    @usableFromInline var causalTimestamp: Date
    @usableFromInline var monotonicTimestamp: TimeInterval?
    /// The explicit ID of the event; nil if it follows from the other fields.
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
/// The header is separate because copying it is cheap, while the content may own memory.
@usableFromInline
struct LogEntry<Event: Sendable>: Sendable {
    @usableFromInline let header: EntryHeader
    /// The event's effect when it was last reduced.
    @usableFromInline var outcome: SessionEventOutcome?
    /// Size of the encoded event, if measured. Placed here to use alignment padding.
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
