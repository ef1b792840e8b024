#if SQLite
    internal import CSQLite
    internal import Foundation
    internal import GRDB
    internal import MeshStorage

    extension SQLiteIndex {
        /// Performs a batch whose positions were checked. After an error the index is unusable.
        /// - Throws: `Damage`, `DatabaseError`.
        mutating func apply(_ batch: StoreBatch, to db: Database) throws {
            var changed: Set<StoreName> = []
            for operation in batch.operations {
                switch operation {
                case .set(let key, let bytes): try set(bytes, for: StoreName(key), in: db)
                case .remove(let key): try removeValue(for: StoreName(key), in: db)
                case .append(let journal, let entry):
                    let name = StoreName(journal)
                    try append(entry, to: name, in: db)
                    changed.insert(name)
                case .truncate(let journal, let mark):
                    let name = StoreName(journal)
                    try truncate(name, below: mark, in: db)
                    changed.insert(name)
                case .erase(let journal): try erase(StoreName(journal), in: db)
                }
            }
            for name in changed { try writeJournal(name, in: db) }
            try db.change("UPDATE store SET total = ? WHERE id = 1", [Int64(bitPattern: total)])
            try countCommit(in: db)
        }

        private mutating func countCommit(in db: Database) throws {
            if identity == 0 { identity = try Self.name(db) }
            commits &+= 1
            try db.change(Self.insertion, [Self.commitsRow, commits])
        }

        /// Gives the store a random identity, which distinguishes it from any other store that takes its place.
        @discardableResult
        static func name(_ db: Database) throws -> Int64 {
            let identity = Int64.random(in: 1 ... .max)
            try db.change(insertion, [identityRow, identity])
            return identity
        }

        private static var insertion: String { "INSERT OR REPLACE INTO store (id, total) VALUES (?, ?)" }

        private mutating func set(_ bytes: [UInt8], for key: StoreName, in db: Database) throws {
            let checksum = bytes.withUnsafeBytes { RowChecksum.value(key: key, bytes: $0) }
            try db.insert("INSERT OR REPLACE INTO value (key, bytes, checksum) VALUES (?, ?, ?)") { row in
                try row.bind(key.bytes, at: 1)
                try row.bind(bytes, at: 2)
                try row.bind(Int64(bitPattern: checksum), at: 3)
            }
            total = total &- (values.updateValue(checksum, forKey: key) ?? 0) &+ checksum
        }

        private mutating func removeValue(for key: StoreName, in db: Database) throws {
            guard let checksum = values.removeValue(forKey: key) else { return }
            try db.change("DELETE FROM value WHERE key = ?", [Data(key.bytes)])
            total &-= checksum
        }

        private mutating func append(_ entry: StoreEntry, to name: StoreName, in db: Database) throws {
            var journal = journals[name] ?? makeJournal(first: entry.position)
            let checksum = entry.bytes.withUnsafeBytes {
                RowChecksum.entry(journal: journal.id, position: entry.position, bytes: $0)
            }
            try db.insert("INSERT INTO entry (journal, position, bytes, checksum) VALUES (?, ?, ?, ?)") { row in
                try row.bind(journal.id, at: 1)
                try row.bind(Int64(bitPattern: entry.position), at: 2)
                try row.bind(entry.bytes, at: 3)
                try row.bind(Int64(bitPattern: checksum), at: 4)
            }
            journal.positions = journal.positions.lowerBound..<entry.position + 1
            journals[name] = journal
            total &+= checksum
        }

        private mutating func truncate(_ name: StoreName, below mark: UInt64, in db: Database) throws {
            var journal = journals[name] ?? makeJournal(first: mark)
            if mark > journal.positions.lowerBound {
                try removeEntries(of: journal, below: mark, in: db)
                journal.positions = mark..<max(mark, journal.positions.upperBound)
            }
            journals[name] = journal
        }

        private mutating func erase(_ name: StoreName, in db: Database) throws {
            guard let journal = journals.removeValue(forKey: name) else { return }
            try removeEntries(of: journal, below: journal.positions.upperBound, in: db)
            guard let checksum = journal.checksum else { return }
            try db.change("DELETE FROM journal WHERE id = ?", [journal.id])
            total &-= checksum
        }

        private mutating func removeEntries(of journal: Journal, below mark: UInt64, in db: Database) throws {
            let end = min(mark, journal.positions.upperBound)
            guard journal.positions.lowerBound < end else { return }
            var removed: UInt64 = 0
            try forEachEntry(of: journal, from: journal.positions.lowerBound, in: db) { position, _, checksum in
                if position < end { removed &+= checksum }
                return position + 1 < end
            }
            try db.change(
                "DELETE FROM entry WHERE journal = ? AND position < ?", [journal.id, Int64(bitPattern: end)],
                count: Int(end - journal.positions.lowerBound))
            total &-= removed
        }

        /// Writes the row of a journal, unless the batch has erased the journal.
        private mutating func writeJournal(_ name: StoreName, in db: Database) throws {
            guard var journal = journals[name] else { return }
            let checksum = RowChecksum.journal(id: journal.id, name: name, positions: journal.positions)
            try db.change(
                "INSERT OR REPLACE INTO journal (id, name, first, next, checksum) VALUES (?, ?, ?, ?, ?)",
                [
                    journal.id, Data(name.bytes), Int64(bitPattern: journal.positions.lowerBound),
                    Int64(bitPattern: journal.positions.upperBound), Int64(bitPattern: checksum),
                ])
            total = total &- (journal.checksum ?? 0) &+ checksum
            journal.checksum = checksum
            journals[name] = journal
        }
    }

    extension Database {
        /// - Throws: `Damage` if the number of changed rows isn't `count`.
        fileprivate func change(_ sql: String, _ arguments: StatementArguments, count: Int = 1) throws {
            try cachedStatement(sql: sql).execute(arguments: arguments)
            guard changesCount == count else { throw Damage("a row is missing") }
        }

        /// Inserts a row without GRDB's arguments, for the entries and values of every commit: boxing arguments takes longer than
        /// inserting the row.
        fileprivate func insert(_ sql: String, _ bind: (BoundRow) throws -> Void) throws {
            let row = BoundRow(statement: try cachedStatement(sql: sql).sqliteStatement)
            defer { row.reset() }
            try bind(row)
            let code = sqlite3_step(row.statement)
            guard code == SQLITE_DONE else {
                throw DatabaseError(resultCode: ResultCode(rawValue: code), message: lastErrorMessage, sql: sql)
            }
            guard changesCount == 1 else { throw Damage("a row is missing") }
        }
    }

    /// A statement with SQLite's own binding. Bound bytes are copied.
    private struct BoundRow {
        let statement: SQLiteStatement

        /// - Parameter index: from 1.
        func bind(_ bytes: [UInt8], at index: Int32) throws {
            // An empty array may have no address. SQLite would bind NULL.
            try check(
                bytes.isEmpty
                    ? sqlite3_bind_zeroblob(statement, index, 0)
                    : sqlite3_bind_blob64(statement, index, bytes, UInt64(bytes.count), Self.transient))
        }

        func bind(_ number: Int64, at index: Int32) throws { try check(sqlite3_bind_int64(statement, index, number)) }

        func reset() {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }

        private func check(_ code: Int32) throws {
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        }

        /// The macro SQLITE_TRANSIENT, which Swift can't import.
        private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }
#endif
