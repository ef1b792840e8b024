#if UDP
    public import MeshBase
    public import MeshDiscovery
    public import MeshSecurity

    /// The settings of a `UDPPairing`.
    public struct UDPPairingConfiguration: Sendable {
        /// The identity of this device, which the other device will trust.
        public var identity: PeerIdentity
        /// The list to which the other device is added once the pairing succeeds.
        public var trustedPeers: TrustedPeers
        /// The name of this device that the other user sees.
        public var name: String
        /// The way in which users verify that the right two devices pair.
        public var method: PairingExchange.Method
        /// The discovery that finds other pairing windows; nil for none. The window starts and stops it, so it can't be
        /// used by a link or another window.
        public var discovery: (any ServiceDiscovery)?
        /// The address of the other device, if it is known.
        public var manualPeer: UDPManualPeer?
        /// The port at which the other device reaches this window. 0 takes any free port.
        public var port: UInt16
        /// The local IP address to listen on; nil for all. A host name isn't accepted.
        public var address: String?
        /// True if the other device is the same user's. Ask the user: sessions admit it without an invitation.
        public var isOwn: Bool
        /// True if losses that the other device reports take effect without confirmation
        /// (`TrustedPeer.isAdministrator`). Ask the user. If the maximum number of administrators is reached, the
        /// pairing fails.
        public var isAdministrator: Bool
        /// The time for which the window stays open.
        public var window = PairingExchange.lifetime
        /// Maximum time for a connection to prove its key and to send its first message.
        public var handshake = Duration.seconds(3)

        /// Creates a configuration for pairing. Without `discovery` and `manualPeer`, the window only waits for
        /// connections.
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

    /// An error that prevented a pairing.
    public struct UDPPairingError: ExplainedError, Hashable, Sendable {
        /// The reason for a ``UDPPairingError``. Later versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// No device connected, or a user didn't agree, in time.
            public static let timedOut = Code(description: "timedOut")
            /// The exchange failed: the secrets differ, or an attacker is between the two devices. See `cause`.
            public static let failed = Code(description: "failed")
            /// The other side disconnected during the exchange.
            public static let disconnected = Code(description: "disconnected")
            /// A user declined the pairing.
            public static let declined = Code(description: "declined")
            /// The task was cancelled.
            public static let cancelled = Code(description: "cancelled")
            /// The window was already opened.
            public static let alreadyRun = Code(description: "alreadyRun")
        }

        /// The kind of error, for code that reacts to it.
        public let code: Code
        /// A description of the failure for users.
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
            case .alreadyRun: "Create a new UDPPairing for each attempt."
            default: "Keep both devices close to each other, then pair them again."
            }
        }
    }
#endif
