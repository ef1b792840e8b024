/// One store of one peer: what writes a dense sequence of events.
///
/// Sources are ordered by the bytes of the peer's id, then by incarnation, which breaks ties between stamps alike on
/// every system. Of two incarnations of a peer neither is newer by its number: newer means joined later.
public struct SessionSource: Hashable, Sendable, Codable {
    /// The `SessionPeer.id`.
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
    /// The source.
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
    /// The source.
    public var source: SessionSource
    /// The first sequence of the stretch.
    public var first: UInt64
    /// The last sequence of the stretch.
    public var last: UInt64

    /// Nothing is checked: a stretch whose `last` is before its `first` holds nothing.
    public init(source: SessionSource, first: UInt64, last: UInt64) {
        self.source = source
        self.first = first
        self.last = last
    }
}

/// How far somebody has come with each source. A list in the order of the sources, so that it reads alike everywhere.
public struct SequenceVector: Hashable, Sendable, Codable {
    /// In the order of the sources; each at most once.
    public private(set) var entries: [SourceSequence]

    /// Sorts the entries. Each source must be in them once. O(n log n).
    public init(_ entries: [SourceSequence] = []) {
        self.entries = entries.sorted { $0.source < $1.source }
    }

    /// 0 for a source that is not in it. O(sources), of which there are a few.
    public subscript(source: SessionSource) -> UInt64 {
        entries.first { $0.source == source }?.sequence ?? 0
    }
}
