#if UDP || MQTT || WebSocket
    public import MeshBase

    /// An error of sealing or opening a datagram, or of a key agreement. It takes one byte, because an attacker can
    /// cause a million of these errors per second.
    public struct SealError: ExplainedError, Hashable, Sendable {
        enum Value: UInt8 {
            case malformed, unknownKey, replayed, tooOld, forged, oversized, exhausted, weakKey
        }

        let value: Value

        /// The packet has an impossible length, or the bytes aren't a public key.
        public static let malformed = SealError(value: .malformed)
        /// The packet belongs to another channel, or to the other direction.
        public static let unknownKey = SealError(value: .unknownKey)
        /// The packet was accepted before.
        public static let replayed = SealError(value: .replayed)
        /// The packet is so old that the window no longer shows if it was accepted before.
        public static let tooOld = SealError(value: .tooOld)
        /// The peer didn't seal this packet, or it was changed on the way.
        public static let forged = SealError(value: .forged)
        /// The plaintext is larger than `SealedDatagrams.plaintextBytesMax`.
        public static let oversized = SealError(value: .oversized)
        /// No counter is left, or too many forgeries were tried: the channel needs new keys.
        public static let exhausted = SealError(value: .exhausted)
        /// The peer's public key would make the shared secret predictable (RFC 7748 section 6.1).
        public static let weakKey = SealError(value: .weakKey)

        public var description: String { "\(value)" }

        /// A description of the error for users.
        private var summary: String {
            switch value {
            case .malformed: "these bytes are neither a packet nor a public key"
            case .unknownKey: "the packet belongs to another channel"
            case .replayed: "the packet was accepted before"
            case .tooOld: "the packet is too old to tell whether it was accepted before"
            case .forged: "the packet was forged, or changed on the way"
            case .oversized: "the message is too large for a packet"
            case .exhausted: "the channel's keys are used up"
            case .weakKey: "the peer's public key is insecure"
            }
        }

        public var errorDescription: String? { explanation(of: "\(summary) (\(description))") }

        public var advice: String {
            switch value {
            case .malformed, .unknownKey, .replayed, .tooOld, .forged:
                "Drop the packet. If every packet is refused, connect to the peer again."
            case .oversized: "Send smaller messages."
            case .exhausted: "Connect to the peer again to agree on new keys."
            case .weakKey: "Don't trust this peer. Pair with a device that runs this library."
            }
        }
    }
#endif
