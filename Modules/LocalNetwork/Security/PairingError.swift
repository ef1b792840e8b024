#if UDP || MQTT || WebSocket
    /// Why a pairing has ended. After any of these the exchange is over and nobody is trusted.
    public struct PairingError: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// A message that is none.
        public static let malformed = PairingError(description: "malformed")
        /// More than `PairingExchange.messageBytesMax`.
        public static let oversized = PairingError(description: "oversized")
        /// The other device speaks another version of pairing.
        public static let unsupportedVersion = PairingError(description: "unsupportedVersion")
        /// One device has a secret, the other wants to compare digits.
        public static let differentMethod = PairingError(description: "differentMethod")
        /// A message at a moment at which there is none of its kind, or the second of one.
        public static let outOfOrder = PairingError(description: "outOfOrder")
        /// A message that only this side may send, or this side's own nonce: it was thrown back, or both took one role.
        public static let reflected = PairingError(description: "reflected")
        /// Both ends of the connection have one key.
        public static let samePeer = PairingError(description: "samePeer")
        /// The other device does not know this secret, or somebody is between the two.
        public static let wrongSecret = PairingError(description: "wrongSecret")
        /// What was revealed is not what had been committed to: somebody is between the two.
        public static let wrongCommitment = PairingError(description: "wrongCommitment")
        /// The other device agrees to something else: somebody is between the two.
        public static let wrongAgreement = PairingError(description: "wrongAgreement")
        /// The person at the other device has said no.
        public static let declined = PairingError(description: "declined")
        /// Nobody has decided within ``PairingExchange/lifetime``.
        public static let timedOut = PairingError(description: "timedOut")
        /// The exchange had ended before: there is one try.
        public static let over = PairingError(description: "over")
    }
#endif
