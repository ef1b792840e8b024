import MeshBase
import MeshStorage

/// A store with one fault at a time. Its disk is a table in memory.
final class FaultyStore: SessionStore {
    struct Faults: Sendable {
        /// Changes a batch before it is committed.
        var batch: @Sendable (StoreBatch) -> StoreBatch = { $0 }
        var value: @Sendable ([UInt8]?) -> [UInt8]? = { $0 }
        var catalog: @Sendable (StoreCatalog) -> StoreCatalog = { $0 }
        /// Changes the entries that were read from the given position.
        var entries: @Sendable ([StoreEntry], UInt64) -> [StoreEntry] = { entries, _ in entries }
        var name: @Sendable (String) -> String = { $0 }
        /// Changes the contents of a disk when it is opened. The Boolean is true the first time.
        var opened: @Sendable (StoreContents, Bool) throws -> StoreContents = { contents, _ in contents }
        var refusalsThatPass: Set<StorageError.Code> = []
        var ignoresPageSize = false
        var commitsOneByOne = false
        var keepsRefused = false
        var isShared = false
        var acceptsEmptyBatchesWhenClosed = false
    }

    /// The contents that outlive a store, by folder.
    final class Disks: Sendable {
        struct Disk {
            var contents = StoreContents()
            var isHeld = false
            var isNew = true
        }

        let table = Locked<[String: Disk]>([:])
    }

    private let disks: Disks
    private let folder: String
    private let faults: Faults
    private let isClosed = Locked(false)

    static func factory(_ faults: Faults) -> StoreFactory {
        let disks = Disks()
        return StoreFactory { folder, _ in
            try FaultyStore(folder: faults.isShared ? "shared" : folder, on: disks, faults)
        }
    }

    private init(folder: String, on disks: Disks, _ faults: Faults) throws {
        self.disks = disks
        self.folder = folder
        self.faults = faults
        try disks.table.withLock { table in
            var disk = table[folder] ?? Disks.Disk()
            guard !disk.isHeld || faults.isShared else { throw StorageError(.busy, "held") }
            disk.contents = try faults.opened(disk.contents, disk.isNew)
            disk.isHeld = true
            disk.isNew = false
            table[folder] = disk
        }
    }

    var durability: StoreDurability { .process }

    func commit(_ batch: StoreBatch) throws {
        if faults.acceptsEmptyBatchesWhenClosed, batch.isEmpty { return }
        let batch = faults.batch(batch.renamed(faults.name))
        do {
            try withContents { contents in
                guard faults.commitsOneByOne else { return try contents.commit(batch) }
                for operation in batch.operations { try contents.commit(StoreBatch([operation])) }
            }
        } catch let error as StorageError where faults.refusalsThatPass.contains(error.code) {
            return
        } catch {
            if faults.keepsRefused, let first = batch.operations.first {
                try withContents { try $0.commit(StoreBatch([first])) }
            }
            throw error
        }
    }

    func value(for key: String) throws -> [UInt8]? {
        faults.value(try withContents { $0.value(for: faults.name(key)) })
    }

    func catalog(prefix: String) throws -> StoreCatalog {
        faults.catalog(try withContents { $0.catalog(prefix: faults.name(prefix)) })
    }

    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        let limit = faults.ignoresPageSize ? Int.max : maxBytes
        return faults.entries(
            try withContents { $0.entries(of: faults.name(journal), from: position, maxBytes: limit) }, position)
    }

    func close() {
        isClosed.withLock { $0 = true }
        disks.table.withLock { $0[folder]?.isHeld = false }
    }

    private func withContents<Result>(_ body: (inout StoreContents) throws -> Result) throws -> Result {
        if isClosed.withLock({ $0 }) { throw StorageError(.closed, "closed") }
        return try disks.table.withLock { try body(&$0[folder, default: Disks.Disk()].contents) }
    }
}

extension StoreBatch {
    func renamed(_ rename: (String) -> String) -> StoreBatch {
        StoreBatch(
            operations.map { operation in
                switch operation {
                case .set(let key, let bytes): .set(key: rename(key), bytes: bytes)
                case .remove(let key): .remove(key: rename(key))
                case .append(let journal, let entry): .append(journal: rename(journal), entry: entry)
                case .truncate(let journal, let mark): .truncate(journal: rename(journal), below: mark)
                case .erase(let journal): .erase(journal: rename(journal))
                }
            })
    }
}
