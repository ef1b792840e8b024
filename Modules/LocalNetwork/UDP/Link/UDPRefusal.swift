#if UDP
    public import MeshBase
    public import MeshSecurity

    /// A connection that was not let in, or did not let this peer in, and why.
    public struct UDPRefusal: CodedError, Hashable {
        /// Why it was not let in. Later versions may know more codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// Its key is not one of a trusted peer or of a guest.
            public static let unknownPeer = Code(description: "unknownPeer")
            /// Another peer was expected at that place: discovery was wrong or lied.
            public static let wrongPeer = Code(description: "wrongPeer")
            /// The peer sent no certificate.
            public static let noCertificate = Code(description: "noCertificate")
            /// The peer wants a version of TLS before 1.3.
            public static let downgrade = Code(description: "downgrade")
            /// TLS came to no connection.
            public static let handshakeFailed = Code(description: "handshakeFailed")
            /// The peer did not prove its identity in time.
            public static let slowHandshake = Code(description: "slowHandshake")
            /// The peer sent too much before it proved its identity.
            public static let oversizedHandshake = Code(description: "oversizedHandshake")
            /// So many have not proven who they are, or are of the same peer, that there is no room for it.
            public static let tooManyConnections = Code(description: "tooManyConnections")
            /// The peer doesn't speak the link's protocol.
            public static let noProtocol = Code(description: "noProtocol")
            /// The peer speaks no version of the link's protocol that this one speaks.
            public static let unsupportedVersion = Code(description: "unsupportedVersion")
            /// The peer broke the protocol.
            public static let protocolError = Code(description: "protocolError")
            /// Two devices have one identity.
            public static let clonedIdentity = Code(description: "clonedIdentity")
            /// The peer is no longer trusted.
            public static let unpaired = Code(description: "unpaired")
            /// The other side has ended the connection before greeting: it does not know this peer, or wants another one.
            public static let refusedByPeer = Code(description: "refusedByPeer")
            /// The peer connects over another network than the chosen one.
            public static let wrongInterface = Code(description: "wrongInterface")
        }

        /// Why it was not let in.
        public let code: Code
        /// The address and port of the refused peer.
        public let remote: String
        /// The ID of the peer's key, if it is known.
        public let peerID: PeerID?
        /// Whether this side has dialed.
        public let isDialedHere: Bool
        /// The description of the refusal, for people.
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
                "Wait: the devices try again. If it stays so, check the network and pair the two devices again."
            case .wrongPeer: "Wait until discovery finds the peer again, or correct the address that you gave."
            case .tooManyConnections: "Close the app on devices that don't need it; the peer tries again."
            case .clonedIdentity: "Make a new identity on one of the two devices, then pair it again."
            case .wrongInterface: "Connect both devices to the network that the link uses."
            default: "Pair the two devices again."
            }
        }
    }
#endif
