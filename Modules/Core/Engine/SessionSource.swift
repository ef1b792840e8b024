/// One store of one peer: what writes a dense sequence of events.
///
/// Sources are ordered by the bytes of the peer's id, then by incarnation, which breaks ties between stamps alike on
/// every system. Of two incarnations of a peer neither is newer by its number: newer means joined later.
public struct SessionSource: Hashable, Sendable, Codable {
    public let peerID: String
    /// 32 random bits drawn when the store was created; 0 without one.
    public let incarnation: UInt32

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
    public var source: SessionSource
    public var sequence: UInt64

    public init(source: SessionSource, sequence: UInt64) {
        self.source = source
        self.sequence = sequence
    }
}

/// A stretch of one source's events, both ends included.
public struct SessionRange: Hashable, Sendable, Codable {
    public var source: SessionSource
    public var first: UInt64
    public var last: UInt64

    public init(source: SessionSource, first: UInt64, last: UInt64) {
        self.source = source
        self.first = first
        self.last = last
    }
}

/// How far somebody has come with each source. A list in the order of the sources, so that it reads alike everywhere.
public struct SequenceVector: Hashable, Sendable, Codable {
    public private(set) var entries: [SourceSequence]

    public init(_ entries: [SourceSequence] = []) {
        self.entries = entries.sorted { $0.source < $1.source }
    }

    /// 0 for a source that is not in it. O(sources), of which there are a few.
    public subscript(source: SessionSource) -> UInt64 {
        entries.first { $0.source == source }?.sequence ?? 0
    }
}
