#if SQLite
    import Foundation
    import MeshBase
    import MeshSQLiteStorage
    import MeshStorage
    import Testing

    @Suite("SQLite store: damaged files")
    struct DamagedFileTests {
        private let folder: TemporaryFolder
        /// The contents of the undamaged file.
        private let contents: StoredContents
        private let file: Data

        /// Creates a small store that contains an example of everything.
        init() throws {
            folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.store, sync: .normal)
            var contents = StoreContents()
            for position in UInt64(0)..<30 {
                let batch = StoreBatch.filled { batch in
                    batch.append(Array(repeating: 7, count: 60 + Int(position)), to: "log", at: position)
                    batch.append([UInt8(position)], to: "log/2", at: position + 1000)
                    if position % 10 == 9 { batch.set(Array(repeating: 9, count: 2000), for: "key \(position)") }
                    if position == 15 { batch.append(Array(repeating: 8, count: 6000), to: "large", at: 1) }
                    if position == 20 { batch.truncate("log", below: 10) }
                }
                try contents.commit(batch)
                try store.commit(batch)
            }
            store.close()
            self.contents = StoredContents(contents)
            file = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        }

        /// Opens the store and reads all of it.
        /// - Returns: the error's code, or nil if the contents are the original ones.
        private func examine(_ verification: SQLiteStore.Verification = .full) throws -> StorageError.Code? {
            try code {
                let store = try SQLiteStore(path: folder.store, sync: .normal, verification: verification)
                defer { store.close() }
                let stored = try StoredContents(store)
                #expect(stored == contents)
            }
        }

        private func write(_ bytes: Data) throws {
            try bytes.write(to: URL(fileURLWithPath: folder.store))
        }

        @Test("A truncated file is rejected and left unchanged")
        func cuts() throws {
            #expect(try examine() == nil)
            for length in (0..<file.count).reversed() {
                #expect(truncate(folder.store, off_t(length)) == 0)
                let found = try examine()
                #expect(found == .damaged, "cut to \(length) bytes")
                if length % 97 == 0 || length < 200 {
                    #expect(try folder.files() == ["store.sqlite": file.prefix(length)], "cut to \(length) bytes")
                }
            }
        }

        @Test("A longer file is refused", arguments: [1, 4096])
        func longer(count: Int) throws {
            try write(file + Data(count: count))
            #expect(try examine() == .damaged)
        }

        @Test("A flipped bit is rejected or has no effect, and a rejected file is left unchanged", arguments: 0..<8)
        func flips(bit: Int) throws {
            // Every byte of the file's header and of the pages' headers, and a seeded sample of the others.
            var generator = SplitMix64(seed: UInt64(bit))
            var refused = 0
            for offset in file.indices
            where offset < 100 || offset % 4096 < 16 || .random(in: 0..<32, using: &generator) == 0 {
                var flipped = file
                flipped[offset] ^= 1 << UInt8(bit)
                try write(flipped)
                if try examine() != nil {
                    refused += 1
                    #expect(try folder.files()["store.sqlite"] == flipped, "bit \(bit) of byte \(offset)")
                }
            }
            #expect(refused > 100)
        }

        @Test("A flipped bit is also found without full verification, when the damaged part is read")
        func flipsReadLater() throws {
            var generator = SplitMix64(seed: 9)
            var refused = 0
            for _ in 0..<1000 {
                var flipped = file
                flipped[.random(in: file.indices, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                try write(flipped)
                if try examine(.quick) != nil { refused += 1 }
            }
            #expect(refused > 100)
        }

        @Test("Two swapped pages are detected")
        func swappedPages() throws {
            for first in 0..<file.count / 4096 {
                for second in first + 1..<file.count / 4096 {
                    var swapped = file
                    swapped.replaceSubrange(
                        first * 4096..<(first + 1) * 4096, with: file[second * 4096..<(second + 1) * 4096])
                    swapped.replaceSubrange(
                        second * 4096..<(second + 1) * 4096, with: file[first * 4096..<(first + 1) * 4096])
                    guard swapped != file else { continue }
                    try write(swapped)
                    #expect(try examine() != nil, "pages \(first) and \(second)")
                }
            }
        }
    }
#endif
