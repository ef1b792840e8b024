#if UDP || MQTT || WebSocket
    /// Why a datagram was not sealed or opened, or no keys were agreed. One byte: an attacker may cause a million a second.
    public struct SealError: Error, Hashable, Sendable, CustomStringConvertible {
        enum Value: UInt8 {
            case malformed, unknownKey, replayed, tooOld, forged, oversized, exhausted, weakKey
        }

        let value: Value

        /// Shorter or longer than any packet of ours, or not a public key.
        public static let malformed = SealError(value: .malformed)
        /// A packet of another channel, or of the other direction.
        public static let unknownKey = SealError(value: .unknownKey)
        /// Accepted before.
        public static let replayed = SealError(value: .replayed)
        /// So far behind the newest that nobody knows whether it was accepted before.
        public static let tooOld = SealError(value: .tooOld)
        /// Not what the peer has sealed.
        public static let forged = SealError(value: .forged)
        /// More than `SealedDatagrams.plaintextBytesMax`.
        public static let oversized = SealError(value: .oversized)
        /// No counter is left, or too many forgeries were tried: the channel needs new keys.
        public static let exhausted = SealError(value: .exhausted)
        /// The peer's public key is one with which the shared secret would be known to everybody (RFC 7748 section 6.1).
        public static let weakKey = SealError(value: .weakKey)

        public var description: String { "\(value)" }
    }
#endif
