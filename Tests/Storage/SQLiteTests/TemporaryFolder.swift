#if SQLite
    import Foundation

    @testable import MeshSQLiteStorage

    /// A folder that is deleted with the object.
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

        /// The contents of every file in the folder, by name, except an empty log of a store.
        func files() throws -> [String: Data] {
            var files: [String: Data] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                files[name] = try? Data(contentsOf: URL(fileURLWithPath: file(name)))
            }
            return files
        }
    }
#endif
