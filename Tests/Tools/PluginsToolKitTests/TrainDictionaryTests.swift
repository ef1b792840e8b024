import Foundation
import MeshToolOutput
import MeshWire
import Testing

@testable import PluginsToolKit

@Suite("Training dictionaries")
struct TrainDictionaryTests {
    private static func bodies(_ count: Int) -> SampleBodies {
        SampleBodies(
            (0..<count).map { Array("{\"heartRate\":\(90 + $0 * 7 % 83),\"distance\":\(Double($0) * 1.37)}".utf8) })
    }

    /// Passes a temporary folder with those files, and removes it afterwards.
    private func withFolder<Result>(_ files: [String: String], _ use: (URL) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "samples-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        return try use(folder)
    }

    private func message(_ work: () throws -> Void) -> String {
        do {
            try work()
            return "nothing was thrown"
        } catch {
            #expect(error is ToolError)
            return "\(error)"
        }
    }

    @Test("every fifth sample is held out, and the dictionary shrinks those")
    func trains() throws {
        let trained = try TrainedDictionary(from: Self.bodies(52), size: 512)
        let heldOut = Self.bodies(52).enumerated().filter { $0.offset % 5 == 4 }.map(\.element)
        #expect(trained.row.samples == 42)
        #expect(trained.row.heldOut == 10)
        #expect(trained.row.heldOutBytes == heldOut.reduce(0) { $0 + $1.count })
        #expect(trained.row.id == trained.dictionary.id)
        #expect(trained.row.bytes == trained.dictionary.bytes.count)
        #expect(trained.row.bytes <= 512)
        #expect(trained.row.ratio > 0.85, "bodies of 40 bytes hardly shrink alone")
        #expect(trained.row.ratioWithDictionary < 0.75)
        let training = Self.bodies(52).enumerated().filter { $0.offset % 5 != 4 }.map(\.element)
        #expect(try trained.dictionary == CompressionDictionary.trained(from: training, maximumBytes: 512))
    }

    @Test("unusable samples are an error of one line that says why")
    func unsuitable() {
        #expect(
            message { _ = try TrainedDictionary(from: SampleBodies([]), size: 512) }
                == "there are no samples; name files, each with one body, or a folder of them")
        #expect(
            message { _ = try TrainedDictionary(from: Self.bodies(4), size: 512) }
                == "at least 5 samples are needed, better a hundred; found 4")
        let small = SampleBodies([[UInt8]](repeating: [1, 2, 3, 4, 5], count: 20))
        #expect(
            message { _ = try TrainedDictionary(from: small, size: 512) }
                == "at least 5 samples of 6 bytes or more are needed, better a hundred; found 0")
        let strangers = SampleBodies((0..<20).map { [UInt8](repeating: $0, count: 6) })
        #expect(
            message { _ = try TrainedDictionary(from: strangers, size: 512) }
                == "the samples have nothing in common; use bodies of one kind, each at least a few dozen bytes")
        for size in [63, 32_769, -1] {
            #expect(
                message { _ = try TrainedDictionary(from: Self.bodies(50), size: size) }
                    == "a dictionary can't have \(size) bytes; --size must be from 64 to 32768")
        }
    }

    @Test("a folder stands for its files by name, without hidden ones")
    func folder() throws {
        try withFolder(["b": "second", "a": "first", ".hidden": "no"]) { folder in
            try FileManager.default.createDirectory(
                at: folder.appending(path: "c"), withIntermediateDirectories: false)
            let file = folder.appending(path: "b").path
            let bodies = try SampleBodies(paths: [file, folder.path])
            #expect(bodies.map { String(decoding: $0, as: UTF8.self) } == ["second", "first", "second"])
        }
    }

    @Test("a missing or oversized file is named")
    func unreadable() throws {
        try withFolder([:]) { folder in
            let missing = folder.appending(path: "missing").path
            #expect(message { _ = try SampleBodies(paths: [missing]) } == "there is no file '\(missing)'")
            let large = folder.appending(path: "large").path
            try Data(count: FrameLimits().inflatedBytes + 1).write(to: URL(fileURLWithPath: large))
            #expect(
                message { _ = try SampleBodies(paths: [large]) }
                    == "'\(large)' exceeds the maximum size of a body (4,194,304 bytes)")
        }
    }
}
