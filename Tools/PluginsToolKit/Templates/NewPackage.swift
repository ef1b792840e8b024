import Foundation
import MeshToolOutput

/// A starter package for a plugin. It builds and passes the rules without changes.
struct NewPackage {
    struct File {
        let path: String
        let text: String
    }

    /// A file that was written. The path is relative to the package.
    struct Row: Encodable, Equatable {
        let path: String
        let lines: Int
    }

    let files: [File]

    /// Writes all files into a folder that doesn't exist yet or is empty.
    /// - Throws: `ToolError`.
    func write(to folder: String) throws(ToolError) -> [Row] {
        let root = URL(fileURLWithPath: folder)
        try Self.requireEmpty(root, folder)
        var rows: [Row] = []
        for file in files {
            let url = root.appending(path: file.path)
            do {
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: url, options: .atomic)
            } catch {
                throw ToolError("'\(url.path)' can't be written; check the folder and its permissions")
            }
            rows.append(Row(path: file.path, lines: file.text.count { $0 == "\n" }))
        }
        return rows
    }

    private static func requireEmpty(_ root: URL, _ folder: String) throws(ToolError) {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: root.path, isDirectory: &isFolder) else { return }
        guard isFolder.boolValue else { throw ToolError("'\(folder)' is a file; name a folder with --output") }
        guard let contents = try? FileManager.default.contentsOfDirectory(atPath: root.path) else {
            throw ToolError("'\(folder)' can't be read; check its permissions or name another with --output")
        }
        guard contents.isEmpty else {
            throw ToolError("'\(folder)' is not empty; name a folder that is, or a new one, with --output")
        }
    }
}

extension NewPackage {
    /// Returns the files that are the same for every kind: the manifest, the tool and the ignore list.
    /// - Parameter platforms: The manifest's platforms. By default the library's own; some kinds need later versions.
    static func frame(
        _ name: PackageName, from origin: PackageOrigin, uses modules: [String],
        platforms: String = ".macOS(.v14), .iOS(.v17), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)"
    ) -> [File] {
        let package = origin.identity.swiftLiteral
        let products = modules.map { "                .product(name: \"\($0)\", package: \(package)),\n" }
        let manifest = """
            // swift-tools-version: 6.1
            import PackageDescription

            let package = Package(
                name: "\(name.module)",
                platforms: [\(platforms)],
                products: [.library(name: "\(name.module)", targets: ["\(name.module)"])],
                dependencies: [
                    \(origin.dependency)
                ],
                targets: [
                    .target(
                        name: "\(name.module)",
                        dependencies: [
            \(products.joined())            ]),
                    .executableTarget(
                        name: "\(name.dashed)-tool",
                        dependencies: [
                            "\(name.module)", .product(name: "PluginsToolKit", package: \(package)),
                        ]),
                    .testTarget(
                        name: "\(name.module)Tests",
                        dependencies: [
                            "\(name.module)", .product(name: "MeshTesting", package: \(package)),
                        ]),
                ],
                swiftLanguageModes: [.v6]
            )

            """
        let tool = """
            \(imports([name.module, "PluginsToolKit"]))

            await PluginsTool.main { \(name.module)Plugin.withRequirements }

            """
        return [
            File(path: "Package.swift", text: manifest),
            File(path: "Sources/\(name.dashed)-tool/main.swift", text: tool),
            File(path: ".gitignore", text: ".build\nPackage.resolved\n.swiftpm\n.DS_Store\n"),
        ]
    }
    /// Returns sorted import lines.
    static func imports(_ modules: [String]) -> String {
        modules.sorted().map { "import \($0)" }.joined(separator: "\n")
    }
}
