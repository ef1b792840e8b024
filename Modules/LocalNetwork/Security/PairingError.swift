#if UDP || MQTT || WebSocket
    /// Why a pairing has ended. After any of these the exchange is over and nobody is trusted.
    public struct PairingError: Error, Hashable, Sendable, CustomStringConvertible {
        enum Value: String {
            case malformed, oversized, unsupportedVersion, differentMethod, outOfOrder, reflected, samePeer
            case wrongSecret, wrongCommitment, wrongAgreement, declined, timedOut, over
        }

        let value: Value

        /// A message that is none.
        public static let malformed = PairingError(value: .malformed)
        /// More than `PairingExchange.messageBytesMax`.
        public static let oversized = PairingError(value: .oversized)
        /// The other device speaks another version of pairing.
        public static let unsupportedVersion = PairingError(value: .unsupportedVersion)
        /// One device has a secret, the other wants to compare digits.
        public static let differentMethod = PairingError(value: .differentMethod)
        /// A message at a moment at which there is none of its kind, or the second of one.
        public static let outOfOrder = PairingError(value: .outOfOrder)
        /// A message that only this side may send, or this side's own nonce: it was thrown back, or both took one role.
        public static let reflected = PairingError(value: .reflected)
        /// Both ends of the connection have one key.
        public static let samePeer = PairingError(value: .samePeer)
        /// The other device does not know this secret, or somebody is between the two.
        public static let wrongSecret = PairingError(value: .wrongSecret)
        /// What was revealed is not what had been committed to: somebody is between the two.
        public static let wrongCommitment = PairingError(value: .wrongCommitment)
        /// The other device agrees to something else: somebody is between the two.
        public static let wrongAgreement = PairingError(value: .wrongAgreement)
        /// The person at the other device has said no.
        public static let declined = PairingError(value: .declined)
        /// Nobody has decided within ``PairingExchange/lifetime``.
        public static let timedOut = PairingError(value: .timedOut)
        /// The exchange had ended before: there is one try.
        public static let over = PairingError(value: .over)

        public var description: String { value.rawValue }
    }
#endif
