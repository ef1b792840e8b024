#if SQLite
    import Foundation
    import GRDB
    import MeshBase
    import MeshStorage
    import Testing

    @testable import MeshSQLiteStorage

    @Suite("SQLite store: files that are not its own, and places where none can be")
    struct RefusedFileTests {
        private let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        private func refusal(path: String? = nil) throws -> StorageError.Code? {
            try code { try SQLiteStore(path: path ?? folder.store).close() }
        }

        /// Requires that opening fails and that all files in the folder are unchanged.
        private func requireRefused(_ expected: StorageError.Code, _ subject: Comment = "") throws {
            let before = try folder.files()
            #expect(try refusal() == expected, subject)
            #expect(try folder.files() == before, subject)
        }

        private func makeStore(schema: SQLiteSchema = .current) throws {
            var options = SQLiteStore.Options()
            options.schema = schema
            let store = try SQLiteStore(path: folder.store, options: options)
            try store.commit(.filled { $0.append([1, 2], to: "log", at: 1) })
            store.close()
        }

        @Test("A text file", arguments: ["", "S", "SQLite", "hello", String(repeating: "a line\n", count: 2000)])
        func text(content: String) throws {
            try Data(content.utf8).write(to: URL(fileURLWithPath: folder.store))
            try requireRefused("SQLite format 3\0".hasPrefix(content) ? .damaged : .foreign)
        }

        @Test("A path with a NUL character, which would end there for the system")
        func nulInPath() throws {
            for path in [folder.store + "\0", folder.store + "\0.new", folder.path + "\0/store.sqlite"] {
                // Leaves the error of a missing file.
                _ = access(folder.file("none"), F_OK)
                #expect(try refusal(path: path) == .unavailable, "\(path.utf8.count) bytes")
                #expect(try folder.files().isEmpty)
            }
        }

        @Test("A folder, a pipe and a link to nothing")
        func otherKinds() throws {
            try FileManager.default.createDirectory(atPath: folder.store, withIntermediateDirectories: false)
            try requireRefused(.foreign, "a folder")
            try FileManager.default.removeItem(atPath: folder.store)
            #expect(mkfifo(folder.store, 0o600) == 0)
            #expect(try refusal() == .foreign, "a pipe")
            try FileManager.default.removeItem(atPath: folder.store)
            try FileManager.default.createSymbolicLink(atPath: folder.store, withDestinationPath: folder.file("none"))
            #expect(try refusal() == .foreign, "a link to nothing")
        }

        @Test("Another program's database is refused, in either mode", arguments: ["DELETE", "WAL"])
        func foreignDatabase(mode: String) throws {
            let queue = try DatabaseQueue(path: folder.store)
            try queue.inDatabase { db in
                try db.execute(sql: "PRAGMA journal_mode = \(mode); CREATE TABLE song (title TEXT)")
                try db.execute(sql: "INSERT INTO song VALUES ('a')")
            }
            if mode == "DELETE" { try queue.close() }
            // A log that is still in use is also kept.
            try requireRefused(.foreign)
            #expect(try queue.isOpen == false || String.fetchOne(on: queue) == "a")
        }

        @Test("A newer schema is rejected, and its own version can still open it")
        func newerSchema() throws {
            let newer = SQLiteSchema(steps: SQLiteSchema.current.steps + ["CREATE TABLE more (id INTEGER PRIMARY KEY)"])
            try makeStore(schema: newer)
            try requireRefused(.newerSchema)
            var options = SQLiteStore.Options()
            options.schema = newer
            let store = try SQLiteStore(path: folder.store, options: options)
            #expect(try store.entries(of: "log", from: 0, maxBytes: 9).map(\.bytes) == [[1, 2]])
        }

        @Test("An older schema is upgraded and keeps its content")
        func olderSchema() throws {
            try makeStore()
            let newer = SQLiteSchema(steps: SQLiteSchema.current.steps + ["CREATE TABLE more (id INTEGER PRIMARY KEY)"])
            var options = SQLiteStore.Options()
            options.schema = newer
            for _ in 1...2 {
                let store = try SQLiteStore(path: folder.store, options: options)
                #expect(try store.entries(of: "log", from: 0, maxBytes: 9).map(\.bytes) == [[1, 2]])
                store.close()
            }
            try requireRefused(.newerSchema)
        }

        @Test("A store with a changed row, table or version is refused")
        func meddling() throws {
            for sql in [
                "UPDATE entry SET bytes = x'0103'", "DELETE FROM entry", "DELETE FROM journal", "DELETE FROM store",
                "UPDATE journal SET next = 3", "UPDATE journal SET first = 0", "UPDATE journal SET name = x'00'",
                "UPDATE store SET total = total + 1", "UPDATE store SET total = 'a'", "UPDATE entry SET position = 0",
                "UPDATE journal SET first = 'a'", "UPDATE entry SET checksum = x''", "PRAGMA user_version = 0",
                "CREATE TABLE song (title TEXT)", "DROP TABLE value", "CREATE INDEX i ON entry (bytes)",
                "INSERT INTO value VALUES (x'00', x'00', 0)", "INSERT INTO journal VALUES (7, x'00', 0, 0, 0)",
            ] {
                try? FileManager.default.removeItem(atPath: folder.store)
                try makeStore()
                let queue = try DatabaseQueue(path: folder.store)
                try queue.inDatabase { try $0.execute(sql: sql) }
                try queue.close()
                #expect(try refusal() == .damaged, "\(sql)")
            }
        }

        @Test("A missing folder, and a file in its place")
        func missingFolder() throws {
            #expect(try refusal(path: folder.file("none/store")) == .missing)
            try Data("file".utf8).write(to: URL(fileURLWithPath: folder.file("file")))
            #expect(try refusal(path: folder.file("file/store")) == .missing)
            #expect(try refusal(path: "") != nil)
            #expect(try refusal(path: folder.file("a\0b")) != nil)
        }

        @Test("A log without its file, with an empty file, and a rollback journal beside a store")
        func leftovers() throws {
            try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: folder.store + "-wal"))
            try requireRefused(.damaged, "no file")
            try Data().write(to: URL(fileURLWithPath: folder.store))
            try requireRefused(.damaged, "an empty file")
            try FileManager.default.removeItem(atPath: folder.store)
            try FileManager.default.removeItem(atPath: folder.store + "-wal")
            try makeStore()
            try Data("journal".utf8).write(to: URL(fileURLWithPath: folder.store + "-journal"))
            try requireRefused(.damaged, "a journal")
        }

        @Test("A file or folder that others may write to, or that another user owns")
        func others() throws {
            try makeStore()
            for (mode, code) in [(0o666, StorageError.Code.foreign), (0o602, .foreign), (0o600, nil)] {
                #expect(chmod(folder.store, mode_t(mode)) == 0)
                #expect(try refusal() == code, "\(String(mode, radix: 8))")
            }
            for (mode, code) in [(0o777, StorageError.Code.foreign), (0o757, .foreign), (0o1777, nil), (0o755, nil)] {
                #expect(chmod(folder.path, mode_t(mode)) == 0)
                #expect(try refusal() == code, "\(String(mode, radix: 8))")
                #expect(try refusal(path: folder.file("new")) == code, "\(String(mode, radix: 8))")
                try? FileManager.default.removeItem(atPath: folder.file("new"))
            }
            // Users that could read the file no longer can.
            #expect(chmod(folder.store, 0o644) == 0)
            #expect(try refusal() == nil)
            #expect(FileAccess(path: folder.store)?.mode == 0o600)
            // Only root can change the owner of a file.
            guard geteuid() == 0 else { return }
            for path in [folder.store, folder.path] {
                #expect(chown(path, 65534, 65534) == 0)
                #expect(try refusal() == .foreign, "\(path)")
                #expect(chown(path, 0, 0) == 0)
            }
            #expect(try refusal() == nil)
        }

        @Test("A file or folder without write permission")
        func readOnly() throws {
            try makeStore()
            let stored = try folder.files()
            try asOrdinaryUser { () throws -> Void in
                #expect(chmod(folder.store, 0o444) == 0 || geteuid() == 0)
                #expect(try refusal() == .readOnly, "the file")
                #expect(chmod(folder.store, 0o600) == 0 || geteuid() == 0)
            }
            #expect(chmod(folder.store, 0o600) == 0)
            #expect(chmod(folder.path, 0o555) == 0)
            try asOrdinaryUser { () throws -> Void in
                #expect(try refusal() == .readOnly, "the folder of a file")
                #expect(try refusal(path: folder.file("new")) == .readOnly, "the folder of none")
            }
            #expect(chmod(folder.path, 0o755) == 0)
            #expect(try folder.files() == stored)
            #expect(try refusal() == nil)
        }
    }

    extension DatabaseQueue {
        fileprivate var isOpen: Bool { (try? inDatabase { try Int.fetchOne($0, sql: "SELECT 1") }) == 1 }
    }

    extension String {
        fileprivate static func fetchOne(on queue: DatabaseQueue) throws -> String? {
            try queue.inDatabase { try String.fetchOne($0, sql: "SELECT title FROM song") }
        }
    }

    /// Runs the body without root's file permissions. As root, this thread gives them up meanwhile.
    private func asOrdinaryUser(_ body: () throws -> Void) throws {
        guard geteuid() == 0 else { return try body() }
        #if os(Linux)
            typealias Change = @convention(c) (uid_t) -> Int32
            guard let symbol = dlsym(nil, "setfsuid") else { preconditionFailure("the C library has no setfsuid") }
            let setfsuid = unsafeBitCast(symbol, to: Change.self)
            _ = setfsuid(65534)
            defer { _ = setfsuid(0) }
            try body()
        #else
            preconditionFailure("run the tests as an ordinary user")
        #endif
    }
#endif
