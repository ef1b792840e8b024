#if SQLite
    import Foundation
    import MeshSQLiteStorage
    import MeshStorage
    import MeshTestSupport
    import Testing

    @Suite("SQLite store: no room")
    struct FullDiskTests {
        private let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        /// Commits until the disk is full.
        /// - Returns: the position that was refused.
        private func fill(_ store: SQLiteStore) throws -> UInt64 {
            for position in UInt64(0)..<10_000 {
                let batch = StoreBatch.filled { batch in
                    batch.append(
                        Array(repeating: UInt8(truncatingIfNeeded: position), count: 700), to: "log", at: position)
                    batch.set([UInt8(truncatingIfNeeded: position)], for: "head")
                }
                guard let code = try code(of: { try store.commit(batch) }) else { continue }
                #expect(code == .full)
                return position
            }
            Issue.record("space is unlimited")
            return 0
        }

        private func requireHolds(_ count: UInt64, _ store: SQLiteStore) throws {
            #expect(try store.catalog(prefix: "").journals.map(\.positions) == [0..<count])
            #expect(try store.value(for: "head") == [UInt8(truncatingIfNeeded: count - 1)])
            let entries = try store.entries(of: "log", from: 0, maxBytes: .max)
            #expect(entries.map(\.position) == Array(0..<count))
            #expect(
                entries.allSatisfy { $0.bytes == Array(repeating: UInt8(truncatingIfNeeded: $0.position), count: 700) })
        }

        @Test("A batch beyond the store's limit is undone, and the store continues once there is space")
        func ownLimit() throws {
            var store = try SQLiteStore(path: folder.store, sync: .normal, bytesMax: 200_000)
            let count = try fill(store)
            #expect(count > 100)
            try requireHolds(count, store)
            store.close()
            store = try SQLiteStore(path: folder.store, sync: .normal, bytesMax: 200_000)
            try requireHolds(count, store)
            try store.commit(.filled { $0.truncate("log", below: count - 1) })
            try store.commit(.filled { $0.append([1], to: "log", at: count) })
            #expect(try store.catalog(prefix: "").journals.map(\.positions) == [count - 1..<count + 1])
            let size = try FileManager.default.attributesOfItem(atPath: folder.store)[.size] as? Int
            #expect(size ?? .max <= 200_000)
        }

        #if os(Linux)
            @Test(
                "A batch on a full disk is undone, and the store continues once there is space",
                .enabled("needs root, to mount a file system of a few pages") { try await canMount() })
            func disk() async throws {
                let mount = try await Self.mount(at: folder)
                try #require(mount.status == 0, "\(mount.output)")
                defer { umount(folder.path) }
                let ballast = URL(fileURLWithPath: folder.file("ballast"))
                try Data(count: 100_000).write(to: ballast)
                var store = try SQLiteStore(path: folder.store)
                var count = try fill(store)
                try requireHolds(count, store)
                try FileManager.default.removeItem(at: ballast)
                try store.commit(
                    .filled { batch in
                        batch.append(
                            Array(repeating: UInt8(truncatingIfNeeded: count), count: 700), to: "log", at: count)
                        batch.set([UInt8(truncatingIfNeeded: count)], for: "head")
                    })
                count += 1
                try requireHolds(count, store)
                store.close()
                store = try SQLiteStore(path: folder.store)
                try requireHolds(count, store)
                store.close()

                // It also can't create another store, and nothing is left of the attempt.
                let room = FileManager.default.createFile(atPath: ballast.path, contents: nil)
                #expect(room)
                let handle = try FileHandle(forWritingTo: ballast)
                while (try? handle.write(contentsOf: Data(count: 4096))) != nil {}
                try handle.close()
                let before = try folder.files().keys.sorted()
                #expect(try code { try SQLiteStore(path: folder.file("other")).close() } == .full)
                #expect(try folder.files().keys.sorted() == before)
            }

            /// Mounts a small disk, because /dev/full can't hold a file.
            private static func mount(at folder: TemporaryFolder) async throws -> (status: Int32, output: String) {
                try await Program.run("mount", ["-t", "tmpfs", "-o", "size=400k", "tmpfs", folder.path])
            }

            private static func canMount() async throws -> Bool {
                let folder = try TemporaryFolder()
                guard try await mount(at: folder).status == 0 else { return false }
                return umount(folder.path) == 0
            }
        #endif
    }
#endif
