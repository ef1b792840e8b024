#if SQLite
    internal import CSQLite
    internal import Foundation
    internal import GRDB
    internal import MeshStorage

    /// An open store: the only connection to its file, and the index of its content. Don't use it from several threads
    /// at once.
    final class SQLiteConnection {
        private let path: String
        /// The claim on the file; nil for a copy in memory.
        private let claim: FileClaim?
        private let queue: DatabaseQueue
        /// The index of the content; nil after a failed commit. The next access reads it again.
        private var index: SQLiteIndex?
        /// True if commits update the mark. False with `sync: .normal`: after a loss of power, a healthy store may lack
        /// commits and would seem outdated.
        private let isMarked: Bool
        private var mark: SQLiteMark?

        /// - Throws: `StorageError`. The file is then unchanged.
        init(_ file: SQLiteFile, _ options: SQLiteStore.Options) throws(StorageError) {
            path = file.path
            isMarked = options.sync == .full
            let admission = try file.admit()
            claim = admission.claim
            try Self.check(version: admission.schemaVersion, options.schema, path)
            do {
                queue = try DatabaseQueue(
                    path: path, configuration: Self.configuration(options, keepsLog: admission.hasLog))
            } catch {
                throw StorageError(error, path: path)
            }
            do {
                index = try queue.inDatabase { db in try Self.open(db, options, path, SQLiteMark.count(of: path)) }
            } catch {
                let systemError = queue.inDatabase { sqlite3_system_errno($0.sqliteConnection) }
                try? queue.close()
                throw StorageError(error, path: path, systemError: systemError)
            }
        }

        /// Opens a copy of a store in memory.
        /// - Throws: `StorageError`.
        init(_ image: SQLiteImage, of path: String) throws(StorageError) {
            self.path = path
            (claim, isMarked) = (nil, false)
            var options = SQLiteStore.Options()
            options.verification = .quick
            var configuration = Configuration()
            configuration.foreignKeysEnabled = false
            do {
                queue = try DatabaseQueue(configuration: configuration)
                index = try queue.inDatabase { db in
                    try image.move(into: db)
                    try db.execute(sql: "PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1")
                    return try Self.open(db, options, path, image.mark)
                }
            } catch {
                throw StorageError(error, path: path)
            }
        }

        deinit { close() }

        func close() { try? queue.close() }

        private static func configuration(_ options: SQLiteStore.Options, keepsLog: Bool) -> Configuration {
            var configuration = Configuration()
            configuration.foreignKeysEnabled = false
            configuration.prepareDatabase { db in
                // Closing merges the log into the file. That must not happen to a file that is refused.
                if keepsLog { db.mergeLogOnClose(false) }
                // Must precede everything that reads. It locks the file and avoids shared memory.
                try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
                try db.execute(sql: "PRAGMA synchronous = \(options.sync == .full ? "FULL" : "NORMAL")")
                // For Apple systems, where fsync only reaches the drive's cache.
                try db.execute(sql: "PRAGMA fullfsync = \(options.sync == .full ? 1 : 0)")
                try db.execute(sql: "PRAGMA checkpoint_fullfsync = \(options.sync == .full ? 1 : 0)")
                try db.execute(sql: "PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1")
                try db.execute(sql: "PRAGMA journal_size_limit = \(logBytesMax)")
                if let pages = options.pagesMax { try db.execute(sql: "PRAGMA max_page_count = \(pages)") }
            }
            return configuration
        }

        /// Maximum number of bytes that the log keeps once all of it is in the file.
        private static let logBytesMax = 8 << 20

        private static func open(
            _ db: Database, _ options: SQLiteStore.Options, _ path: String, _ mark: SQLiteMark.Count?
        ) throws -> SQLiteIndex {
            let findings = try String.fetchAll(db, sql: "PRAGMA quick_check(1)")
            guard findings == ["ok"] else { throw Damage(findings.first ?? "SQLite can't check it") }
            var index: SQLiteIndex?
            try db.inTransaction(.deferred) {
                let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
                // The log may contain a later version than the header.
                try check(version: version, options.schema, path)
                if version < options.schema.version { try options.schema.migrate(db, from: version) }
                try options.schema.check(db)
                let loaded = try SQLiteIndex(db)
                try checkAge(of: loaded, mark, path)
                index = loaded
                if options.verification == .full { try index?.verify(db) }
                return .commit
            }
            guard let index else { throw Damage("it can't be read") }
            db.mergeLogOnClose(true)
            return index
        }

        /// - Throws: `outdated` if the store has fewer commits than its mark says.
        private static func checkAge(
            of index: SQLiteIndex, _ mark: SQLiteMark.Count?, _ path: String
        ) throws(StorageError) {
            guard let mark, index.identity != 0, index.identity == mark.identity, index.commits < mark.commits else {
                return
            }
            throw .outdated(path, commits: index.commits, of: mark.commits)
        }

        private static func check(version: Int, _ schema: SQLiteSchema, _ path: String) throws(StorageError) {
            guard version > 0 else { throw .damaged(path, "it has no version") }
            guard version > schema.version else { return }
            throw StorageError(
                .newerSchema,
                "'\(path)' has version \(version), this library knows \(schema.version); update the app or name another path"
            )
        }

        /// Creates a file with empty tables.
        /// - Parameter path: the file's later path, for error messages.
        static func fill(_ draft: String, for path: String, schema: SQLiteSchema) throws {
            do {
                let queue = try DatabaseQueue(path: draft)
                try queue.inDatabase { db in
                    try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
                    try db.inTransaction {
                        try schema.migrate(db, from: 0)
                        try SQLiteIndex.name(db)
                        try db.execute(sql: "PRAGMA application_id = \(SQLiteSchema.applicationID)")
                        return .commit
                    }
                    guard try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                        throw StorageError(
                            .unavailable, "SQLite can't create its log next to '\(path)'; name another path")
                    }
                }
                try queue.close()
            } catch {
                throw StorageError(error, path: path)
            }
        }
    }

    extension SQLiteConnection {
        /// An identifier of a file's content. Every commit changes it, also one by an older version of the library.
        struct ContentVersion: Hashable, Sendable {
            let identity: Int64
            let commits: Int64
            let checksum: UInt64
        }

        /// - Throws: `StorageError`.
        func contentVersion() throws -> ContentVersion {
            try read { _, index in
                ContentVersion(identity: index.identity, commits: index.commits, checksum: index.total)
            }
        }

        /// - Throws: `StorageError`.
        func read<Result>(_ body: (Database, SQLiteIndex) throws -> Result) throws -> Result {
            try access { db in try body(db, try loadedIndex(db)) }
        }

        /// - Throws: `StorageError`.
        func value(for key: String) throws -> [UInt8]? {
            try read { db, index in
                var value: [UInt8]?
                try index.value(for: StoreName(key), in: db) { value = Array($0) }
                return value
            }
        }

        /// - Throws: `StorageError`.
        func catalog(prefix: String) throws -> StoreCatalog {
            try read { _, index in
                StoreCatalog(
                    keys: index.values.names(prefix).map(\.key.description),
                    journals: index.journals.names(prefix).map { name, journal in
                        .init(name: name.description, positions: journal.positions)
                    })
            }
        }

        /// - Throws: `StorageError`.
        func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
            try read { db, index in
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

        /// - Throws: `StorageError`. The content is then unchanged.
        func commit(_ batch: StoreBatch) throws {
            let batch = try batch.checked()
            try access { db in
                var index = try loadedIndex(db)
                var positions = JournalPositions { index.journals[StoreName($0)]?.positions.upperBound }
                for operation in batch.operations { try positions.follow(operation) }
                guard !batch.isEmpty else { return }
                // Makes the local index the only reference, so that changing it copies nothing.
                self.index = nil
                try db.inTransaction(.immediate) {
                    try index.apply(batch, to: db)
                    return .commit
                }
                self.index = index
                writeMark(of: index)
            }
        }

        private func writeMark(of index: SQLiteIndex) {
            guard isMarked else { return }
            if mark == nil { mark = SQLiteMark(of: path) }
            mark?.write(identity: index.identity, commits: index.commits)
        }

        private func access<Result>(_ body: (Database) throws -> Result) throws -> Result {
            try queue.inDatabase { db in
                do {
                    return try body(db)
                } catch {
                    throw StorageError(
                        error, path: path, systemError: sqlite3_system_errno(db.sqliteConnection))
                }
            }
        }

        private func loadedIndex(_ db: Database) throws -> SQLiteIndex {
            if let index { return index }
            let index = try SQLiteIndex(db)
            self.index = index
            return index
        }
    }

    extension Database {
        /// Sets whether closing merges the log into the file.
        fileprivate func mergeLogOnClose(_ merges: Bool) {
            _ = mesh_sqlite_set_checkpoint_on_close(sqliteConnection, merges ? 1 : 0)
        }
    }

    extension Dictionary where Key == StoreName {
        /// Returns the elements whose names begin with a prefix, in ascending order.
        fileprivate func names(_ prefix: String) -> [Element] {
            filter { $0.key.starts(with: prefix) }.sorted { $0.key < $1.key }
        }
    }
#endif
