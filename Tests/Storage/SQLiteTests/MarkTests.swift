#if SQLite
    import Foundation
    import MeshBase
    import MeshSQLiteStorage
    import MeshStorage
    import MeshTestSupport
    import Testing

    /// Uses the files that a process killed after each commit would have left.
    @Suite("SQLite store: a store that is older than it has been")
    struct MarkTests {
        private let folder: TemporaryFolder
        private let history: [[String: Data]]

        private static let commits = 12

        init() throws {
            folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.store)
            var history: [[String: Data]] = []
            for number in 1...Self.commits {
                try store.commit(.filled { $0.append([UInt8(number)], to: "log", at: UInt64(number)) })
                history.append(try folder.files())
            }
            self.history = history
            store.close()
        }

        /// Opens a store with the given files and closes it again.
        /// - Returns: the number of commits found, or nil if the store is refused as outdated, with its files unchanged.
        private func reopen(_ files: [String: Data], sync: SQLiteStore.Sync = .full) throws -> Int? {
            for name in try folder.files().keys { try FileManager.default.removeItem(atPath: folder.file(name)) }
            for (name, data) in files { try data.write(to: URL(fileURLWithPath: folder.file(name))) }
            do {
                let store = try SQLiteStore(path: folder.store, sync: sync)
                defer { store.close() }
                return try store.entries(of: "log", from: 0, maxBytes: .max).count
            } catch let error as StorageError {
                #expect(error.code == .outdated && error.message.contains("store.sqlite-mark"), "\(error)")
                #expect(try folder.files() == files)
                return nil
            }
        }

        private var last: [String: Data] { history[Self.commits - 1] }

        @Test("A cut or deleted log is detected")
        func missingLogs() throws {
            let log = try #require(last["store.sqlite-wal"])
            #expect(try reopen(last) == Self.commits)
            #expect(try reopen(last.filter { $0.key != "store.sqlite-wal" }) == nil)
            for length in stride(from: 0, to: log.count - 4096, by: 2_000) {
                #expect(try reopen(last.merging(["store.sqlite-wal": log.prefix(length)]) { $1 }) == nil)
            }
            // This doesn't depend on the sync mode of the next open.
            #expect(try reopen(last.filter { $0.key != "store.sqlite-wal" }, sync: .normal) == nil)
        }

        @Test("An older copy in place of a closed store is detected")
        func olderCopies() throws {
            #expect(try reopen(last) == Self.commits)
            let closed = try folder.files()
            #expect(closed.keys.sorted() == ["store.sqlite", "store.sqlite-mark"])
            #expect(try reopen(history[5]) == 6)
            let older = try folder.files()
            #expect(try reopen(closed.merging(["store.sqlite": try #require(older["store.sqlite"])]) { $1 }) == nil)
            #expect(try reopen(closed) == Self.commits)
        }

        @Test("A store left by a crash or power loss is never refused: the mark may be of any earlier commit, or torn")
        func crashes() throws {
            for (index, files) in history.enumerated() {
                #expect(try reopen(files) == index + 1)
                for earlier in history[..<index] {
                    let mark = try #require(earlier["store.sqlite-mark"])
                    #expect(try reopen(files.merging(["store.sqlite-mark": mark]) { $1 }) == index + 1)
                }
            }
            let mark = try #require(last["store.sqlite-mark"])
            for length in 0..<mark.count {
                #expect(try reopen(last.merging(["store.sqlite-mark": mark.prefix(length)]) { $1 }) == Self.commits)
                var torn = mark
                torn[length] ^= 0x10
                #expect(try reopen(last.merging(["store.sqlite-mark": torn]) { $1 }) == Self.commits)
            }
        }

        @Test("An older store without its mark opens, and another store isn't compared with the mark")
        func otherStores() throws {
            let file = try #require(history[0]["store.sqlite"])
            #expect(try reopen(["store.sqlite": file]) == 0)
            #expect(try reopen(["store.sqlite-mark": try #require(last["store.sqlite-mark"])]) == 0)
        }

        @Test("A store that an earlier version has written opens, and is marked from its next commit on")
        func earlierVersions() async throws {
            _ = try reopen(last)
            try await query("DELETE FROM store WHERE id > 1")
            try FileManager.default.removeItem(atPath: folder.store + "-mark")
            let store = try SQLiteStore(path: folder.store)
            #expect(try folder.files()["store.sqlite-mark"] == nil)
            try store.commit(.filled { $0.set([1], for: "key") })
            let files = try folder.files()
            store.close()
            #expect(try reopen(files) == Self.commits)
            #expect(
                try reopen(files.filter { $0.key != "store.sqlite-wal" }) == Self.commits, "it had no number before")
        }

        private func query(_ sql: String) async throws {
            let script = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()"
            let (status, text) = try await Program.run("python3", ["-c", script, folder.store, sql])
            #expect(status == 0, "\(text)")
        }
    }
#endif
