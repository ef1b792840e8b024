import Foundation
import MeshBus
import MeshToolOutput

/// One page with the numbers and the pictures of a report, for any browser, without a network.
struct ReportPage {
    private static let place = "{{report}}"

    let html: String

    init(_ report: BenchmarkReport) throws {
        // Within a script element only `<` could end what is data.
        let data = try report.json().printableJSON.replacing("<", with: "\\u003c")
        html = String(decoding: PackageResources.Report_html, as: UTF8.self).replacing(Self.place, with: data)
    }

    /// - Throws: `ToolError`.
    func write(to path: String) throws(ToolError) {
        do {
            try Data(html.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw Self.unwritable(path)
        }
    }

    /// To be asked before minutes of measuring.
    /// - Throws: `ToolError` when a file could not be written there.
    static func requireWritable(_ path: String) throws(ToolError) {
        var isFolder: ObjCBool = false
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        guard !path.isEmpty, !(exists && isFolder.boolValue), FileManager.default.isWritableFile(atPath: folder) else {
            throw unwritable(path)
        }
    }

    private static func unwritable(_ path: String) -> ToolError {
        ToolError("'\(path)' cannot be written; name a file in a folder that is there with --html")
    }
}
