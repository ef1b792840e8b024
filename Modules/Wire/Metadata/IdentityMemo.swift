import MeshIdentity

/// The last identity that was written out or read in full, with its bytes.
///
/// Senders of self-contained frames repeat their identity in each; comparing its bytes is several times faster than
/// making three strings of them again. Says nothing on the wire.
struct IdentityMemo: Sendable {
    /// With an identity and nothing else.
    let identity: SessionSyncMetadata
    let bytes: [UInt8]

    /// Longer ones are not kept.
    static let bytesMax = 2048
}

extension WireReader {
    /// Metadata with an identity and nothing else.
    mutating func readIdentity(memo: inout IdentityMemo?) throws(WireError) -> SessionSyncMetadata {
        if let memo, takePrefix(memo.bytes) { return memo.identity }
        let start = cursor
        let identity = try readIdentity()
        let bytes = UnsafeRawBufferPointer(start: start, count: cursor - start)
        if bytes.count <= IdentityMemo.bytesMax { memo = IdentityMemo(identity: identity, bytes: [UInt8](bytes)) }
        return identity
    }

    /// Moves past those bytes if they come next.
    private mutating func takePrefix(_ prefix: [UInt8]) -> Bool {
        guard remaining >= prefix.count else { return false }
        let isNext = prefix.withUnsafeBytes { prefix in
            UnsafeRawBufferPointer(start: cursor, count: prefix.count).hasSameBytes(as: prefix)
        }
        if isNext { cursor += prefix.count }
        return isNext
    }
}

extension WireWriter {
    mutating func write(identityOf metadata: SessionSyncMetadata, memo: inout IdentityMemo?) {
        if let memo, memo.identity.hasSameIdentity(as: metadata) { return writeRaw(memo.bytes) }
        let start = position
        write(identityOf: metadata)
        let written = UnsafeRawBufferPointer(rebasing: bytes[start...])
        if written.count <= IdentityMemo.bytesMax {
            memo = IdentityMemo(identity: metadata.identityOnly, bytes: [UInt8](written))
        }
    }
}

extension SessionSyncMetadata {
    fileprivate var identityOnly: SessionSyncMetadata {
        SessionSyncMetadata(
            protocolVersion: protocolVersion, sessionID: sessionID, featureID: featureID, sourcePeerID: sourcePeerID,
            sequence: 1, causalTimestamp: causalTimestamp, payloadType: payloadType, incarnation: incarnation,
            epoch: epoch)
    }
}
