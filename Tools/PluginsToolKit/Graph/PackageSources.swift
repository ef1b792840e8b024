import Foundation
import MeshToolOutput

/// A package on disk: its module graph and the source files to check.
struct PackageSources {
    let graph: ModuleGraph
    let manifest: String
    let files: [SourceFile]

    var violations: [GraphViolation] { graph.violations(manifest: manifest, sources: files) }

    /// Reads the manifest through `swift package dump-package`, and the Swift files of the lowest floors.
    /// - Throws: `ToolError`.
    init(packagePath: String) throws {
        let root = URL(fileURLWithPath: packagePath, isDirectory: true)
        let manifestURL = root.appendingPathComponent("Package.swift")
        guard let manifest = try? String(contentsOf: manifestURL, encoding: .utf8) else {
            throw ToolError(
                "there is no Package.swift in '\(root.path)'; run in the package or name it with --package-path")
        }
        self.manifest = manifest
        let dump = try Self.dumpPackage(at: root)
        do {
            graph = try ModuleGraph(packageDump: dump)
        } catch {
            throw ToolError("can't decode the output of `swift package dump-package`: \(error)")
        }
        files = try graph.modules.filter(\.isOnLowFloor).flatMap { module in
            try Self.swiftFiles(in: module.path, of: root).map { path in
                let url = root.appendingPathComponent(path)
                guard let text = try? String(contentsOf: url, encoding: .utf8) else {
                    throw ToolError("'\(url.path)' can't be read as UTF-8; check its permissions and encoding")
                }
                return SourceFile(module: module.name, path: path, text: text)
            }
        }
    }

    private static func swiftFiles(in path: String, of root: URL) throws -> [String] {
        let folder = root.appendingPathComponent(path).path
        guard let enumerator = FileManager.default.enumerator(atPath: folder) else {
            throw ToolError("'\(folder)' is in Package.swift but can't be read; create it or remove its target")
        }
        return enumerator.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted()
            .map { path + "/" + $0 }
    }

    private static func dumpPackage(at root: URL) throws -> [UInt8] {
        // `swift run` holds the lock of the package's scratch folder while this tool runs.
        let scratch = FileManager.default.temporaryDirectory
            .appendingPathComponent("plugins-tool-\(UUID().uuidString)", isDirectory: true)
        defer { try? FileManager.default.removeItem(at: scratch) }

        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "swift", "package", "--package-path", root.path, "--scratch-path", scratch.path, "dump-package",
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw ToolError("can't start `swift package dump-package` (\(error)); is swift in PATH?")
        }
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ToolError("`swift package dump-package` failed in '\(root.path)'; fix the manifest first")
        }
        return Array(bytes)
    }
}

/// A module in the output of `graph`.
struct GraphRow: Encodable {
    let floor: Int?
    let module: String
    let path: String
    /// Declared dependencies on modules of this package.
    let uses: [String]
    /// Declared dependencies on products of other packages.
    let packages: [String]
}

extension ModuleGraph {
    /// All modules except test targets, lowest floor first.
    var rows: [GraphRow] {
        modules.filter { $0.kind != .tests }
            .map { GraphRow(floor: $0.floor, module: $0.name, path: $0.path, uses: $0.uses, packages: $0.products) }
            .sorted { ($0.floor ?? .max, $0.module) < ($1.floor ?? .max, $1.module) }
    }
}
