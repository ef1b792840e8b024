#if MQTT || WebSocket
    /// A peer's unsealed statement about itself: 1 byte for whether it is present, 16 random bytes per connection, and
    /// its 33-byte public key. The peer's ID proves the key. The rest is a hint that counts only after a round trip.
    struct RelayPresence: Equatable, Sendable {
        static let tokenByteCount = 16
        static let byteCount = 1 + tokenByteCount + SealSuite.pointByteCount

        var isHere: Bool
        var token: [UInt8]
        var key: [UInt8]

        init(isHere: Bool, token: [UInt8], key: [UInt8]) {
            self.isHere = isHere
            self.token = token
            self.key = key
        }

        init?(_ bytes: UnsafeRawBufferPointer) {
            guard bytes.count == Self.byteCount, bytes[0] <= 1 else { return nil }
            isHere = bytes[0] == 1
            token = Array(bytes[1..<(1 + Self.tokenByteCount)])
            key = Array(bytes[(1 + Self.tokenByteCount)...])
        }

        var bytes: [UInt8] { [isHere ? 1 : 0] + token + key }
    }
#endif
