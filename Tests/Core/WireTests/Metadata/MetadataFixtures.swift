import MeshIdentity

@testable import MeshWire

extension WireWriter {
    /// Metadata as the first message of a connection that remembers so many identities.
    mutating func write(_ metadata: SessionSyncMetadata, tableOf capacity: Int) {
        var table = InterningTable(capacity: capacity)
        _ = write(metadata, interning: &table)
    }
}
