public import MeshFoundation

extension SessionSyncMetadata {
    /// The ID that is derived from the other fields, so it takes no space on the wire.
    ///
    /// A UUID of version 8 (RFC 9562, section 5.8) over the MurmurHash3 (x64, 128 bits, seed 0) of: the session's 16
    /// bytes, the incarnation (4 bytes), sequence (8) and stamp (8), little-endian, the source peer's ID in UTF-8, a
    /// zero byte, the payload type in UTF-8.
    public var derivedEventID: UUID {
        var source = sourcePeerID
        var type = payloadType
        let hash = source.withUTF8 { source in
            type.withUTF8 { type in
                withUnsafeTemporaryAllocation(byteCount: 37 + source.count + type.count, alignment: 8) { buffer in
                    buffer.storeBytes(of: sessionID.uuid, as: uuid_t.self)
                    buffer.storeBytes(of: incarnation.littleEndian, toByteOffset: 16, as: UInt32.self)
                    buffer.storeBytes(of: sequence.littleEndian, toByteOffset: 20, as: UInt64.self)
                    buffer.storeBytes(of: stamp.rawValue.littleEndian, toByteOffset: 28, as: UInt64.self)
                    UnsafeMutableRawBufferPointer(rebasing: buffer[36...]).copyBytes(from: source)
                    buffer[36 + source.count] = 0
                    UnsafeMutableRawBufferPointer(rebasing: buffer[(37 + source.count)...]).copyBytes(from: type)
                    return StableHash(UnsafeRawBufferPointer(buffer))
                }
            }
        }
        return UUID(version8: hash)
    }
}

extension UUID {
    fileprivate init(version8 hash: StableHash) {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { buffer in
            buffer.storeBytes(of: hash.low.littleEndian, as: UInt64.self)
            buffer.storeBytes(of: hash.high.littleEndian, toByteOffset: 8, as: UInt64.self)
            buffer[6] = buffer[6] & 0x0F | 0x80
            buffer[8] = buffer[8] & 0x3F | 0x80
        }
        self.init(uuid: bytes)
    }
}
