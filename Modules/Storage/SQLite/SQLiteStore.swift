#if SQLite
    internal import Foundation
    internal import MeshBus
    public import MeshStorage

    /// A store in one file of the disk: a SQLite database in write-ahead mode.
    ///
    /// ```swift
    /// let store = try SQLiteStore(path: "/var/lib/app/session.sqlite")
    /// ```
    ///
    /// A commit is one transaction. Every row carries a checksum over its content and its place, and the file carries
    /// their sum: when it is opened, what is not as it was written is refused, and so is what somebody else or a newer
    /// version wrote. A file that is refused is left as it is; none is ever begun anew, overwritten or deleted.
    ///
    /// While it is open the latest commits are in a log beside the file (`…-wal`), which belongs to it, and so does the
    /// number of its commits (`…-mark`): copy, move and delete all or none. After a crash the log is kept and read at the
    /// next opening. Of a log that has been cut, the whole commits before the cut are there, and of one that is gone none:
    /// the store is then an older one. With `sync: .full` the mark says so, and it is refused as `outdated`. With
    /// `.normal` a loss of power does the same to a healthy store, and nothing says so.
    ///
    /// The file is made readable by its user only. It stays locked until `close` or the end of the object; an iOS app must
    /// not keep one open in a shared container while it is suspended.
    public final class SQLiteStore: SessionStore {
        /// When a commit waits for the disk.
        public enum Sync: Hashable, Sendable {
            /// At every commit: what was committed survives a loss of power (`StoreDurability.machine`).
            case full
            /// When the log is merged into the file: what was committed survives the end of the process; after a loss of
            /// power the store is whole, and its latest commits may be missing (`StoreDurability.process`).
            case normal
        }

        /// What is checked when a file is opened.
        public enum Verification: Hashable, Sendable {
            /// SQLite's structure and every row. Complexity: O(bytes stored).
            case full
            /// SQLite's structure and the names; an entry or a value when it is read. That a value has gone altogether is
            /// not found.
            case quick
        }

        package struct Options: Sendable {
            package var sync = Sync.full
            package var verification = Verification.full
            package var bytesMax: Int?
            package var schema = SQLiteSchema.current

            package init() {}
        }

        /// Absolute, and without symbolic links.
        public let path: String
        /// What a commit survives, as `sync` has chosen.
        public let durability: StoreDurability
        private let connection: Locked<SQLiteConnection?>

        /// Opens the store in that file, or makes one if there is no file.
        ///
        /// - Parameters:
        ///   - path: its folder exists.
        ///   - bytesMax: what the file may grow to (its log, 4 MB or the largest batch, comes on top); a commit that
        ///     needs more is refused with `full`. By default the disk is the limit.
        /// - Throws: `StorageError`: `missing`, `readOnly`, `full`, `damaged`, `outdated`, `foreign`, `newerSchema`, `busy`,
        ///   `unavailable`.
        public convenience init(
            path: String, sync: Sync = .full, verification: Verification = .full, bytesMax: Int? = nil
        ) throws {
            var options = Options()
            options.sync = sync
            options.verification = verification
            options.bytesMax = bytesMax
            try self.init(path: path, options: options)
        }

        package init(path: String, options: Options) throws {
            let file = try SQLiteFile(path: path)
            if !file.exists {
                try file.create { try SQLiteConnection.fill($0, for: file.path, schema: options.schema) }
            }
            self.path = file.path
            durability = options.sync == .full ? .machine : .process
            connection = Locked(try SQLiteConnection(file, options))
        }

        public func commit(_ batch: StoreBatch) throws { try open { try $0.commit(batch) } }

        public func value(for key: String) throws -> [UInt8]? {
            try open { connection in
                try connection.read { db, index in
                    var value: [UInt8]?
                    try index.value(for: StoreName(key), in: db) { value = Array($0) }
                    return value
                }
            }
        }

        public func catalog(prefix: String) throws -> StoreCatalog {
            try open { connection in
                try connection.read { _, index in
                    StoreCatalog(
                        keys: index.values.names(prefix).map(\.key.description),
                        journals: index.journals.names(prefix).map { name, journal in
                            .init(name: name.description, positions: journal.positions)
                        })
                }
            }
        }

        public func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
            try open { connection in
                try connection.read { db, index in
                    guard let journal = index.journals[StoreName(journal)] else { return [] }
                    var entries: [StoreEntry] = []
                    var byteCount = 0
                    try index.forEachEntry(of: journal, from: position, in: db) { position, bytes, _ in
                        byteCount += bytes.count
                        guard entries.isEmpty || byteCount <= maxBytes else { return false }
                        entries.append(StoreEntry(position: position, bytes: Array(bytes)))
                        return true
                    }
                    return entries
                }
            }
        }

        public func close() {
            connection.withLock { connection in
                connection?.close()
                connection = nil
            }
        }

        private func open<Result>(_ body: (SQLiteConnection) throws -> Result) throws -> Result {
            try connection.withLock { connection in
                guard let connection else { throw StorageError.closed }
                return try body(connection)
            }
        }
    }

    extension SQLiteStore.Options {
        /// nil when the disk is the limit.
        var pagesMax: Int? { bytesMax.map { max($0, 0) / 4096 } }
    }

    extension Dictionary where Key == StoreName {
        /// Those that begin so, in ascending order.
        fileprivate func names(_ prefix: String) -> [Element] {
            filter { $0.key.starts(with: prefix) }.sorted { $0.key < $1.key }
        }
    }
#endif
