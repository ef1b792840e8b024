#if UDP
    public import MeshBase
    public import MeshDiscovery
    public import MeshSecurity

    /// The settings of a `UDPPairing`.
    public struct UDPPairingConfiguration: Sendable {
        /// This device's key, which the other is to trust.
        public var identity: PeerIdentity
        /// The list to which the other device is added once the pairing succeeds.
        public var trustedPeers: TrustedPeers
        /// The name of this device that the other user sees.
        public var name: String
        /// The proof that the two devices are the ones their users mean.
        public var method: PairingExchange.Method
        /// Finds who pairs too; started and stopped by the window, so it serves one only, and no link. nil for none.
        public var discovery: (any ServiceDiscovery)?
        /// The address of the other device, if it is known.
        public var manualPeer: UDPManualPeer?
        /// The port at which others reach this window. 0 takes any free port.
        public var port: UInt16
        /// The own address to listen at, without a name; nil for every one.
        public var address: String?
        /// Whether the other device is this user's own. Ask the user: sessions let such a device in without an invitation.
        public var isOwn: Bool
        /// Whether losses that the other device reports need no tap here (`TrustedPeer.isAdministrator`). Ask the user. If there
        /// is no room for another administrator, no device is paired.
        public var isAdministrator: Bool
        /// The time for which the window stays open.
        public var window = PairingExchange.lifetime
        /// Maximum time for a connection to prove its key and to send its first message.
        public var handshake = Duration.seconds(3)

        /// Without `discovery` and without `manualPeer` the window only waits to be dialed.
        public init(
            identity: PeerIdentity, trustedPeers: TrustedPeers, name: String, method: PairingExchange.Method,
            discovery: (any ServiceDiscovery)? = nil, manualPeer: UDPManualPeer? = nil, port: UInt16 = 0,
            address: String? = nil, isOwn: Bool = false, isAdministrator: Bool = false
        ) {
            self.identity = identity
            self.trustedPeers = trustedPeers
            self.name = name
            self.method = method
            self.discovery = discovery
            self.manualPeer = manualPeer
            self.port = port
            self.address = address
            self.isOwn = isOwn
            self.isAdministrator = isAdministrator
        }
    }

    /// The reason why no device was paired.
    public struct UDPPairingError: ExplainedError, Hashable, Sendable {
        /// Why it is thrown. Later versions may know more codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// No device came, or no user agreed, in time.
            public static let timedOut = Code(description: "timedOut")
            /// The exchange has failed: the secrets differ, or an attacker is between the two. See `cause`.
            public static let failed = Code(description: "failed")
            /// The other side has gone in the middle of it.
            public static let disconnected = Code(description: "disconnected")
            /// A person has said no.
            public static let declined = Code(description: "declined")
            /// The task that ran it was cancelled.
            public static let cancelled = Code(description: "cancelled")
            /// The window has been opened before.
            public static let alreadyRun = Code(description: "alreadyRun")
        }

        /// The error's kind, for code that reacts to it.
        public let code: Code
        /// The description of the failure, for people.
        public let message: String
        /// The error of the pairing exchange, if it caused this one.
        public let cause: PairingError?

        /// Creates an error for tests that replace a pairing window.
        public init(_ code: Code, _ message: String, cause: PairingError? = nil) {
            self.code = code
            self.message = message
            self.cause = cause
        }

        public var description: String { "\(code): \(message)" }

        public var errorDescription: String? { explanation(of: message) }

        public var advice: String {
            if let cause { return cause.advice }
            return switch code {
            case .timedOut: "Open pairing on both devices, on the same network, then try again."
            case .declined: "Compare the codes on both devices, then try again."
            case .alreadyRun: "Make a new UDPPairing for each attempt."
            default: "Keep both devices close to each other, then pair them again."
            }
        }
    }
#endif
