import MeshIdentity

@testable import MeshWire

extension WireWriter {
    /// Writes metadata as the first message of a connection that remembers up to `capacity` identities.
    mutating func write(_ metadata: SessionSyncMetadata, tableOf capacity: Int) {
        var table = InterningTable(capacity: capacity)
        _ = write(metadata, interning: &table)
    }
}
