import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The last identity that was written out or read in full, with its bytes.
///
/// Senders of self-contained frames repeat their identity in each; comparing its bytes is several times faster than
/// making three strings of them again. Says nothing on the wire.
struct IdentityMemo: Sendable {
    /// With an identity and nothing else.
    private(set) var identity = SessionSyncMetadata.empty
    /// None as long as there is no identity. The two are not one optional value, which would be copied to be looked at.
    private(set) var bytes: [UInt8] = []

    /// Remembers an identity unless it is a long one.
    mutating func note(_ identity: SessionSyncMetadata, _ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Self.bytesMax else { return }
        self.identity = identity
        self.bytes = [UInt8](bytes)
    }

    private static let bytesMax = 2048
}

extension WireReader {
    /// Metadata with an identity and nothing else.
    mutating func readIdentity(memo: inout IdentityMemo) throws(WireError) -> SessionSyncMetadata {
        if takePrefix(memo.bytes) { return memo.identity }
        let start = cursor
        let identity = try readIdentity()
        memo.note(identity, UnsafeRawBufferPointer(start: start, count: cursor - start))
        return identity
    }

    /// Moves past those bytes if they come next.
    private mutating func takePrefix(_ prefix: [UInt8]) -> Bool {
        guard remaining >= prefix.count, !prefix.isEmpty else { return false }
        let isNext = prefix.withUnsafeBytes { prefix in
            UnsafeRawBufferPointer(start: cursor, count: prefix.count).hasSameBytes(as: prefix)
        }
        if isNext { cursor += prefix.count }
        return isNext
    }
}

extension WireWriter {
    mutating func write(identityOf metadata: SessionSyncMetadata, memo: inout IdentityMemo) {
        if !memo.bytes.isEmpty, memo.identity.hasSameIdentity(as: metadata) { return writeRaw(memo.bytes) }
        let start = position
        write(identityOf: metadata)
        memo.note(metadata.identityOnly, UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }
}

extension SessionSyncMetadata {
    fileprivate static var empty: SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), featureID: "", sourcePeerID: "",
            sequence: 1, causalTimestamp: Date(timeIntervalSinceReferenceDate: 0), payloadType: "")
    }

    fileprivate var identityOnly: SessionSyncMetadata {
        SessionSyncMetadata(
            protocolVersion: protocolVersion, sessionID: sessionID, featureID: featureID, sourcePeerID: sourcePeerID,
            sequence: 1, causalTimestamp: causalTimestamp, payloadType: payloadType, incarnation: incarnation,
            epoch: epoch)
    }
}
