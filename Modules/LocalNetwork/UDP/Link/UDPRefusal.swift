#if UDP
    public import MeshBase
    public import MeshSecurity

    /// A connection that this peer refused, or that the other side refused, with the reason.
    public struct UDPRefusal: CodedError, Hashable {
        /// The reason for a refusal. Later versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// The key isn't that of a trusted peer or a guest.
            public static let unknownPeer = Code(description: "unknownPeer")
            /// Another peer was expected at that address: the address is out of date, or the discovery was forged.
            public static let wrongPeer = Code(description: "wrongPeer")
            /// The peer sent no certificate.
            public static let noCertificate = Code(description: "noCertificate")
            /// The peer offers only TLS versions before 1.3.
            public static let downgrade = Code(description: "downgrade")
            /// The TLS handshake failed.
            public static let handshakeFailed = Code(description: "handshakeFailed")
            /// The peer didn't prove its identity and send its hello in time.
            public static let slowHandshake = Code(description: "slowHandshake")
            /// The peer sent too much before it proved its identity.
            public static let oversizedHandshake = Code(description: "oversizedHandshake")
            /// The limit for unproven connections, or for connections of one peer, has been reached.
            public static let tooManyConnections = Code(description: "tooManyConnections")
            /// The peer doesn't speak the link's protocol.
            public static let noProtocol = Code(description: "noProtocol")
            /// The peer and this side have no version of the link's protocol in common.
            public static let unsupportedVersion = Code(description: "unsupportedVersion")
            /// The peer broke the protocol.
            public static let protocolError = Code(description: "protocolError")
            /// Two devices have the same identity.
            public static let clonedIdentity = Code(description: "clonedIdentity")
            /// The peer is no longer trusted.
            public static let unpaired = Code(description: "unpaired")
            /// The other side ended the connection before its hello: it doesn't know this peer, or expected another.
            public static let refusedByPeer = Code(description: "refusedByPeer")
            /// The peer connects over another network than the chosen one.
            public static let wrongInterface = Code(description: "wrongInterface")
        }

        /// The reason for the refusal.
        public let code: Code
        /// The address and port of the other side.
        public let remote: String
        /// The ID of the peer's key, if it is known.
        public let peerID: PeerID?
        /// True if this side dialed.
        public let isDialedHere: Bool
        /// A description of the refusal for users.
        public let message: String

        public var description: String {
            let who = peerID.map { " (\($0))" } ?? ""
            return "\(code): \(isDialedHere ? "the peer at" : "a connection from") \(remote)\(who): \(message)"
        }

        public var advice: String {
            switch code {
            case .unknownPeer, .noCertificate, .unpaired, .refusedByPeer: "Pair the two devices."
            case .downgrade, .noProtocol, .unsupportedVersion, .protocolError: "Update the app on both devices."
            case .handshakeFailed, .slowHandshake, .oversizedHandshake:
                "Wait: the devices try again. If that doesn't help, check the network and pair the two devices again."
            case .wrongPeer: "Wait until discovery finds the peer again, or correct the configured address."
            case .tooManyConnections: "Close the app on devices that don't need it; the peer tries again."
            case .clonedIdentity: "Create a new identity on one of the two devices, then pair it again."
            case .wrongInterface: "Connect both devices to the network that the link uses."
            default: "Pair the two devices again."
            }
        }
    }
#endif
