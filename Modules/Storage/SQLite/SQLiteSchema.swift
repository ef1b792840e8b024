#if SQLite
    internal import GRDB
    internal import MeshBase

    /// The tables, and the steps that upgrade older versions.
    ///
    /// The index in memory lists the rows of `journal` and `value`; rows of `entry` are found by position. Each `checksum` covers
    /// the rest of its row. `total` is the sum of all checksums modulo 2⁶⁴, so that missing rows are detected.
    package final class SQLiteSchema: Sendable {
        /// "Mesh" in ASCII: the application ID in each store's header.
        static let applicationID: Int32 = 0x4D65_7368

        /// SQL that upgrades to the next version, indexed by the current version.
        package let steps: [String]

        /// The definitions of the tables that the steps create.
        private let definitions = Locked<[[DatabaseValue]]?>(nil)

        package init(steps: [String]) { self.steps = steps }

        package static let current = SQLiteSchema(steps: [
            """
            CREATE TABLE journal (
                id INTEGER PRIMARY KEY, name BLOB NOT NULL, first INTEGER NOT NULL, next INTEGER NOT NULL,
                checksum INTEGER NOT NULL);
            CREATE TABLE entry (
                journal INTEGER NOT NULL, position INTEGER NOT NULL, bytes BLOB NOT NULL, checksum INTEGER NOT NULL,
                PRIMARY KEY (journal, position)) WITHOUT ROWID;
            CREATE TABLE value (
                key BLOB PRIMARY KEY, bytes BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE store (id INTEGER PRIMARY KEY, total INTEGER NOT NULL);
            INSERT INTO store VALUES (1, 0);
            """
        ])

        package var version: Int { steps.count }

        /// Upgrades the tables. Must be called in a transaction.
        func migrate(_ db: Database, from version: Int) throws {
            for step in steps[version...] { try db.execute(sql: step) }
            try db.execute(sql: "PRAGMA user_version = \(self.version)")
        }

        /// - Throws: `Damage` if the tables differ from those that the steps create.
        func check(_ db: Database) throws {
            let expected = try definitions.withLock { definitions in
                if let definitions { return definitions }
                let made = try DatabaseQueue().inDatabase { db in
                    try migrate(db, from: 0)
                    return try Self.definitions(in: db)
                }
                definitions = made
                return made
            }
            guard try Self.definitions(in: db) == expected else { throw Damage("its tables aren't those of a store") }
        }

        private static func definitions(in db: Database) throws -> [[DatabaseValue]] {
            try Row.fetchAll(db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
                .map { Array($0.databaseValues) }
        }
    }
#endif
