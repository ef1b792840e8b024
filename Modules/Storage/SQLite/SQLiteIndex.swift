#if SQLite
    internal import Foundation
    internal import GRDB
    internal import MeshStorage

    /// The store's content without entries and values: journals, keys, and the sum of all checksums. Takes a few
    /// hundred bytes of memory per name.
    struct SQLiteIndex {
        struct Journal {
            let id: Int64
            var positions: Range<UInt64>
            /// The stored row's checksum; nil if there is no row yet.
            var checksum: UInt64?
        }

        var journals: [StoreName: Journal] = [:]
        /// Checksums of the values.
        var values: [StoreName: UInt64] = [:]
        var total: UInt64 = 0
        /// Random number that identifies the store; 0 until a library version with identities has committed.
        var identity: Int64 = 0
        /// Number of commits since the store got its identity.
        var commits: Int64 = 0
        private var lastID: Int64 = 0

        mutating func makeJournal(first: UInt64) -> Journal {
            lastID += 1
            return Journal(id: lastID, positions: first..<first)
        }

        /// Reads the names, but not the entries and values.
        /// - Throws: `Damage`, `DatabaseError`.
        init(_ db: Database) throws {
            let journals = try Row.fetchCursor(db, sql: "SELECT id, name, first, next, checksum FROM journal")
            while let row = try journals.next() { try add(journal: row) }
            let values = try Row.fetchCursor(db, sql: "SELECT key, checksum FROM value")
            while let row = try values.next() {
                self.values[StoreName(bytes: try row.bytes(at: 0))] = try row.word(at: 1)
            }
            guard let store = try Row.fetchOne(db, sql: "SELECT total FROM store WHERE id = 1") else {
                throw Damage("the total of its checksums is missing")
            }
            total = try store.word(at: 0)
            commits = try Self.number(Self.commitsRow, in: db)
            identity = try Self.number(Self.identityRow, in: db)
        }

        /// IDs of additional rows in the table `store`. Versions that don't know these rows leave them alone.
        static let commitsRow = 2
        static let identityRow = 3

        private static func number(_ row: Int, in db: Database) throws -> Int64 {
            try Row.fetchOne(db, sql: "SELECT total FROM store WHERE id = ?", arguments: [row])?.integer(at: 0) ?? 0
        }

        private mutating func add(journal row: Row) throws {
            let (id, name) = (try row.integer(at: 0), StoreName(bytes: try row.bytes(at: 1)))
            let (first, next) = (try row.position(at: 2), try row.position(at: 3))
            let checksum = try row.word(at: 4)
            guard id > 0, id < .max, first <= next,
                RowChecksum.journal(id: id, name: name, positions: first..<next) == checksum
            else {
                throw Damage("the row of a journal has been changed")
            }
            let journal = Journal(id: id, positions: first..<next, checksum: checksum)
            guard journals.updateValue(journal, forKey: name) == nil else {
                throw Damage("two journals have the same name")
            }
            lastID = max(lastID, id)
        }

        /// Reads and checks all rows.
        /// - Throws: `Damage`, `DatabaseError`.
        func verify(_ db: Database) throws {
            var sum: UInt64 = 0
            for (key, checksum) in values {
                try value(for: key, in: db) { _ in sum &+= checksum }
            }
            for journal in journals.values {
                sum &+= journal.checksum ?? 0
                try forEachEntry(of: journal, from: journal.positions.lowerBound, in: db) { _, _, checksum in
                    sum &+= checksum
                    return true
                }
            }
            guard sum == total else { throw Damage("rows are missing or were replaced by older ones") }
        }
    }

    // Reading a row checks it.
    extension SQLiteIndex {
        /// - Parameter body: may use the bytes only during the call. Not called if the key has no value.
        /// - Throws: `Damage`, `DatabaseError`.
        func value(for key: StoreName, in db: Database, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
            guard let checksum = values[key] else { return }
            let statement = try db.cachedStatement(sql: "SELECT bytes, checksum FROM value WHERE key = ?")
            let rows = try Row.fetchCursor(statement, arguments: [Data(key.bytes)])
            // A row is valid while its cursor lives.
            try withExtendedLifetime(rows) {
                guard let row = try rows.next() else { throw Damage("the value of a key is missing") }
                let stored = try row.word(at: 1)
                try row.withBytes(at: 0) { bytes in
                    guard stored == checksum, RowChecksum.value(key: key, bytes: bytes) == checksum else {
                        throw Damage("a value has been changed")
                    }
                    try body(bytes)
                }
            }
        }

        /// - Parameter body: may use the bytes only during the call. Returns false to stop.
        /// - Throws: `Damage`, `DatabaseError`.
        func forEachEntry(
            of journal: Journal, from position: UInt64, in db: Database,
            _ body: (_ position: UInt64, _ bytes: UnsafeRawBufferPointer, _ checksum: UInt64) throws -> Bool
        ) throws {
            let positions = max(position, journal.positions.lowerBound)..<max(position, journal.positions.upperBound)
            guard !positions.isEmpty else { return }
            let statement = try db.cachedStatement(
                sql: """
                    SELECT position, bytes, checksum FROM entry WHERE journal = ? AND position >= ? ORDER BY position
                    """)
            let rows = try Row.fetchCursor(
                statement, arguments: [journal.id, Int64(bitPattern: positions.lowerBound)])
            try withExtendedLifetime(rows) {
                for position in positions {
                    guard let row = try rows.next(), try row.position(at: 0) == position else {
                        throw Damage("an entry is missing")
                    }
                    let checksum = try row.word(at: 2)
                    let goesOn = try row.withBytes(at: 1) { bytes in
                        guard RowChecksum.entry(journal: journal.id, position: position, bytes: bytes) == checksum
                        else {
                            throw Damage("an entry has been changed")
                        }
                        return try body(position, bytes, checksum)
                    }
                    guard goesOn else { return }
                }
            }
        }
    }

    // GRDB's own conversions trap if a column has another type.
    extension Row {
        fileprivate func integer(at index: Int) throws -> Int64 {
            let value: DatabaseValue = self[index]
            guard case .int64(let integer) = value.storage else { throw Damage("a number has another type") }
            return integer
        }

        fileprivate func word(at index: Int) throws -> UInt64 { UInt64(bitPattern: try integer(at: index)) }

        fileprivate func position(at index: Int) throws -> UInt64 {
            guard let position = UInt64(exactly: try integer(at: index)) else { throw Damage("a position is negative") }
            return position
        }

        fileprivate func bytes(at index: Int) throws -> [UInt8] { try withBytes(at: index) { Array($0) } }

        fileprivate func withBytes<Result>(
            at index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
        ) throws -> Result {
            try withUnsafeData(atIndex: index) { data in
                guard let data else { throw Damage("bytes are missing") }
                return try data.withUnsafeBytes(body)
            }
        }
    }
#endif
