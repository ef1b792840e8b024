import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The part of metadata that stays the same from message to message, and so is worth remembering on a connection.
struct WireIdentity: Sendable {
    var protocolVersion: Int
    var sessionID: UUID
    var featureID: String
    var sourcePeerID: String
    var payloadType: String
    var incarnation: UInt32
    var epoch: UInt32

    init(_ metadata: SessionSyncMetadata) {
        protocolVersion = metadata.protocolVersion
        sessionID = metadata.sessionID
        featureID = metadata.featureID
        sourcePeerID = metadata.sourcePeerID
        payloadType = metadata.payloadType
        incarnation = metadata.incarnation
        epoch = metadata.epoch
    }

    /// Bytes of the strings; longer identities are written out each time.
    static let internedBytesMax = 1024

    var stringBytes: Int { featureID.utf8.count + sourcePeerID.utf8.count + payloadType.utf8.count }

    func matches(_ metadata: SessionSyncMetadata) -> Bool {
        incarnation == metadata.incarnation && epoch == metadata.epoch && protocolVersion == metadata.protocolVersion
            && sessionID == metadata.sessionID && payloadType.hasSameBytes(as: metadata.payloadType)
            && sourcePeerID.hasSameBytes(as: metadata.sourcePeerID) && featureID.hasSameBytes(as: metadata.featureID)
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
    mutating func readIdentity() throws(WireError) -> WireIdentity {
        WireIdentity(
            protocolVersion: try readInteger(Int.self, "protocol version"), sessionID: try readUUID(),
            featureID: try readIdentifier(), sourcePeerID: try readIdentifier(), payloadType: try readIdentifier(),
            incarnation: try readUInt32Varint("incarnation"), epoch: try readUInt32Varint("epoch"))
    }

    private mutating func readInteger<T: FixedWidthInteger>(_ type: T.Type, _ name: String) throws(WireError) -> T {
        guard let value = T(exactly: try readSignedVarint()) else {
            throw WireError(.invalidValue, "\(name) too large")
        }
        return value
    }

    private mutating func readUInt32Varint(_ name: String) throws(WireError) -> UInt32 {
        guard let value = UInt32(exactly: try readVarint()) else { throw WireError(.invalidValue, "\(name) too large") }
        return value
    }
}

extension WireIdentity {
    fileprivate init(
        protocolVersion: Int, sessionID: UUID, featureID: String, sourcePeerID: String, payloadType: String,
        incarnation: UInt32, epoch: UInt32
    ) {
        self.protocolVersion = protocolVersion
        self.sessionID = sessionID
        self.featureID = featureID
        self.sourcePeerID = sourcePeerID
        self.payloadType = payloadType
        self.incarnation = incarnation
        self.epoch = epoch
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
    fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
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
