package import MeshWire

/// Which series: who records it, in which launch, of what. The columns are part of the name, so that an app whose samples have
/// changed goes on in a series beside.
package struct SeriesID: Hashable, Sendable, Codable, Comparable {
    package var peerID: String
    /// Random, of one launch: what a device recorded before a crash, or before its store was restored from a backup, is not
    /// gone on with, so that no two samples ever claim one place.
    package var life: UInt64
    package var name: String
    /// `digest` of the columns.
    package var columns: UInt64

    package init(peerID: String, life: UInt64, name: String, columns: UInt64) {
        self.peerID = peerID
        self.life = life
        self.name = name
        self.columns = columns
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.name, left.peerID, left.life, left.columns) < (right.name, right.peerID, right.life, right.columns)
    }
}

/// What is said about series. One that is in no message is as it was said last.
package struct SeriesMessage: Sendable, Codable {
    package static let payloadType = "sessionmesh.series"

    /// For whom it is; nil is everybody.
    package var receiver: String?
    package var holdings: [Holding] = []
    package var requests: [Request] = []
    package var pieces: [Piece] = []
    /// Whether digests may stand for the sender's series. Repetitions name series in full: the receiver may have lost them.
    package var mayAbbreviate = false

    private enum CodingKeys: CodingKey { case receiver, holdings, requests, pieces }

    package init(receiver: String? = nil) { self.receiver = receiver }

    /// What the sender has written of a series: from the first sample that it holds to before the next that it lacks.
    package struct Holding: Hashable, Sendable, Codable {
        package var id: SeriesID
        package var first: UInt64
        package var next: UInt64

        package init(id: SeriesID, first: UInt64, next: UInt64) { (self.id, self.first, self.next) = (id, first, next) }
    }

    package struct Request: Hashable, Sendable, Codable {
        package var id: SeriesID
        package var first: UInt64
        /// So many at most.
        package var count: UInt64
        /// The sender has not seen the series' columns.
        package var wantsColumns: Bool

        package init(id: SeriesID, first: UInt64, count: UInt64, wantsColumns: Bool) {
            (self.id, self.first, self.count, self.wantsColumns) = (id, first, count, wantsColumns)
        }
    }

    package struct Piece: Hashable, Sendable, Codable {
        package var id: SeriesID
        /// With what was asked for by one who did not know them, and with what begins.
        package var columns: [SeriesColumn]?
        package var first: UInt64
        /// A `SeriesBlock`.
        package var bytes: [UInt8]

        package init(id: SeriesID, columns: [SeriesColumn]?, first: UInt64, bytes: [UInt8]) {
            (self.id, self.columns, self.first, self.bytes) = (id, columns, first, bytes)
        }

        /// On the wire, or some more.
        var estimatedByteCount: Int {
            bytes.count + id.estimatedByteCount + (columns ?? []).reduce(0) { $0 + $1.name.utf8.count + 8 }
        }
    }

    /// More than this of each is in no message.
    package static let holdingsMax = 128
    package static let requestsMax = 64
    package static let piecesMax = 64

    /// The message, if its numbers are such as a well-meaning peer says.
    /// - Throws: `WireError`.
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

    /// Nobody records as many.
    package static let highest: UInt64 = 1 << 40

    /// Judges what peers send and what the store has.
    /// - Parameter end: the number after a series' last sample.
    /// - Throws: `WireError.Code.invalidValue` beyond `highest`.
    static func check(end: UInt64) throws(WireError) {
        guard end <= highest else { throw WireError(.invalidValue, "samples up to \(end)") }
    }
}

extension SeriesID {
    /// A short name for messages to peers that hold the series.
    package var digest: UInt32 {
        var digest = NameDigest()
        digest.add(peerID)
        digest.add(name)
        digest.add(life)
        digest.add(columns)
        return UInt32(truncatingIfNeeded: digest.value ^ digest.value >> 32)
    }

    /// On the wire with two numbers, or some more.
    var estimatedByteCount: Int { name.utf8.count + peerID.utf8.count + 48 }

    /// - Throws: `WireError.Code.oversized`.
    func check() throws(WireError) {
        guard (1...SeriesLimits.nameBytesMax).contains(name.utf8.count), peerID.utf8.count <= 512 else {
            throw WireError(.oversized, "a series with a name of \(name.utf8.count) bytes")
        }
    }
}
