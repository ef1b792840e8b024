package import Foundation
import MeshBase
package import MeshStorage

/// A store that counts commits and bytes written.
package final class CountingStore: SessionStore {
    private let store: any SessionStore
    private let count = Locked((commits: 0, bytes: 0))

    package init(_ store: any SessionStore) { self.store = store }

    package var written: (commits: Int, bytes: Int) { count.withLock { $0 } }
    package var durability: StoreDurability { store.durability }

    package func commit(_ batch: StoreBatch) throws {
        try store.commit(batch)
        count.withLock { $0 = ($0.commits + 1, $0.bytes + batch.byteCount) }
    }

    package func value(for key: String) throws -> [UInt8]? { try store.value(for: key) }
    package func catalog(prefix: String) throws -> StoreCatalog { try store.catalog(prefix: prefix) }
    package func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try store.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    package func close() { store.close() }

    /// Returns the size of a store's folder in bytes.
    package static func bytes(in folder: URL) -> Int {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.reduce(0) { sum, file in
            let attributes = try? FileManager.default.attributesOfItem(
                atPath: folder.appendingPathComponent(file).path)
            return sum + ((attributes?[.size] as? Int) ?? 0)
        }
    }
}
