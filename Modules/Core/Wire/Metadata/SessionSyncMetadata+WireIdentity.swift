import MeshFoundation
import MeshIdentity

// The identity of a message is the part of its metadata that stays the same from one to the next, and so is worth
// remembering on a connection: protocol version, session, feature, source with incarnation, epoch, payload type.

extension SessionSyncMetadata {
    /// Bytes of the identity's strings; longer ones are written out each time.
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
    /// Metadata with an identity and nothing else.
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
        // A sequence of 0 would make the initialiser draw a random event id.
        return SessionSyncMetadata(
            protocolVersion: version, sessionID: session, featureID: feature, sourcePeerID: source, sequence: 1,
            causalTimestamp: Date(timeIntervalSinceReferenceDate: 0), payloadType: type, incarnation: incarnation,
            epoch: epoch)
    }
}

extension String {
    /// `==` also holds between different spellings of one text; a peer must get back the spelling that was sent.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        // One string and its copies are the same words, and short strings are their own words.
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
    /// Both have the same count.
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
