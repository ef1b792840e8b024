#if SQLite
    import Foundation
    import MeshSQLiteStorage
    import MeshStorage
    import Testing

    @Suite("SQLite store: damaged files")
    struct DamagedFileTests {
        private let folder: TemporaryFolder
        /// What the file holds.
        private let contents: StoredContents
        private let file: Data

        /// Makes a small store with something of everything in it.
        init() throws {
            folder = try TemporaryFolder()
            let store = try SQLiteStore(path: folder.store, sync: .normal)
            var generator = SeededGenerator(seed: 4)
            var contents = StoreContents()
            while contents.catalog(prefix: "").journals.count < 3 || contents.catalog(prefix: "").keys.count < 3 {
                let batch = StoreBatch.random(after: contents, using: &generator)
                if try code(of: { try contents.commit(batch) }) == nil { try store.commit(batch) }
            }
            store.close()
            self.contents = StoredContents(contents)
            file = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        }

        /// Opens the store and reads all of it.
        /// - Returns: nil when it is what was written.
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

        @Test("A file that is cut at any length is refused and stays as it is")
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

        @Test("A flipped bit anywhere is refused or harmless, and a refused file stays as it is", arguments: 0..<8)
        func flips(bit: Int) throws {
            // Every byte of the header and of the pages' headers; of the rest, a seeded part.
            var generator = SeededGenerator(seed: UInt64(bit))
            var refused = 0
            for offset in file.indices where offset % 4096 < 100 || .random(in: 0..<16, using: &generator) == 0 {
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

        @Test("A flipped bit is found without the full verification too, when what it damages is read")
        func flipsReadLater() throws {
            var generator = SeededGenerator(seed: 9)
            var refused = 0
            for _ in 0..<1000 {
                var flipped = file
                flipped[.random(in: file.indices, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                try write(flipped)
                if try examine(.quick) != nil { refused += 1 }
            }
            #expect(refused > 100)
        }

        @Test("Two pages that have changed places are found")
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
