import Foundation
import Testing

@testable import MeshFileTransfer

/// The handler of Docs/Guides/Files.md: every file gets its own name, and every transfer completes.
@MainActor @Suite struct ReceivedNameTests {
    private func receive(_ names: [String]) async throws -> [String: Data] {
        let pair = try TestPair(seed: 1)
        let library = pair.root.appendingPathComponent("library")
        try FileManager.default.createDirectory(at: library, withIntermediateDirectories: true)
        try pair.phone.launch()
        try pair.watch.launch().onFileReceived = { file in try file.move(into: library) }
        var transfers: [FileTransfer] = []
        for (number, name) in names.enumerated() {
            let folder = pair.root.appendingPathComponent("\(number)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let url = folder.appendingPathComponent(name)
            try Data("\(number)".utf8).write(to: url)
            transfers.append(try await pair.begin(url))
        }
        await pair.settle { transfers.allSatisfy { !$0.isTransferring } }
        #expect(!transfers.contains { !$0.isCompleted })
        let found = try FileManager.default.contentsOfDirectory(atPath: library.path)
        return try Dictionary(
            uniqueKeysWithValues: found.map { name in
                (name, try Data(contentsOf: library.appendingPathComponent(name)))
            })
    }

    @Test func `Recordings whose names have colons arrive as as many files, and their transfers complete`() async throws
    {
        let names = ["Run 2024-05-04 08:30:00.gpx", "Run 2024-05-04 18:45:00.gpx", "2018-07-30T19:16:29+02:00.gpx"]
        let library = try await receive(names)
        let expected = ["Run 2024-05-04 08_30_00.gpx", "Run 2024-05-04 18_45_00.gpx", "2018-07-30T19_16_29+02_00.gpx"]
        #expect(library == Dictionary(uniqueKeysWithValues: zip(expected, ["0", "1", "2"].map { Data($0.utf8) })))
    }

    @Test func `Files with the same name get distinct names, and none replaces another`() async throws {
        let library = try await receive(["track.gpx", "track.gpx", "track:.gpx", "track?.gpx", "track", "track"])
        let names = ["track.gpx", "track 2.gpx", "track_.gpx", "track_ 2.gpx", "track", "track 2"]
        #expect(library.keys.sorted() == names.sorted())
        #expect(Set(library.values).count == names.count)
    }

    @Test func `A file that cannot be moved stays where it is`() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("names-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        let url = root.appendingPathComponent("a")
        try Data([1]).write(to: url)
        let file = ReceivedFile(fileURL: url, metadata: nil)
        #expect(throws: (any Error).self) { try file.move(into: root.appendingPathComponent("missing")) }
        #expect(try Data(contentsOf: url) == Data([1]))
    }
}
