#if SQLite
    internal import Foundation
    internal import GRDB
    internal import MeshStorage

    extension SQLiteIndex {
        /// Carries out a batch whose positions follow. After a throw the index is worthless.
        /// - Throws: `Damage`, `DatabaseError`.
        mutating func apply(_ batch: StoreBatch, to db: Database) throws {
            var changed: Set<[UInt8]> = []
            for operation in batch.operations {
                switch operation {
                case .set(let key, let bytes): try set(bytes, for: Array(key.utf8), in: db)
                case .remove(let key): try removeValue(for: Array(key.utf8), in: db)
                case .append(let journal, let entry):
                    let name = Array(journal.utf8)
                    try append(entry, to: name, in: db)
                    changed.insert(name)
                case .truncate(let journal, let mark):
                    let name = Array(journal.utf8)
                    try truncate(name, below: mark, in: db)
                    changed.insert(name)
                case .erase(let journal): try erase(Array(journal.utf8), in: db)
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

        /// Gives a store what tells it from any other one in its place.
        @discardableResult
        static func name(_ db: Database) throws -> Int64 {
            let identity = Int64.random(in: 1 ... .max)
            try db.change(insertion, [identityRow, identity])
            return identity
        }

        private static var insertion: String { "INSERT OR REPLACE INTO store (id, total) VALUES (?, ?)" }

        private mutating func set(_ bytes: [UInt8], for key: [UInt8], in db: Database) throws {
            let checksum = bytes.withUnsafeBytes { RowChecksum.value(key: key, bytes: $0) }
            try db.change(
                "INSERT OR REPLACE INTO value (key, bytes, checksum) VALUES (?, ?, ?)",
                [Data(key), Data(bytes), Int64(bitPattern: checksum)])
            total = total &- (values.updateValue(checksum, forKey: key) ?? 0) &+ checksum
        }

        private mutating func removeValue(for key: [UInt8], in db: Database) throws {
            guard let checksum = values.removeValue(forKey: key) else { return }
            try db.change("DELETE FROM value WHERE key = ?", [Data(key)])
            total &-= checksum
        }

        private mutating func append(_ entry: StoreEntry, to name: [UInt8], in db: Database) throws {
            var journal = journals[name] ?? makeJournal(first: entry.position)
            let checksum = entry.bytes.withUnsafeBytes {
                RowChecksum.entry(journal: journal.id, position: entry.position, bytes: $0)
            }
            try db.change(
                "INSERT INTO entry (journal, position, bytes, checksum) VALUES (?, ?, ?, ?)",
                [
                    journal.id, Int64(bitPattern: entry.position), Data(entry.bytes), Int64(bitPattern: checksum),
                ])
            journal.positions = journal.positions.lowerBound..<entry.position + 1
            journals[name] = journal
            total &+= checksum
        }

        private mutating func truncate(_ name: [UInt8], below mark: UInt64, in db: Database) throws {
            var journal = journals[name] ?? makeJournal(first: mark)
            if mark > journal.positions.lowerBound {
                try removeEntries(of: journal, below: mark, in: db)
                journal.positions = mark..<max(mark, journal.positions.upperBound)
            }
            journals[name] = journal
        }

        private mutating func erase(_ name: [UInt8], in db: Database) throws {
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

        /// Of a journal that the batch has erased in the end nothing is left to write.
        private mutating func writeJournal(_ name: [UInt8], in db: Database) throws {
            guard var journal = journals[name] else { return }
            let checksum = RowChecksum.journal(id: journal.id, name: name, positions: journal.positions)
            try db.change(
                "INSERT OR REPLACE INTO journal (id, name, first, next, checksum) VALUES (?, ?, ?, ?, ?)",
                [
                    journal.id, Data(name), Int64(bitPattern: journal.positions.lowerBound),
                    Int64(bitPattern: journal.positions.upperBound), Int64(bitPattern: checksum),
                ])
            total = total &- (journal.checksum ?? 0) &+ checksum
            journal.checksum = checksum
            journals[name] = journal
        }
    }

    extension Database {
        /// - Throws: `Damage` when another number of rows was there.
        fileprivate func change(_ sql: String, _ arguments: StatementArguments, count: Int = 1) throws {
            try cachedStatement(sql: sql).execute(arguments: arguments)
            guard changesCount == count else { throw Damage("a row is missing") }
        }
    }
#endif
