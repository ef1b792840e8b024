#if SQLite
    import Foundation
    import MeshResume
    import MeshSQLiteStorage
    import Testing

    @Suite struct SQLiteCursorTests {
        @Test func `K17 a cursor in SQLite is restored at the next launch`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "resume-\(UUID())")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }
            let path = folder.appending(path: "app.sqlite").path(percentEncoded: false)
            let snapshot = SessionSnapshot(sessionId: "s", lastSeq: 41)
            let first = try SQLiteStore(path: path)
            try await SessionResumeStore(first, key: "resume/user").save(snapshot)
            first.close()
            let second = try SQLiteStore(path: path)
            defer { second.close() }
            #expect(try await SessionResumeStore(second, key: "resume/user").load() == snapshot)
            #expect(try await SessionResumeStore(second, key: "resume/other").load() == nil)
        }
    }
#endif
