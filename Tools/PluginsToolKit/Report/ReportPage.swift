import Foundation
import MeshBase
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
}

/// A file that a person has named for a command to write.
struct OutputFile {
    private let path: String
    private let option: String

    /// - Throws: `ToolError` where no file can be made or replaced: an atomic write would put a file in the place of a device.
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
        ToolError("'\(path)' cannot be written; name a file in a folder that is there with \(option)")
    }
}
