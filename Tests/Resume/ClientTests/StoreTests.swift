import Foundation
import MeshBase
import MeshStorage
import Testing

@testable import MeshResume

/// Requirements on every store of a cursor.
@Suite struct StoreTests {
    private static let first = SessionSnapshot(sessionId: "first \"user\" ✓", lastSeq: .max)
    private static let second = SessionSnapshot(sessionId: "second", lastSeq: 0)

    /// Saves nothing, a session, another, and nothing again, and checks that each is loaded as saved.
    private func complaint(_ store: any ResumeStore) async throws -> String? {
        for snapshot in [nil, Self.first, Self.second, Self.first, nil, nil] {
            try await store.save(snapshot)
            let loaded = try await store.load()
            if loaded != snapshot { return "\(loaded as Any) instead of \(snapshot as Any)" }
        }
        return nil
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "resume-\(UUID())")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path(percentEncoded: false))
    }

    @Test func `K17 every store returns the saved session, never a mixture`() async throws {
        /// A store that fails to reset the sequence to 0, as storage with partial updates may.
        actor Mixing: ResumeStore {
            private var snapshot: SessionSnapshot?

            func load() -> SessionSnapshot? { snapshot }

            func save(_ next: SessionSnapshot?) {
                snapshot = next.map {
                    SessionSnapshot(sessionId: $0.sessionId, lastSeq: max($0.lastSeq, snapshot?.lastSeq ?? 0))
                }
            }
        }
        #expect(try await complaint(InMemoryResumeStore()) == nil)
        #expect(try await complaint(SessionStorageAdapter(InMemorySessionStorage())) == nil)
        #expect(try await complaint(SessionResumeStore(MemoryStore())) == nil)
        try await withFolder { folder in
            let file = try FileResumeStore(path: folder + "/cursor")
            #expect(try await complaint(file) == nil)
        }
        #expect(try await complaint(Mixing()) != nil)
    }

    @Test func `K17 a file is private to its user, and its folder holds nothing else`() async throws {
        try await withFolder { folder in
            let store = try FileResumeStore(path: folder + "/cursor")
            try await store.save(Self.first)
            try await store.save(Self.second)
            #expect(FileAccess(path: store.path)?.mode == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["cursor"])
        }
    }

    @Test func `K17 a crash's leftovers next to the file change nothing`() async throws {
        try await withFolder { folder in
            let store = try FileResumeStore(path: folder + "/cursor")
            try await store.save(Self.first)
            let torn = try Self.second.stored().dropLast(7)
            try Data(torn).write(to: URL(filePath: store.path + ".new-torn"))
            #expect(try await store.load() == Self.first)
            // The contents that a store leaves if it writes in place.
            try Data(torn).write(to: URL(filePath: store.path))
            await #expect { try await store.load() } throws: { ($0 as? ResumeError)?.code == .damaged }
            try await store.save(Self.second)
            #expect(try await store.load() == Self.second)
        }
    }

    @Test func `A file that others may read, a link and a missing folder are refused`() async throws {
        try await withFolder { folder in
            let store = try FileResumeStore(path: folder + "/cursor")
            try await store.save(Self.first)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: store.path)
            await #expect { try await store.load() } throws: { ($0 as? ResumeError)?.code == .foreign }
            let link = try FileResumeStore(path: folder + "/link")
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: store.path)
            await #expect(throws: ResumeError.self) { try await link.load() }
            let nowhere = try FileResumeStore(path: folder + "/none/cursor")
            await #expect(throws: ResumeError.self) { try await nowhere.save(Self.first) }
        }
    }

    @Test func `A closed store throws`() async throws {
        let below = MemoryStore()
        let store = SessionResumeStore(below)
        below.close()
        await #expect { try await store.load() } throws: {
            (($0 as? ResumeError)?.cause as? StorageError)?.code == .closed
        }
    }
}
