#if MQTT || WebSocket
    /// What a peer says of itself, in the clear: 1 byte whether it is there, 16 random bytes for each connection, 33 bytes
    /// of public key. The key is proven by the peer's id; the rest is a hint, believed after a round trip only.
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
