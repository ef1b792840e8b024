import Foundation
import MeshBus
import MeshToolOutput

/// The origin of SessionMesh for a new package.
enum PackageOrigin: Equatable {
    case checkout(path: String)
    case repository(url: String)

    /// - Parameter text: A path, a URL, or nil for the checkout that this tool was built from.
    /// - Throws: `ToolError` if there is no checkout of SessionMesh.
    init(_ text: String?, builtFrom source: String = thisFile) throws(ToolError) {
        if let text, text.contains("://") || text.hasPrefix("git@") {
            self = .repository(url: text)
            return
        }
        let path = URL(fileURLWithPath: text ?? Self.checkout(of: source)).standardizedFileURL.path
        // Packages that use SessionMesh contain its name too, but not this file.
        guard FileManager.default.fileExists(atPath: path + "/Modules/Transports/Contract/TransportLink.swift") else {
            let missing =
                text == nil ? "the checkout that this tool was built from is gone" : "there is no SessionMesh"
            throw ToolError("\(missing) in '\(path)'; name a checkout or its URL with --package")
        }
        self = .checkout(path: path)
    }

    // A constant, because `#filePath` as a default argument would be the caller's file.
    static let thisFile = #filePath

    /// Returns the root of the checkout. This file is three folders below it.
    private static func checkout(of source: String) -> String {
        (0..<4).reduce(URL(fileURLWithPath: source)) { url, _ in url.deletingLastPathComponent() }.path
    }

    /// The line for a manifest's `dependencies`.
    var dependency: String {
        switch self {
        case .checkout(let path):
            ".package(name: \"SessionMesh\", path: \(path.swiftLiteral), traits: [\"CommandLineTools\"])"
        case .repository(let url):
            ".package(url: \(url.swiftLiteral), branch: \"main\", traits: [\"CommandLineTools\"])"
        }
    }

    /// The package name for `.product(name:package:)`.
    var identity: String {
        switch self {
        case .checkout: return "SessionMesh"
        case .repository(let url):
            let last = url.split { $0 == "/" || $0 == ":" }.last.map(String.init) ?? url
            return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
        }
    }
}

extension String {
    /// The text as a Swift literal. Unprintable characters are escaped in Swift's syntax.
    var swiftLiteral: String {
        "\"" + replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").printable() + "\""
    }
}
