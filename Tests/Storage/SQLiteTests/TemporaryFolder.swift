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
#endif
