public import MeshFoundation
public import MeshIdentity

/// The message in one frame.
public enum WireMessage: Sendable {
    /// The sender of the frames, and the versions, codecs and dictionaries that it understands: the first frame of a
    /// connection.
    case hello(WireHello)
    /// An event of a session, or another message of a feature.
    case envelope(AnySessionSyncEnvelope)
    /// A snapshot of a session's full state.
    case snapshot(AnySessionSyncSnapshot)
    /// A peer lacks something.
    case snapshotRequest(WireSnapshotRequest)
    /// The messages that have arrived, and the connection's state.
    case report(WireReport)
    /// The last frame of a connection.
    case goodbye(WireGoodbye)
}

/// A peer that greets, and the versions, codecs and dictionaries that it understands.
public struct WireHello: Hashable, Sendable {
    /// The peer that sends the hello.
    public var peer: SessionPeer
    /// The frame versions that the peer reads.
    public var frameVersions: ClosedRange<UInt8>
    /// The session protocol that the peer speaks; see `SessionSyncProtocol`.
    public var protocolVersion: Int
    /// Numbers of the codecs that the peer reads.
    public var codecs: [UInt8]
    /// Ids of the compression dictionaries that the peer has, the built-in one among them.
    public var dictionaries: [UInt32]
    /// Another number for each connection of the peer, the same in every repetition of one greeting: tells a connection
    /// that has begun anew from a greeting that comes twice. 0 when the peer does not say.
    public var connection: UInt64 = 0
    /// Optional parts of the protocol that the peer offers; empty if it offers none or is of an older version.
    package var abilities: WireAbilities = []

    /// A greeting of this library's versions, unless told otherwise.
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

    /// The highest frame version that both read.
    /// - Throws: `unsupportedVersion`, naming both ranges.
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

/// A peer lacks something and asks for the state.
public struct WireSnapshotRequest: Hashable, Sendable {
    /// The session of which the state is wanted.
    public var sessionID: UUID
    /// The peer that asks, if the link doesn't know it.
    public var requester: SessionPeer?

    /// A request for the state of one session.
    public init(sessionID: UUID, requester: SessionPeer? = nil) {
        self.sessionID = sessionID
        self.requester = requester
    }
}

/// Why a connection ends.
public struct WireGoodbye: Hashable, Sendable {
    /// Open, so that an older library reads a reason that it has never heard of.
    public struct Reason: Hashable, Sendable, RawRepresentable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The peer closes in good order.
        public static let closing = Reason(rawValue: 0)
        /// No frame version is common to both.
        public static let unsupportedVersion = Reason(rawValue: 1)
        /// The receiver couldn't read a frame, and so can't read any after it.
        public static let unreadable = Reason(rawValue: 2)
        /// The peer has no room for this connection.
        public static let busy = Reason(rawValue: 3)
        /// A newer connection greets under the same id.
        public static let displaced = Reason(rawValue: 4)
    }

    /// Why it ends; unknown reasons of later versions are kept.
    public var reason: Reason
    /// The reason in words for logs. At most 1024 bytes are sent.
    public var detail: String

    /// A goodbye; `detail` is cut when it is too long.
    public init(_ reason: Reason, detail: String = "") {
        self.reason = reason
        self.detail = detail
    }
}
