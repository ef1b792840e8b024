package import MeshWire

/// The identity of a series. It includes the columns, so samples of another shape go into another series.
package struct SeriesID: Hashable, Sendable, Codable, Comparable {
    package var peerID: String
    /// The recorder's incarnation: a random number of one launch. A launch never continues an earlier one's series, so two
    /// samples can't have the same number after a crash, or after a store was restored from a backup.
    package var incarnation: UInt64
    package var name: String
    /// The `digest` of the columns.
    package var columns: UInt64

    private enum CodingKeys: String, CodingKey {
        case peerID
        case incarnation = "life"
        case name, columns
    }

    package init(peerID: String, incarnation: UInt64, name: String, columns: UInt64) {
        self.peerID = peerID
        self.incarnation = incarnation
        self.name = name
        self.columns = columns
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.name, left.peerID, left.incarnation, left.columns) < (
            right.name, right.peerID, right.incarnation, right.columns
        )
    }
}

/// A message between peers about series. A series that it doesn't mention hasn't changed since an earlier message.
package struct SeriesMessage: Sendable, Codable {
    package static let payloadType = "sessionmesh.series"

    /// The peer that the message is for; nil for all peers.
    package var receiver: String?
    package var holdings: [Holding] = []
    package var requests: [Request] = []
    package var pieces: [Piece] = []
    /// True if digests may replace the IDs of the sender's series. False in a repetition: the receiver may have lost the IDs.
    package var canUseDigests = false

    private enum CodingKeys: CodingKey { case receiver, holdings, requests, pieces }

    package init(receiver: String? = nil) { self.receiver = receiver }

    /// The range of a series' samples that the sender has stored: the number of the first, and the number after the last.
    package struct Holding: Hashable, Sendable, Codable {
        package var id: SeriesID
        package var first: UInt64
        package var next: UInt64

        package init(id: SeriesID, first: UInt64, next: UInt64) { (self.id, self.first, self.next) = (id, first, next) }
    }

    package struct Request: Hashable, Sendable, Codable {
        package var id: SeriesID
        package var first: UInt64
        /// Maximum number of samples to send.
        package var count: UInt64
        /// True if the sender doesn't know the series' columns.
        package var wantsColumns: Bool

        package init(id: SeriesID, first: UInt64, count: UInt64, wantsColumns: Bool) {
            (self.id, self.first, self.count, self.wantsColumns) = (id, first, count, wantsColumns)
        }
    }

    package struct Piece: Hashable, Sendable, Codable {
        package var id: SeriesID
        /// The columns, if the request asked for them or the series begins here.
        package var columns: [SeriesColumn]?
        package var first: UInt64
        /// The samples as a `SeriesBlock`.
        package var bytes: [UInt8]

        package init(id: SeriesID, columns: [SeriesColumn]?, first: UInt64, bytes: [UInt8]) {
            (self.id, self.columns, self.first, self.bytes) = (id, columns, first, bytes)
        }

        /// The encoded size, rounded up.
        var estimatedByteCount: Int {
            bytes.count + id.estimatedByteCount + (columns ?? []).reduce(0) { $0 + $1.name.utf8.count + 8 }
        }
    }

    /// Maximum number of holdings per message.
    package static let holdingsMax = 128
    package static let requestsMax = 64
    package static let piecesMax = 64

    /// Returns the message if all its numbers are in range.
    /// - Throws: `WireError` otherwise.
    package func checked() throws(WireError) -> SeriesMessage {
        guard holdings.count <= Self.holdingsMax, requests.count <= Self.requestsMax, pieces.count <= Self.piecesMax
        else {
            throw WireError(
                .oversized,
                "a message of \(holdings.count) series, \(requests.count) requests and \(pieces.count) pieces")
        }
        for holding in holdings {
            try holding.id.check()
            guard holding.first <= holding.next, holding.next <= SeriesMessage.highest else {
                throw WireError(.invalidValue, "samples \(holding.first) to \(holding.next)")
            }
        }
        for request in requests {
            try request.id.check()
            guard request.first <= Self.highest else { throw WireError(.invalidValue, "sample \(request.first)") }
        }
        for piece in pieces {
            try piece.id.check()
            guard piece.first <= Self.highest else { throw WireError(.invalidValue, "sample \(piece.first)") }
            if let columns = piece.columns {
                guard try columns.checked().digest == piece.id.columns else {
                    throw WireError(.corrupted, "the columns of '\(piece.id.name)' are those of another series")
                }
            }
        }
        return self
    }

    /// The highest sample number accepted. No device records as many samples.
    package static let highest: UInt64 = 1 << 40

    /// Checks a sample number from a peer or the store.
    /// - Parameter end: the number after a series' last sample.
    /// - Throws: `WireError.Code.invalidValue` beyond `highest`.
    static func check(end: UInt64) throws(WireError) {
        guard end <= highest else { throw WireError(.invalidValue, "samples up to \(end)") }
    }
}

extension SeriesID {
    /// A 32-bit hash that replaces the ID in messages to peers that know the series.
    package var digest: UInt32 { UInt32(truncatingIfNeeded: longDigest ^ longDigest >> 32) }

    /// A 64-bit hash of all parts.
    var longDigest: UInt64 {
        var digest = NameDigest()
        digest.add(peerID)
        digest.add(name)
        digest.add(incarnation)
        digest.add(columns)
        return digest.value
    }

    /// The encoded size with two numbers, rounded up.
    var estimatedByteCount: Int { name.utf8.count + peerID.utf8.count + 48 }

    /// - Throws: `WireError.Code.oversized` for a name or peer ID of invalid length.
    func check() throws(WireError) {
        guard (1...SeriesLimits.nameBytesMax).contains(name.utf8.count), peerID.utf8.count <= 512 else {
            throw WireError(.oversized, "a series with a name of \(name.utf8.count) bytes")
        }
    }
}
