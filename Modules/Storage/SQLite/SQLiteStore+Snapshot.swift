#if SQLite
    internal import MeshBase
    public import MeshStorage

    extension SQLiteStore {
        /// Reads the content of a store's file as of its latest commit, also while another process or this one has it open.
        ///
        /// Takes no lock, changes no file and delays no writer, so a widget may read a store that an app writes. The
        /// result is a copy in memory, which later commits don't change. Its `commit` throws `readOnly`. Blocks: call
        /// it off the main thread.
        /// Complexity: O(bytes of the file and its log).
        ///
        /// - Parameters:
        ///   - path: the path that the app gave its `SQLiteStore`.
        ///   - bytesMax: maximum size of the file in bytes, all of which is in memory while the copy is.
        /// - Throws: `StorageError`: `missing` if no app has created the file, `oversized`, `damaged`, `outdated`, `foreign`,
        ///   `newerSchema`, `unavailable`; `busy` if the file keeps being opened and closed.
        public static func snapshot(path: String, bytesMax: Int = 16 << 20) throws -> any SessionStore {
            let file = try SQLiteFile(path: path)
            return SQLiteSnapshot(try SQLiteConnection(file.image(bytesMax: bytesMax), of: file.path))
        }
    }

    /// The content of a store at one moment, in memory.
    private final class SQLiteSnapshot: SessionStore {
        private let connection: Locked<SQLiteConnection?>

        init(_ connection: sending SQLiteConnection) { self.connection = Locked(connection) }

        var durability: StoreDurability { .memory }

        func commit(_ batch: StoreBatch) throws {
            throw StorageError(.readOnly, "a snapshot can't be written to; open the store with SQLiteStore(path:)")
        }

        func value(for key: String) throws -> [UInt8]? { try open { try $0.value(for: key) } }
        func catalog(prefix: String) throws -> StoreCatalog { try open { try $0.catalog(prefix: prefix) } }

        func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
            try open { try $0.entries(of: journal, from: position, maxBytes: maxBytes) }
        }

        func close() {
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
#endif
