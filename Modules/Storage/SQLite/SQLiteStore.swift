#if SQLite
    internal import Foundation
    internal import MeshBase
    public import MeshStorage

    /// A store in one file: a SQLite database with a write-ahead log.
    ///
    /// ```swift
    /// let store = try SQLiteStore(path: folder.path + "/score.sqlite")
    /// let game = SharedSession(Score(), over: transport, store: store)
    /// ```
    ///
    /// A commit is one transaction. Every row has a checksum of its content and its key or position, and the file has
    /// the sum of the checksums. The initializer refuses a file that has been changed outside the store, or that
    /// another program or a newer version has written. A refused file stays as it is: no store is ever overwritten,
    /// deleted or started over.
    ///
    /// While the store is open, its latest commits are in a log (`…-wal`), and the number of its commits is in a mark
    /// (`…-mark`). Copy, move or delete the three files together. After a crash, the next opening reads the log. If the
    /// log was cut, the commits before the cut remain. If it was deleted, only the commits in the file remain. With
    /// `sync: .full`, the mark reveals both, and the initializer throws `outdated`. With `.normal`, the store can't
    /// detect this, because a loss of power can do the same to a healthy store.
    ///
    /// Only the user can read the file. It is locked until `close`, `suspend` or the end of the object. iOS ends a suspended app
    /// that holds such a lock in an app group's container (0xdead10cc). Call `suspend` when the app enters the background, and
    /// `resume` before it becomes active.
    public final class SQLiteStore: SessionStore {
        /// A rule for when a commit waits for the disk.
        public enum Sync: Hashable, Sendable {
            /// Waits at every commit. Commits survive a loss of power (`StoreDurability.machine`).
            case full
            /// Waits only when the log is merged into the file. Commits survive the end of the process. After a loss of
            /// power, the store is consistent but may lack its latest commits (`StoreDurability.process`).
            case normal
        }

        /// The checks that are made when a file is opened.
        public enum Verification: Hashable, Sendable {
            /// Checks SQLite's structure and every row. Complexity: O(bytes stored).
            case full
            /// Checks SQLite's structure and the names. Entries and values are checked when read. Doesn't detect that a key
            /// is missing together with its value.
            case quick
        }

        package struct Options: Sendable {
            package var sync = Sync.full
            package var verification = Verification.full
            package var bytesMax: Int?
            package var schema = SQLiteSchema.current

            package init() {}
        }

        /// The absolute path, without symbolic links.
        public let path: String
        /// The failure that a commit survives, as chosen by `sync`.
        public let durability: StoreDurability
        private let options: Options
        private let phase: Locked<Phase>

        private enum Phase {
            case open(SQLiteConnection)
            /// - Parameter version: the content of the file when it was closed.
            case suspended(SQLiteConnection.ContentVersion)
            case closed
        }

        /// Opens the store in a file, or creates the file.
        ///
        /// - Parameters:
        ///   - path: a path in an existing folder.
        ///   - bytesMax: maximum size of the file in bytes, without its log. The log takes about 4 MB more, or the size
        ///     of the largest batch. A commit that needs more throws `full`. By default the disk is the limit.
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

        public func value(for key: String) throws -> [UInt8]? { try open { try $0.value(for: key) } }
        public func catalog(prefix: String) throws -> StoreCatalog { try open { try $0.catalog(prefix: prefix) } }

        public func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
            try open { try $0.entries(of: journal, from: position, maxBytes: maxBytes) }
        }

        /// Closes the file and releases its lock, until `resume`. Waits for a running commit. Everything committed is in the
        /// file. Until `resume`, reads and commits throw `unavailable` and change nothing. A session keeps unwritten data in
        /// memory, and writes it after `resume`. Does nothing if the store is suspended or closed.
        ///
        /// - Throws: `StorageError` if the file can't be read any more. The store then stays open.
        public func suspend() throws {
            try phase.withLock { phase in
                guard case .open(let connection) = phase else { return }
                let version = try connection.contentVersion()
                connection.close()
                phase = .suspended(version)
            }
        }

        /// Opens the file again with the initializer's checks, and locks it. Does nothing if the store is open.
        ///
        /// - Throws: errors of the initializer, such as `busy` while another process has the file open; `closed`;
        ///   `outdated` if another process has written to the file. Then close the store, open a new one and read it
        ///   again. After any error but `closed` the store stays suspended, and you can call `resume` again.
        public func resume() throws {
            try phase.withLock { phase in
                switch phase {
                case .open: return
                case .closed: throw StorageError.closed
                case .suspended(let version):
                    let connection = try SQLiteConnection(SQLiteFile(path: path), options)
                    guard try connection.contentVersion() == version else {
                        connection.close()
                        throw StorageError(
                            .outdated,
                            "another process has written to '\(path)' while this store was suspended; "
                                + "close the store and open it again")
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
        /// Maximum number of pages; nil if the disk is the limit.
        var pagesMax: Int? { bytesMax.map { max($0, 0) / 4096 } }
    }
#endif
