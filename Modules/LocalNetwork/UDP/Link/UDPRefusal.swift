#if UDP
    public import MeshSecurity

    /// A connection that was not let in, or did not let this peer in, and why.
    public struct UDPRefusal: Error, Hashable, Sendable, CustomStringConvertible {
        /// Why it was not let in. Later versions may know more codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            private enum Value: String {
                case unknownPeer, wrongPeer, noCertificate, downgrade, handshakeFailed, slowHandshake,
                    oversizedHandshake
                case tooManyConnections, noProtocol, unsupportedVersion, protocolError, clonedIdentity, unpaired
                case refusedByPeer, wrongInterface
            }

            private let value: Value

            /// Its key is not one of a trusted peer or of a guest.
            public static let unknownPeer = Code(value: .unknownPeer)
            /// Another peer was expected at that place: discovery was wrong or lied.
            public static let wrongPeer = Code(value: .wrongPeer)
            /// It has not said who it is.
            public static let noCertificate = Code(value: .noCertificate)
            /// It wants a version of TLS before 1.3.
            public static let downgrade = Code(value: .downgrade)
            /// TLS came to no connection.
            public static let handshakeFailed = Code(value: .handshakeFailed)
            /// It has not proven who it is in time.
            public static let slowHandshake = Code(value: .slowHandshake)
            /// It has sent too much before proving who it is.
            public static let oversizedHandshake = Code(value: .oversizedHandshake)
            /// So many have not proven who they are, or are of the same peer, that there is no room for it.
            public static let tooManyConnections = Code(value: .tooManyConnections)
            /// It does not speak what this link speaks.
            public static let noProtocol = Code(value: .noProtocol)
            /// It speaks no version of the link that is spoken here.
            public static let unsupportedVersion = Code(value: .unsupportedVersion)
            /// What it has sent makes no sense.
            public static let protocolError = Code(value: .protocolError)
            /// Two devices have one identity.
            public static let clonedIdentity = Code(value: .clonedIdentity)
            /// It is not trusted any more.
            public static let unpaired = Code(value: .unpaired)
            /// The other side has ended the connection before greeting: it does not know this peer, or wants another one.
            public static let refusedByPeer = Code(value: .refusedByPeer)
            /// It comes over another network than the chosen one.
            public static let wrongInterface = Code(value: .wrongInterface)

            public var description: String { value.rawValue }
        }

        /// Why it was not let in.
        public let code: Code
        /// Where it is: address and port.
        public let remote: String
        /// Whose key it has, if that is known.
        public let peerID: PeerID?
        /// Whether this side has dialed.
        public let isDialedHere: Bool
        /// What happened, in words for people.
        public let message: String

        public var description: String {
            let who = peerID.map { " (\($0))" } ?? ""
            return "\(code): \(isDialedHere ? "the peer at" : "a connection from") \(remote)\(who): \(message)"
        }
    }
#endif
