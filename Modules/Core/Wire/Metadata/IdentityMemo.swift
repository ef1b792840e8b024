import MeshFoundation
import MeshIdentity

/// A cache of the last identity that was written or read in full, with its bytes.
///
/// Senders of self-contained frames repeat their identity in each frame. Comparing its bytes is several times faster than
/// creating its three strings again. Doesn't affect the bytes on the wire.
struct IdentityMemo: Sendable {
    /// The last metadata that was written or read in full.
    fileprivate(set) var metadata = SessionSyncMetadata.empty
    /// Bytes of the identity; empty if it is too long. Not in one optional with `metadata`, because inspecting that optional
    /// would copy it.
    private(set) var bytes: [UInt8] = []

    mutating func store(_ metadata: SessionSyncMetadata, _ bytes: UnsafeRawBufferPointer) {
        self.metadata = metadata
        self.bytes = bytes.count <= Self.bytesMax ? [UInt8](bytes) : []
    }

    private static let bytesMax = 2048
}

extension WireReader {
    /// Reads metadata that is written in full, into the memo. If the identity is that of the memo, its strings are reused.
    mutating func readMetadata(
        memo: inout IdentityMemo,
        _ readOthers: (inout WireReader, inout SessionSyncMetadata) throws(WireError) -> Void
    ) throws(WireError) {
        if !takePrefix(memo.bytes) {
            let start = cursor
            let identity = try readIdentity()
            memo.store(identity, UnsafeRawBufferPointer(start: start, count: cursor - start))
        }
        try readOthers(&self, &memo.metadata)
    }

    /// Moves past `prefix` and returns true if it comes next.
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
        if !memo.bytes.isEmpty, memo.metadata.hasSameIdentity(as: metadata) { return writeRaw(memo.bytes) }
        let start = position
        write(identityOf: metadata)
        memo.store(metadata, UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }
}

extension SessionSyncMetadata {
    fileprivate static var empty: SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), featureID: "", sourcePeerID: "",
            sequence: 1, causalTimestamp: Date(timeIntervalSinceReferenceDate: 0), payloadType: "")
    }
}
