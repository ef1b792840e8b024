#if SQLite
    import Foundation
    import MeshBus
    import MeshSQLiteStorage
    import MeshStorage
    import MeshTesting
    import Testing

    @Suite("SQLite store")
    struct SQLiteStoreTests {
        @Test("The store keeps every rule for stores", arguments: [SQLiteStore.Sync.full, .normal])
        func rules(sync: SQLiteStore.Sync) async {
            let factory = StoreFactory { folder, _ in try SQLiteStore(path: folder + "/store", sync: sync) }
            let report = await StoreConformance.examine(factory, as: "storage.sqlite")
            #expect(report.failures == [])
            #expect(report.rows.allSatisfy { $0.outcome == .passed })
        }

        @Test(
            "The plugin's store keeps what it is given in its folder, as durably as it is asked to",
            arguments: [StoreDurability.machine, .process])
        func plugin(durability: StoreDurability) throws {
            let folder = try TemporaryFolder()
            let bus = try PluginBus(plugins: [StoragePlugin(), SQLitePlugin()])
            let contribution = bus.contributions(to: .stores).first { $0.plugin == "storage.sqlite" }
            let store = try #require(contribution).value.open(folder.path, durability)
            #expect(store.durability == durability)
            try store.commit(.filled { $0.set([1], for: "head") })
            store.close()
            #expect(try SQLiteStore(path: folder.file("session.sqlite")).value(for: "head") == [1])
        }

        @Test(
            "The store matches the contract's model after random batches and reopenings", arguments: 1...60)
        func model(seed: UInt64) throws {
            var generator = SplitMix64(seed: seed)
            let folder = try TemporaryFolder()
            var store = try SQLiteStore(path: folder.store, sync: .normal)
            var contents = StoreContents()
            for _ in 1...60 {
                let batch = StoreBatch.random(after: contents, using: &generator)
                let expected = try code { try contents.commit(batch) }
                #expect(try code { try store.commit(batch) } == expected, "seed \(seed)")
                if Int.random(in: 0..<8, using: &generator) == 0 {
                    store.close()
                    store = try SQLiteStore(
                        path: folder.store, sync: .normal,
                        verification: Bool.random(using: &generator) ? .full : .quick)
                }
                let stored = try StoredContents(store)
                try #require(stored == StoredContents(contents), "seed \(seed)")
            }
        }

        @Test("Entries can be read from any position in portions of any size", arguments: 0...12)
        func portions(position: UInt64) throws {
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.store, sync: .normal)
            var contents = StoreContents()
            let batch = StoreBatch.filled { batch in
                for position in UInt64(3)..<10 {
                    batch.append(Array(repeating: 7, count: Int(position)), to: "log", at: position)
                }
            }
            try store.commit(batch)
            try contents.commit(batch)
            for maxBytes in 0...60 {
                let entries = try store.entries(of: "log", from: position, maxBytes: maxBytes)
                #expect(entries == contents.entries(of: "log", from: position, maxBytes: maxBytes))
            }
            #expect(try store.entries(of: "log", from: .max, maxBytes: 1) == [])
        }

        @Test("The largest position can be used, and nothing comes after it")
        func largestPosition() throws {
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.store, sync: .normal)
            try store.commit(.filled { $0.append([1], to: "log", at: StoreLimits.positionMax) })
            let beyond = StoreBatch.filled { $0.append([1], to: "log", at: StoreLimits.positionMax + 1) }
            #expect(try code { try store.commit(beyond) } == .oversized)
            store.close()
            let again = try SQLiteStore(path: folder.store)
            #expect(try again.entries(of: "log", from: 0, maxBytes: 1).map(\.position) == [StoreLimits.positionMax])
        }

        @Test("Many threads may use it at once")
        func threads() async throws {
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.store, sync: .normal)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for thread in 0..<8 {
                    group.addTask {
                        for position in UInt64(0)..<50 {
                            try store.commit(.filled { $0.append([1], to: "\(thread)", at: position) })
                            _ = try store.entries(of: "0", from: 0, maxBytes: 10)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try store.catalog(prefix: "").journals.map(\.positions) == Array(repeating: 0..<50, count: 8))
        }

        @Test("Two paths to one file are one store")
        func links() throws {
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.store)
            try store.commit(.filled { $0.set([1], for: "head") })
            try FileManager.default.createSymbolicLink(
                atPath: folder.file("link"), withDestinationPath: folder.store)
            #expect(try code { _ = try SQLiteStore(path: folder.file("link")) } == .busy)
            store.close()
            #expect(try SQLiteStore(path: folder.file("link")).value(for: "head") == [1])
        }

        @Test("A released object closes its store")
        func release() throws {
            let folder = try TemporaryFolder()
            for value in UInt8(0)..<3 {
                let store = try SQLiteStore(path: folder.store)
                try store.commit(.filled { $0.set([value], for: "head") })
            }
            #expect(try SQLiteStore(path: folder.store).value(for: "head") == [2])
        }

        @Test("Only its user may read the file")
        func permissions() throws {
            let folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.store)
            try store.commit(.filled { $0.set([1], for: "head") })
            for path in [folder.store, folder.store + "-wal"] {
                let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
                #expect(permissions as? NSNumber == 0o600)
            }
        }
    }
#endif
