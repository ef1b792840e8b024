import Foundation
import MeshToolOutput
import MeshWire

/// Sample bodies from a user's files, one body for each file.
struct SampleBodies: Sequence {
    private let bodies: [[UInt8]]

    /// Minimum number of bytes of a body. A dictionary can't save anything in a shorter string.
    static let bodyBytesMin = 6

    init(_ bodies: [[UInt8]]) { self.bodies = bodies }

    /// - Parameter paths: Files and folders. A folder stands for the files in it, ordered by name, without hidden ones.
    /// - Throws: `ToolError`, which names the file.
    init(paths: [String]) throws {
        bodies = try paths.flatMap(Self.files(at:)).map(Self.body(at:))
    }

    var count: Int { bodies.count }

    func makeIterator() -> some IteratorProtocol<[UInt8]> { bodies.makeIterator() }

    private static func files(at path: String) throws -> [String] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw ToolError("there is no file '\(path)'")
        }
        guard isFolder.boolValue else { return [path] }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw ToolError("the folder '\(path)' can't be read; check its permissions")
        }
        return names.filter { !$0.hasPrefix(".") }.sorted().map { (path as NSString).appendingPathComponent($0) }
            .filter { FileManager.default.fileExists(atPath: $0, isDirectory: &isFolder) && !isFolder.boolValue }
    }

    private static func body(at path: String) throws -> [UInt8] {
        // Reads one byte past the limit to detect a larger file, whatever its size.
        let limit = FrameLimits().inflatedBytes
        let handle = FileHandle(forReadingAtPath: path)
        defer { try? handle?.close() }
        guard let handle, let data = try? handle.read(upToCount: limit + 1) ?? Data() else {
            throw ToolError("'\(path)' can't be read; check that it is a file, and its permissions")
        }
        guard data.count <= limit else {
            throw ToolError("'\(path)' exceeds the maximum size of a body (\(limit.grouped) bytes)")
        }
        return Array(data)
    }
}
