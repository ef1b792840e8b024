package import MeshBase
package import MeshStorage

/// A store in memory that fails its writes or reads on request.
package final class FailingStore: SessionStore {
    package let isFailing = Locked(false)
    /// The code of a failed write.
    package let code = Locked(StorageError.Code.full)
    /// True while values can't be read, as on a locked device.
    package let isUnreadable = Locked(false)
    /// True if a failing write is stored before it fails.
    package let failsAfterwards = Locked(false)
    package let count = Locked(0)
    private let memory = MemoryStore()

    package init() {}

    package var durability: StoreDurability { .memory }

    package func commit(_ batch: StoreBatch) throws {
        let error = isFailing.withLock { $0 } ? StorageError(code.withLock { $0 }, "no room") : nil
        if let error, !failsAfterwards.withLock({ $0 }) { throw error }
        try memory.commit(batch)
        if let error { throw error }
        count.withLock { $0 += 1 }
    }

    package func value(for key: String) throws -> [UInt8]? {
        if isUnreadable.withLock({ $0 }) { throw StorageError(.unavailable, "the device is locked") }
        return try memory.value(for: key)
    }
    package func catalog(prefix: String) throws -> StoreCatalog { try memory.catalog(prefix: prefix) }

    package func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try memory.entries(of: journal, from: position, maxBytes: maxBytes)
    }

    package func close() { memory.close() }
}
