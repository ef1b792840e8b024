public import MeshFoundation
public import MeshIdentity

/// A message of one frame.
public enum WireMessage: Sendable {
    /// The first message of a connection: its sender, and the versions, codecs and dictionaries that the sender reads.
    case hello(WireHello)
    /// An event of a session, or another message of a feature.
    case envelope(AnySessionSyncEnvelope)
    /// A snapshot of a session's full state.
    case snapshot(AnySessionSyncSnapshot)
    /// A request for a session's state.
    case snapshotRequest(WireSnapshotRequest)
    /// A list of received messages, and measurements of the connection.
    case report(WireReport)
    /// The last message of a connection.
    case goodbye(WireGoodbye)
}

/// The first message of a connection: a peer, and the versions, codecs and dictionaries that it reads.
public struct WireHello: Hashable, Sendable {
    /// The peer that sends the hello.
    public var peer: SessionPeer
    /// The frame versions that the peer reads.
    public var frameVersions: ClosedRange<UInt8>
    /// The session protocol version of the peer. See `SessionSyncProtocol`.
    public var protocolVersion: Int
    /// Numbers of the codecs that the peer reads.
    public var codecs: [UInt8]
    /// IDs of the peer's compression dictionaries, including the built-in one.
    public var dictionaries: [UInt32]
    /// Numbers of the compression formats that the peer reads, in addition to deflate. Older versions announce none.
    public var compressionFormats: [UInt8] = []
    /// A number that differs between the peer's connections and stays the same when a hello is repeated. Distinguishes a
    /// restarted connection from a repeated hello. 0 if the peer doesn't send one.
    public var connection: UInt64 = 0
    /// Optional parts of the protocol that the peer offers. Older versions offer none.
    package var abilities: WireAbilities = []

    /// Creates the hello of a connection. The defaults are the versions of this library.
    public init(
        peer: SessionPeer, frameVersions: ClosedRange<UInt8> = WireHello.supportedFrameVersions,
        protocolVersion: Int = SessionSyncProtocol.currentVersion, codecs: [UInt8] = [], dictionaries: [UInt32] = []
    ) {
        self.peer = peer
        self.frameVersions = frameVersions
        self.protocolVersion = protocolVersion
        self.codecs = codecs
        self.dictionaries = dictionaries
    }

    /// The frame versions that this library reads and writes.
    public static let supportedFrameVersions: ClosedRange<UInt8> = FrameHeader.version...FrameHeader.version

    /// Returns the highest frame version that both sides read.
    /// - Throws: `unsupportedVersion`, with both ranges, if there is none.
    public func negotiatedFrameVersion(
        with own: ClosedRange<UInt8> = WireHello.supportedFrameVersions
    ) throws(WireError) -> UInt8 {
        guard frameVersions.overlaps(own) else {
            throw WireError(
                .unsupportedVersion,
                "the peer reads frame versions \(frameVersions.lowerBound) to \(frameVersions.upperBound), "
                    + "this library \(own.lowerBound) to \(own.upperBound)")
        }
        return min(frameVersions.upperBound, own.upperBound)
    }
}

/// A request for a session's state, from a peer that lacks part of it.
public struct WireSnapshotRequest: Hashable, Sendable {
    /// The session whose state the peer requests.
    public var sessionID: UUID
    /// The requesting peer, if the link doesn't know it.
    public var requester: SessionPeer?

    /// Creates a request for the state of one session.
    public init(sessionID: UUID, requester: SessionPeer? = nil) {
        self.sessionID = sessionID
        self.requester = requester
    }
}

/// The last message of a connection, with the reason for its end.
public struct WireGoodbye: Hashable, Sendable {
    /// The reason for the end of a connection. An open type, so that older versions can read reasons of later ones.
    public struct Reason: Hashable, Sendable, RawRepresentable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The peer closes the connection normally.
        public static let closing = Reason(rawValue: 0)
        /// The two sides have no frame version in common.
        public static let unsupportedVersion = Reason(rawValue: 1)
        /// The receiver couldn't read a frame, so it can't read any later one either.
        public static let unreadable = Reason(rawValue: 2)
        /// The peer has no capacity for this connection.
        public static let busy = Reason(rawValue: 3)
        /// A newer connection has sent a hello with the same peer ID.
        public static let displaced = Reason(rawValue: 4)
    }

    /// The reason for closing the connection. Unknown reasons of later versions are kept.
    public var reason: Reason
    /// Text about the reason, for logs. A writer cuts it to 1024 bytes.
    public var detail: String

    /// Creates a goodbye with its reason.
    public init(_ reason: Reason, detail: String = "") {
        self.reason = reason
        self.detail = detail
    }
}
