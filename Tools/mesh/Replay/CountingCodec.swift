#if CommandLineTools
    import MeshBase
    import MeshIdentity

    /// A codec that counts the bytes it writes.
    struct CountingCodec: PayloadCodec {
        private let codec: any PayloadCodec
        private let count = Locked<UInt64>(0)

        init(_ codec: any PayloadCodec) { self.codec = codec }

        /// Number of bytes encoded so far.
        var encodedByteCount: UInt64 { count.withLock { $0 } }

        var id: PayloadCodecID { codec.id }

        func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
            let bytes = try codec.encode(value)
            count.withLock { $0 += UInt64(bytes.count) }
            return bytes
        }

        func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
            try codec.decode(type, from: bytes)
        }
    }
#endif
