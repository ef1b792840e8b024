#if SQLite
    import Foundation
    import MeshBase
    import MeshStorage
    import MeshTestSupport
    import Testing

    @testable import MeshSQLiteStorage

    @Suite("SQLite store: snapshots that other processes read")
    struct SnapshotTests {
        private let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        private func snapshot(bytesMax: Int = 16 << 20) throws -> StoredContents {
            try StoredContents(SQLiteStore.snapshot(path: folder.store, bytesMax: bytesMax))
        }

        @Test(
            "A snapshot has what the open store has after each batch, and no file changes",
            arguments: 1...20 as ClosedRange<UInt64>)
        func model(seed: UInt64) throws {
            var generator = SplitMix64(seed: seed)
            var store = try SQLiteStore(path: folder.store, sync: seed % 2 == 0 ? .full : .normal)
            var contents = StoreContents()
            for _ in 1...30 {
                let batch = StoreBatch.random(after: contents, using: &generator)
                guard try code(of: { try contents.commit(batch) }) == nil else { continue }
                try store.commit(batch)
                let files = try folder.files()
                try #require(try snapshot() == StoredContents(contents), "seed \(seed)")
                #expect(try folder.files() == files, "seed \(seed)")
                switch Int.random(in: 0..<6, using: &generator) {
                case 0:
                    try store.suspend()
                    try #require(try snapshot() == StoredContents(contents), "suspended, seed \(seed)")
                    try store.resume()
                case 1:
                    store.close()
                    let files = try folder.files()
                    try #require(try snapshot() == StoredContents(contents), "closed, seed \(seed)")
                    #expect(try folder.files() == files, "seed \(seed)")
                    store = try SQLiteStore(path: folder.store, sync: .normal)
                default: break
                }
            }
        }

        @Test("A snapshot of a killed process's files has what opening them has: cut or damaged logs end alike")
        func killed() throws {
            let store = try SQLiteStore(path: folder.store, sync: .normal)
            var generator = SplitMix64(seed: 12)
            var contents = StoreContents()
            for _ in 1...20 {
                let batch = StoreBatch.random(after: contents, using: &generator)
                guard try code(of: { try contents.commit(batch) }) == nil else { continue }
                try store.commit(batch)
            }
            let file = try Data(contentsOf: URL(fileURLWithPath: folder.store))
            let log = try Data(contentsOf: URL(fileURLWithPath: folder.store + "-wal"))
            store.close()
            var logs: [Data?] = [nil, log, Data(), log + log]
            for _ in 0..<60 {
                logs.append(log.prefix(.random(in: 0...log.count, using: &generator)))
                var flipped = log
                flipped[Int.random(in: 0..<log.count, using: &generator)] ^= 1
                logs.append(flipped)
            }
            for log in logs {
                try file.write(to: URL(fileURLWithPath: folder.store))
                try? FileManager.default.removeItem(atPath: folder.store + "-wal")
                try log?.write(to: URL(fileURLWithPath: folder.store + "-wal"))
                let files = try folder.files()
                var read: StoredContents?
                let refusal = try code { read = try snapshot() }
                #expect(try folder.files() == files)
                var opened: StoredContents?
                let expected = try code {
                    let store = try SQLiteStore(path: folder.store, sync: .normal)
                    defer { store.close() }
                    opened = try StoredContents(store)
                }
                #expect(read == opened && refusal == expected, "a log of \(log?.count ?? -1) bytes")
            }
        }

        @Test("A reader in the writer's own process takes no lock away")
        func locks() async throws {
            let store = try SQLiteStore(path: folder.store)
            for _ in 0..<3 { _ = try snapshot() }
            #expect(try code { try SQLiteStore(path: folder.store).close() } == .busy)
            let script = """
                import sqlite3
                db = sqlite3.connect(\(folder.store.debugDescription), timeout=0)
                try:
                    print(db.execute('select count(*) from entry').fetchall())
                except sqlite3.OperationalError as error:
                    print(error)
                """
            let other = try Program("python3", ["-c", script])
            #expect(await other.rest().contains("locked"))
            try store.commit(.filled { $0.set([1], for: "head") })
            #expect(try snapshot().values == ["head": [1]])
            store.close()
            #expect(try snapshot().values == ["head": [1]])
            try SQLiteStore(path: folder.store).close()
        }

        @Test("A snapshot keeps its content and refuses commits")
        func isConstant() throws {
            let store = try SQLiteStore(path: folder.store)
            try store.commit(.filled { $0.set([1], for: "head") })
            let snapshot = try SQLiteStore.snapshot(path: folder.store)
            try store.commit(.filled { $0.set([2], for: "head") })
            #expect(try snapshot.value(for: "head") == [1])
            #expect(try code { try snapshot.commit(.filled { $0.set([3], for: "head") }) } == .readOnly)
            store.close()
            #expect(try snapshot.value(for: "head") == [1])
            snapshot.close()
            #expect(try code { _ = try snapshot.value(for: "head") } == .closed)
        }

        @Test("Each reason why a file can't be read has its code, and the file stays as it is")
        func refusals() throws {
            #expect(try code { _ = try snapshot() } == .missing)
            #expect(try code { _ = try SQLiteStore.snapshot(path: folder.file("none/store")) } == .missing)
            #expect(try folder.files().isEmpty)
            let store = try SQLiteStore(path: folder.store)
            try store.commit(.filled { $0.set([UInt8](repeating: 1, count: 100_000), for: "head") })
            // While the pages are in the log, and once they are in the file.
            #expect(try code { _ = try snapshot(bytesMax: 50_000) } == .oversized)
            store.close()
            #expect(try code { _ = try snapshot(bytesMax: 50_000) } == .oversized)
            #expect(try code { _ = try snapshot(bytesMax: 0) } == .oversized)

            let url = URL(fileURLWithPath: folder.store)
            let file = try Data(contentsOf: url)
            func expect(_ expected: StorageError.Code, of bytes: Data, _ subject: Comment) throws {
                try bytes.write(to: url)
                let files = try folder.files()
                #expect(try code { _ = try snapshot() } == expected, subject)
                #expect(try folder.files() == files, subject)
            }
            try expect(.foreign, of: Data("hello".utf8), "a text")
            try expect(.damaged, of: file.prefix(50), "half a header")
            try expect(.damaged, of: file.prefix(4096), "one page")
            var other = file
            other[71] ^= 1
            try expect(.foreign, of: other, "another application ID")
            var page = file
            page.replaceSubrange(4096..<8192, with: Data(repeating: 7, count: 4096))
            try expect(.damaged, of: page, "a page of sevens")
            try file.write(to: url)
            #expect(chmod(folder.store, 0o622) == 0)
            #expect(try code { _ = try snapshot() } == .foreign)
            #expect(chmod(folder.store, 0o600) == 0)
            #expect(symlink(folder.store, folder.file("link")) == 0)
            #expect(try SQLiteStore.snapshot(path: folder.file("link")).value(for: "head")?.count == 100_000)
            try Data("log".utf8).write(to: URL(fileURLWithPath: folder.store + "-journal"))
            #expect(try code { _ = try snapshot() } == .damaged)
        }

        @Test("An older copy of a store is refused by its mark")
        func outdated() throws {
            let store = try SQLiteStore(path: folder.store)
            let older = try Data(contentsOf: URL(fileURLWithPath: folder.store))
            try store.commit(.filled { $0.set([1], for: "head") })
            store.close()
            try older.write(to: URL(fileURLWithPath: folder.store))
            #expect(try code { _ = try snapshot() } == .outdated)
        }

        @Test("Bytes that were changed at random give a StorageError or the content, and never end the process")
        func hostile() throws {
            let store = try SQLiteStore(path: folder.store, sync: .normal)
            var generator = SplitMix64(seed: 5)
            for number in 0..<40 {
                try store.commit(
                    .filled {
                        $0.append(.random(using: &generator), to: "log", at: UInt64(number))
                        $0.set(.random(using: &generator), for: "key \(number)")
                    })
            }
            store.close()
            let url = URL(fileURLWithPath: folder.store)
            let file = try Data(contentsOf: url)
            var refused = 0
            for _ in 0..<300 {
                var bytes = file
                // Mostly where the structure is.
                for _ in 0..<3 {
                    let page = Int.random(in: 0..<file.count / 4096, using: &generator) * 4096
                    let offset =
                        page + .random(in: 0..<(Bool.random(using: &generator) ? 100 : 4096), using: &generator)
                    bytes[offset] = .random(in: 0...255, using: &generator)
                }
                try bytes.write(to: url)
                if try code(of: { _ = try snapshot() }) != nil { refused += 1 }
            }
            #expect(refused > 100)
        }

        /// Each commit adds an entry and sets its number under two keys, with enough bytes that the log is merged into the
        /// file and begun again every few hundred commits.
        @Test("A reader beside a fast writer sees whole commits only, and each as late as the last one that it knew of")
        func concurrent() async throws {
            let path = folder.store
            try SQLiteStore(path: path, sync: .normal).close()
            let committed = Locked<UInt64>(0)
            let isDone = Locked(false)
            let reads = Locked(0)
            let writer = Thread {
                defer { isDone.withLock { $0 = true } }
                var generator = SplitMix64(seed: 9)
                var number: UInt64 = 0
                var round = 0
                // Continues on a busy machine, where the reader has had few turns.
                while round < 12 || reads.withLock({ $0 }) < 12 {
                    round += 1
                    guard let store = try? SQLiteStore(path: path, sync: .normal) else { return }
                    for _ in 0..<Int.random(in: 1...250, using: &generator) {
                        number += 1
                        let bytes = withUnsafeBytes(of: number) { Array($0) }
                        let padding = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 20_000)
                        let batch = StoreBatch.filled { batch in
                            batch.set(bytes + padding, for: "first")
                            batch.append(bytes, to: "log", at: number)
                            batch.truncate("log", below: number > 50 ? number - 50 : 0)
                            batch.set(bytes + padding, for: "second")
                        }
                        guard (try? store.commit(batch)) != nil else { return }
                        committed.withLock { $0 = number }
                    }
                    store.close()
                }
            }
            writer.start()
            // Ends the writer if a reading fails.
            defer { reads.withLock { $0 = 12 } }
            var last = UInt64(0)
            while !isDone.withLock({ $0 }) {
                let known = committed.withLock { $0 }
                var read: StoredContents?
                if try code(of: { read = try snapshot() }) == .busy { continue }
                let contents = try #require(read)
                let (first, second) = (contents.values["first"], contents.values["second"])
                try #require(first == second)
                let newest = first.map { $0.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) } } ?? 0
                try #require(newest == contents.journals["log"]?.last?.position ?? 0)
                try #require(newest >= max(known, last), "read \(newest), known \(known)")
                reads.withLock { $0 += 1 }
                last = newest
            }
            #expect(reads.withLock { $0 } >= 12 && committed.withLock { $0 } > 500)
            #expect(try snapshot().journals["log"]?.last?.position == committed.withLock { $0 })
        }
    }
#endif
