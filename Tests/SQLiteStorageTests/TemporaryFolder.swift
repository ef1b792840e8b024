#if SQLite
    import Foundation

    @testable import MeshSQLiteStorage

    /// A folder that is gone with the object.
    final class TemporaryFolder {
        let path: String

        init() throws {
            let url = FileManager.default.temporaryDirectory.appendingPathComponent("sqlite-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            path = url.path
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        var store: String { file("store.sqlite") }

        func file(_ name: String) -> String { path + "/" + name }

        /// Of every file in it, by name; a store's log that is empty does not count.
        func files() throws -> [String: Data] {
            var files: [String: Data] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                files[name] = try? Data(contentsOf: URL(fileURLWithPath: file(name)))
            }
            return files
        }
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    struct SeededGenerator: RandomNumberGenerator {
        private var state: UInt64

        init(seed: UInt64) { state = seed }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }
#endif
