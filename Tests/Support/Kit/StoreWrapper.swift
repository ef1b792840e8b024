package import MeshStorage

/// A store over another one, for a test that changes one of its calls.
package protocol StoreWrapper: SessionStore {
    var wrapped: any SessionStore { get }
}

extension StoreWrapper {
    package var durability: StoreDurability { wrapped.durability }
    package func commit(_ batch: StoreBatch) throws { try wrapped.commit(batch) }
    package func value(for key: String) throws -> [UInt8]? { try wrapped.value(for: key) }
    package func catalog(prefix: String) throws -> StoreCatalog { try wrapped.catalog(prefix: prefix) }
    package func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try wrapped.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    package func close() {}
}
