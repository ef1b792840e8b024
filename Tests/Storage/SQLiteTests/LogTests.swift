#if SQLite
    import Foundation
    import MeshBase
    import MeshSQLiteStorage
    import MeshStorage
    import MeshTestSupport
    import Testing

    @Suite("SQLite store: the log beside the file, and who holds it")
    struct LogTests {
        private let folder: TemporaryFolder
        /// The contents after each commit.
        private let history: [StoredContents]
        /// The files of a process that was killed.
        private let file: Data
        private let log: Data

        init() throws {
            folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.store, sync: .normal)
            var generator = SplitMix64(seed: 12)
            var contents = StoreContents()
            var history = [StoredContents(contents)]
            while history.count < 20 {
                let batch = StoreBatch.random(after: contents, using: &generator)
                guard try code(of: { try contents.commit(batch) }) == nil else { continue }
                try store.commit(batch)
                history.append(StoredContents(contents))
            }
            self.history = history
            let files = try folder.files()
            file = try #require(files["store.sqlite"])
            log = try #require(files["store.sqlite-wal"])
            store.close()
        }

        /// Opens the files of a killed process.
        /// - Returns: the number of commits found, or nil if the store is refused.
        private func reopen(file: Data, log: Data?, _ subject: Comment) throws -> Int? {
            let url = URL(fileURLWithPath: folder.store)
            try file.write(to: url)
            let logURL = URL(fileURLWithPath: folder.store + "-wal")
            if let log { try log.write(to: logURL) } else { try? FileManager.default.removeItem(at: logURL) }
            do {
                let store = try SQLiteStore(path: folder.store, sync: .normal)
                defer { store.close() }
                let stored = try StoredContents(store)
                let index = history.lastIndex(of: stored)
                #expect(index != nil, "\(subject): an entry that never existed")
                return index
            } catch let error as StorageError {
                #expect(error.code == .damaged, subject)
                let files = try folder.files()
                #expect(files["store.sqlite"] == file && files["store.sqlite-wal"] == log, "\(subject): was changed")
                return nil
            }
        }

        @Test("Content committed before a crash survives, and closing merges the log")
        func crash() throws {
            #expect(try reopen(file: file, log: log, "the crash") == history.indices.last)
            #expect(try folder.files().keys.sorted() == ["store.sqlite"])
            #expect(
                try reopen(file: try #require(try folder.files()["store.sqlite"]), log: nil, "merged")
                    == history.indices.last)
        }

        @Test("A cut log keeps the complete commits before the cut, in order")
        func cutLogs() throws {
            var generator = SplitMix64(seed: 1)
            let frame = 24 + 4096
            var lengths = Set((0..<200).map { _ in Int.random(in: 0...log.count, using: &generator) })
            for end in stride(from: 32, through: log.count, by: frame) {
                lengths.formUnion([end - 1, end, end + 1, end + 24].filter { $0 <= log.count })
            }
            var previous = 0
            for length in lengths.sorted() {
                let count = try #require(
                    try reopen(file: file, log: log.prefix(length), "a log cut to \(length)"), "cut to \(length)")
                #expect(count >= previous)
                previous = count
            }
            #expect(previous == history.indices.last)
        }

        @Test("A cut file with its log is rejected, unless the log has everything")
        func cutFiles() throws {
            for length in stride(from: 0, to: file.count, by: 61) {
                let count = try reopen(file: file.prefix(length), log: log, "a file cut to \(length)")
                #expect(count == nil || count == history.indices.last)
            }
        }

        @Test("A flipped bit ends the log there, and never changes contents")
        func flippedLogs() throws {
            var generator = SplitMix64(seed: 2)
            for _ in 0..<400 {
                var log = log
                let offset = Int.random(in: 0..<log.count, using: &generator)
                log[offset] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                _ = try reopen(file: file, log: log, "byte \(offset)")
            }
        }

        @Test("An open store can't be opened again, in this process or another")
        func processes() async throws {
            try FileManager.default.removeItem(atPath: folder.store)
            let store = try SQLiteStore(path: folder.store)
            // A refused opening doesn't end the claim that it was refused for.
            for _ in 0..<3 { #expect(try code { try SQLiteStore(path: folder.store).close() } == .busy) }
            #expect(try await python("print(db.execute('select count(*) from entry').fetchall())").contains("locked"))
            store.close()
            let hold = "db.execute('begin exclusive'); print('h', flush=True)"
            let answer = try await python("\(hold); sys.stdin.read()") { () throws -> Void in
                #expect(try code { try SQLiteStore(path: folder.store).close() } == .busy)
            }
            #expect(answer == "")
            #expect(try code { try SQLiteStore(path: folder.store).close() } == nil)
        }

        @Test("A suspended store releases its lock, and a resumed one holds it and all its content again")
        func suspension() async throws {
            try FileManager.default.removeItem(atPath: folder.store)
            let store = try SQLiteStore(path: folder.store)
            try store.commit(.filled { $0.set([1], for: "head") })
            try store.suspend()
            try store.suspend()
            // A write meanwhile changes nothing and throws.
            #expect(try code { try store.commit(.filled { $0.set([2], for: "head") }) } == .unavailable)
            #expect(try code { _ = try store.value(for: "head") } == .unavailable)
            let hold = "db.execute('begin exclusive'); print('h', flush=True)"
            let answer = try await python("\(hold); sys.stdin.read(); db.execute('rollback')") { () throws -> Void in
                #expect(try code { try store.resume() } == .busy)
                #expect(try code { _ = try store.value(for: "head") } == .unavailable)
            }
            #expect(answer == "")
            try store.resume()
            try store.resume()
            #expect(try store.value(for: "head") == [1])
            #expect(try code { try SQLiteStore(path: folder.store).close() } == .busy)
            #expect(try await python("print(db.execute('select count(*) from entry').fetchall())").contains("locked"))
            try store.commit(.filled { $0.set([2], for: "head") })
            store.close()
            #expect(try code { try store.resume() } == .closed)
            #expect(try SQLiteStore(path: folder.store).value(for: "head") == [2])
        }

        @Test("A store that another process wrote to while it was suspended stays suspended")
        func suspendedStoreIsWritten() throws {
            try FileManager.default.removeItem(atPath: folder.store)
            let store = try SQLiteStore(path: folder.store)
            try store.commit(.filled { $0.set([1], for: "head") })
            try store.suspend()
            let other = try SQLiteStore(path: folder.store)
            #expect(try code { try store.resume() } == .busy)
            other.close()
            try store.resume()
            try store.suspend()
            try SQLiteStore(path: folder.store).commit(.filled { $0.set([2], for: "head") })
            for _ in 0..<2 { #expect(try code { try store.resume() } == .outdated) }
            #expect(try code { try store.commit(.filled { $0.set([3], for: "head") }) } == .unavailable)
            store.close()
            #expect(try SQLiteStore(path: folder.store).value(for: "head") == [2])
        }

        /// Runs a statement on the database in another process.
        /// - Parameter meanwhile: called after the process has printed its first line and before its input ends.
        /// - Returns: the output of the process, without the first line if there is a `meanwhile`.
        private func python(_ statement: String, meanwhile: (() throws -> Void)? = nil) async throws -> String {
            let script = """
                import sqlite3, sys
                db = sqlite3.connect(\(folder.store.debugDescription), timeout=0, isolation_level=None)
                try:
                    \(statement)
                except sqlite3.OperationalError as error:
                    print(error)
                """
            let program = try Program("python3", ["-c", script])
            if let meanwhile {
                #expect(await program.line() == "h")
                try meanwhile()
            }
            try program.closeInput()
            return await program.rest()
        }
    }
#endif
