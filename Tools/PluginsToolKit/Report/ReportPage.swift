import Foundation
import MeshBase
import MeshToolOutput

/// A page with the numbers and charts of a report. Works in any browser, without a network.
struct ReportPage {
    private static let place = "{{report}}"

    let html: String

    init(_ report: BenchmarkReport) throws {
        // Only `<` could end the data within a script element.
        let data = try report.json().printableJSON.replacing("<", with: "\\u003c")
        html = String(decoding: PackageResources.Report_html, as: UTF8.self).replacing(Self.place, with: data)
    }
}

/// A file that the user has named for a command's output.
struct OutputFile {
    private let path: String
    private let option: String

    /// - Throws: `ToolError` if no file can be created or replaced there. An atomic write would replace a device with a file.
    init(_ path: String, option: String) throws(ToolError) {
        self.path = path
        self.option = option
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let type = (try? FileManager.default.attributesOfItem(atPath: url.path))?[.type] as? FileAttributeType
        guard !path.isEmpty, !path.hasSuffix("/"), type == nil || type == .typeRegular,
            FileManager.default.isWritableFile(atPath: url.deletingLastPathComponent().path)
        else { throw unwritable }
    }

    /// - Throws: `ToolError`.
    func write(_ data: Data) throws(ToolError) {
        do {
            try data.write(to: URL(fileURLWithPath: path).resolvingSymlinksInPath(), options: .atomic)
        } catch {
            throw unwritable
        }
    }

    private var unwritable: ToolError {
        ToolError("'\(path)' can't be written; name a file in an existing folder with \(option)")
    }
}
