import MeshFoundation
import MeshIdentity

// The identity of a message is the part of its metadata that rarely changes, so connections remember it: protocol version,
// session, feature, source with incarnation, epoch, payload type.

extension SessionSyncMetadata {
    /// Maximum number of bytes in a remembered identity's strings. Longer identities are written in full each time.
    static let internedBytesMax = 1024

    var internedBytes: Int { featureID.utf8.count + sourcePeerID.utf8.count + payloadType.utf8.count }

    func hasSameIdentity(as other: SessionSyncMetadata) -> Bool {
        incarnation == other.incarnation && epoch == other.epoch && protocolVersion == other.protocolVersion
            && sessionID == other.sessionID && payloadType.hasSameBytes(as: other.payloadType)
            && sourcePeerID.hasSameBytes(as: other.sourcePeerID) && featureID.hasSameBytes(as: other.featureID)
    }
}

// MARK: - Layout

extension WireWriter {
    mutating func write(identityOf metadata: SessionSyncMetadata) {
        writeSignedVarint(Int64(metadata.protocolVersion))
        write(metadata.sessionID)
        write(identifier: metadata.featureID)
        write(identifier: metadata.sourcePeerID)
        write(identifier: metadata.payloadType)
        writeVarint(UInt64(metadata.incarnation))
        writeVarint(UInt64(metadata.epoch))
    }
}

extension WireReader {
    /// Reads an identity as metadata whose other fields are placeholders.
    mutating func readIdentity() throws(WireError) -> SessionSyncMetadata {
        let version = try readSignedVarint()
        let session = try readUUID()
        let feature = try readIdentifier()
        let source = try readIdentifier()
        let type = try readIdentifier()
        let incarnation = try readVarint()
        let epoch = try readVarint()
        guard let version = Int(exactly: version), let incarnation = UInt32(exactly: incarnation),
            let epoch = UInt32(exactly: epoch)
        else { throw WireError(.invalidValue, "a number of the identity exceeds its field") }
        // With a sequence of 0 the initializer would generate a random event ID.
        return SessionSyncMetadata(
            protocolVersion: version, sessionID: session, featureID: feature, sourcePeerID: source, sequence: 1,
            causalTimestamp: Date(timeIntervalSinceReferenceDate: 0), payloadType: type, incarnation: incarnation,
            epoch: epoch)
    }
}

extension String {
    /// True if the UTF-8 is equal. `==` also accepts other normal forms, but a peer must get back the bytes that it sent.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        // Fast path: copies of a string share their storage words, and short strings are stored in them.
        let isCopy = withUnsafeBytes(of: self) { mine in
            withUnsafeBytes(of: other) { theirs in mine.hasSameBytes(as: theirs) }
        }
        return isCopy || hasSameUTF8(as: other)
    }

    private func hasSameUTF8(as other: String) -> Bool {
        let same = utf8.withContiguousStorageIfAvailable { mine in
            other.utf8.withContiguousStorageIfAvailable { theirs in
                mine.count == theirs.count
                    && UnsafeRawBufferPointer(mine).hasSameBytes(as: UnsafeRawBufferPointer(theirs))
            }
        }
        return (same ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

extension UnsafeRawBufferPointer {
    /// Compares bytes. Both buffers must have the same count.
    @inline(__always)
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        var offset = 0
        while offset + 8 <= count {
            let mine = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if mine != other.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
            offset += 8
        }
        while offset < count {
            if self[offset] != other[offset] { return false }
            offset += 1
        }
        return true
    }
}
