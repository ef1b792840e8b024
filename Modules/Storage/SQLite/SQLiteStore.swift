#if SQLite
    internal import Foundation
    internal import MeshBase
    public import MeshStorage

    /// A store in one file of the disk: a SQLite database in write-ahead mode.
    ///
    /// ```swift
    /// let store = try SQLiteStore(path: folder.path + "/score.sqlite")
    /// let game = SharedSession(Score(), over: transport, store: store)
    /// ```
    ///
    /// A commit is one transaction. Every row carries a checksum over its content and its place, and the file carries
    /// their sum: opening refuses a file that isn't as it was written, or that another program or a newer version
    /// wrote. A file that is refused is left as it is; none is ever begun anew, overwritten or deleted.
    ///
    /// While it is open the latest commits are in a log beside the file (`…-wal`), which belongs to it, and so does the
    /// number of its commits (`…-mark`): copy, move and delete all or none. After a crash the log is kept and read at the
    /// next opening. Of a log that has been cut, the whole commits before the cut are there, and of one that is gone none:
    /// the store is then an older one. With `sync: .full` the mark says so, and it is refused as `outdated`. With
    /// `.normal` a loss of power does the same to a healthy store, and nothing says so.
    ///
    /// The file is made readable by its user only. It stays locked until `close`, `suspend` or the end of the object. iOS ends
    /// an app (0xdead10cc) that holds such a lock in an app group's container while it is suspended: call `suspend` when the
    /// app enters the background, and `resume` before it becomes active.
    public final class SQLiteStore: SessionStore {
        /// A rule for when a commit waits for the disk.
        public enum Sync: Hashable, Sendable {
            /// At every commit: what was committed survives a loss of power (`StoreDurability.machine`).
            case full
            /// A commit waits only when the log is merged into the file. Commits survive the end of the process. After
            /// a loss of power the store is whole, but its latest commits may be missing (`StoreDurability.process`).
            case normal
        }

        /// The checks when a file is opened.
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
        /// The failure that a commit survives, as chosen by `sync`.
        public let durability: StoreDurability
        private let options: Options
        private let phase: Locked<Phase>

        private enum Phase {
            case open(SQLiteConnection)
            /// - Parameter standing: how the file was left.
            case suspended(SQLiteConnection.Standing)
            case closed
        }

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
            self.options = options
            phase = Locked(.open(try SQLiteConnection(file, options)))
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

        /// Closes the file, which releases its lock, until `resume`. Waits for a commit that is under way; what was committed is
        /// in the file. Until `resume`, reads and commits throw `unavailable` and change nothing: a session keeps in memory
        /// what it can't write, and writes it after `resume`. Does nothing while the store is suspended or closed.
        ///
        /// - Throws: `StorageError` when the file can't be read any more; the store is open then.
        public func suspend() throws {
            try phase.withLock { phase in
                guard case .open(let connection) = phase else { return }
                let standing = try connection.standing()
                connection.close()
                phase = .suspended(standing)
            }
        }

        /// Opens the file again, with the same checks as the initializer, and takes its lock. Does nothing while the store is
        /// open.
        ///
        /// - Throws: what the initializer throws, such as `busy` while another process has the file open; `outdated` when
        ///   another process has written to it meanwhile, as this store's user knows nothing of that: close the store and open
        ///   it anew; `closed`. The store stays suspended then, and `resume` may be called again.
        public func resume() throws {
            try phase.withLock { phase in
                switch phase {
                case .open: return
                case .closed: throw StorageError.closed
                case .suspended(let standing):
                    let connection = try SQLiteConnection(SQLiteFile(path: path), options)
                    guard try connection.standing() == standing else {
                        connection.close()
                        throw StorageError(
                            .outdated,
                            "another process has written to '\(path)' while this store was suspended; "
                                + "close the store and open it anew")
                    }
                    phase = .open(connection)
                }
            }
        }

        public func close() {
            phase.withLock { phase in
                if case .open(let connection) = phase { connection.close() }
                phase = .closed
            }
        }

        private func open<Result>(_ body: (SQLiteConnection) throws -> Result) throws -> Result {
            try phase.withLock { phase in
                switch phase {
                case .open(let connection): return try body(connection)
                case .suspended:
                    throw StorageError(
                        .unavailable, "the store is suspended; call resume() before the app becomes active")
                case .closed: throw StorageError.closed
                }
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
