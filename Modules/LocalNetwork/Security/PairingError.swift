#if UDP || MQTT || WebSocket
    public import MeshBase

    /// An error that ended a pairing. The other device hasn't become trusted.
    public struct PairingError: ExplainedError, Hashable, Sendable {
        public let description: String

        /// The other device sent bytes that aren't a pairing message.
        public static let malformed = PairingError(description: "malformed")
        /// A message is larger than `PairingExchange.messageBytesMax`.
        public static let oversized = PairingError(description: "oversized")
        /// The other device speaks another version of pairing.
        public static let unsupportedVersion = PairingError(description: "unsupportedVersion")
        /// One device uses a secret, the other compares digits.
        public static let differentMethod = PairingError(description: "differentMethod")
        /// A message arrived at the wrong moment, or a second time.
        public static let outOfOrder = PairingError(description: "outOfOrder")
        /// A message with this side's role or nonce arrived: it was sent back, or both sides took the same role.
        public static let reflected = PairingError(description: "reflected")
        /// Both ends of the connection have the same key.
        public static let samePeer = PairingError(description: "samePeer")
        /// The other device doesn't know this secret, or an attacker is between the two.
        public static let wrongSecret = PairingError(description: "wrongSecret")
        /// The other side revealed a nonce that isn't the one it committed to: an attacker may be between the two.
        public static let wrongCommitment = PairingError(description: "wrongCommitment")
        /// The other device agreed to different keys, nonces or names: an attacker is between the two.
        public static let wrongAgreement = PairingError(description: "wrongAgreement")
        /// The user of the other device declined.
        public static let declined = PairingError(description: "declined")
        /// The users didn't finish the exchange within ``PairingExchange/lifetime``.
        public static let timedOut = PairingError(description: "timedOut")
        /// The exchange had already ended. Each exchange allows one try.
        public static let over = PairingError(description: "over")

        /// A description of the error for users.
        package var summary: String {
            switch self {
            case .malformed: "the other device sent something that isn't a pairing message"
            case .oversized: "a pairing message is too long"
            case .unsupportedVersion: "the other device speaks another version of pairing"
            case .differentMethod: "one device has a code to enter, the other wants to compare digits"
            case .outOfOrder: "the other device sent a pairing message at the wrong moment"
            case .reflected: "this device received one of its own messages"
            case .samePeer: "both devices have the same identity"
            case .wrongSecret: "the other device doesn't know the code, or a third device is between the two"
            case .wrongCommitment, .wrongAgreement: "the two devices disagree: a third device may be between them"
            case .declined: "the user of the other device declined"
            case .timedOut: "the pairing wasn't confirmed in time"
            default: "this pairing attempt has already ended"
            }
        }

        public var errorDescription: String? { explanation(of: "\(summary) (\(description))") }

        public var advice: String {
            switch self {
            case .malformed, .unsupportedVersion: "Update the app on both devices, then pair them again."
            case .oversized: "Use a shorter device name, then pair the two devices again."
            case .differentMethod: "Choose the same way to pair on both devices: a code to enter, or digits to compare."
            case .samePeer: "Make a new identity for one of the devices: two devices must not share one."
            case .wrongSecret: "Check the code on the other device, then pair the two devices again."
            case .wrongCommitment, .wrongAgreement, .reflected:
                "Use a network that you trust, then pair the two devices again."
            case .declined: "Ask the other person, then pair the two devices again."
            case .timedOut: "Pair the two devices again, and confirm on both in time."
            default: "Pair the two devices again."
            }
        }
    }
#endif
