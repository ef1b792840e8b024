import Foundation
import MeshTestSupport
import MeshToolOutput
import Testing

@testable import PluginsToolKit

@Suite("New packages")
struct NewPackageTests {
    private let origin = PackageOrigin.checkout(path: "/mesh \"house\"")

    /// Returns the error's message. The error must be a `ToolError` of one line.
    private func message(_ work: () throws -> Void) -> String {
        do {
            try work()
            return "nothing was thrown"
        } catch {
            #expect(error is ToolError)
            #expect(!"\(error)".contains("\n"))
            return "\(error)"
        }
    }

    private func withFolder<Result>(_ use: (URL) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "new-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try use(folder)
    }

    // MARK: Names

    @Test(
        "a package's name gives the names of its module, plugin and constant",
        arguments: [
            ("FileDrop", "file-drop", "fileDrop"), ("LAN", "lan", "lan"), ("X", "x", "x"),
            ("HTTPServer2", "http-server2", "httpServer2"), ("Air_Drop", "air-drop", "airDrop"), ("A1B", "a1-b", "a1B"),
            ("MyUDP", "my-udp", "myUdp"),
        ])
    func names(module: String, dashed: String, camel: String) throws {
        let name = try PackageName(module)
        #expect([name.module, name.dashed, name.camel] == [module, dashed, camel])
    }

    @Test("an invalid type name is rejected with a valid suggestion")
    func noNames() {
        let suggestions = [
            "my-radio": "MyRadio", "radio": "Radio", "": "FileDrop", "9": "FileDrop", "Größe": "GrE", "a b": "AB",
            "Radio.Link": "RadioLink", "_X": "X", "../../Up": "Up", "A\"B": "AB",
        ]
        for (name, suggestion) in suggestions {
            #expect(
                message { _ = try PackageName(name) }
                    == "'\(name)' cannot name a Swift type; use ASCII letters and digits and begin with a capital, "
                    + "such as \(suggestion)")
        }
    }

    @Test("our modules' names are rejected, with and without prefix")
    func ours() throws {
        let manifest = try String(contentsOf: Checkout.root.appending(path: "Package.swift"), encoding: .utf8)
        let modules = manifest.matches(of: /Module\(\s*"(\w+)"/).map { String($0.1) }
        #expect(modules.count > 20)
        for module in modules where module.first?.isUppercase == true {
            let bare = module.hasPrefix("Mesh") ? String(module.dropFirst(4)) : module
            for name in [module, bare] {
                #expect(message { _ = try PackageName(name) }.hasPrefix("'\(name)' is, or reads like, a name"))
            }
        }
        #expect(message { _ = try PackageName("Radio", taken: ["Radio"]) }.hasSuffix("choose another"))
    }

    // MARK: The origin of SessionMesh

    @Test("the tool's checkout is found, and its absence is an error")
    func checkout() throws {
        #expect(try PackageOrigin(nil) == .checkout(path: Checkout.root.standardizedFileURL.path))
        #expect(
            try PackageOrigin(Checkout.root.path + "/Docs/..")
                == .checkout(path: Checkout.root.standardizedFileURL.path))
        #expect(
            message { _ = try PackageOrigin(nil, builtFrom: "/gone/Tools/PluginsToolKit/Templates/X.swift") }
                == "the checkout that this tool was built from is gone in '/gone'; name a checkout or its URL with "
                + "--package")
        #expect(
            message { _ = try PackageOrigin("/nowhere") }
                == "there is no SessionMesh in '/nowhere'; name a checkout or its URL with --package")
        // A package other than ours.
        let example = Checkout.root.appending(path: "Tests/ALaCarte").path
        #expect(message { _ = try PackageOrigin(example) }.hasPrefix("there is no SessionMesh in '"))
    }

    @Test("a URL becomes a dependency on its branch, named by the URL's last part")
    func urls() throws {
        let urls = [
            "https://example.org/mesh/SessionMesh.git", "git@example.org:SessionMesh", "file:///a/SessionMesh",
        ]
        for url in urls {
            let origin = try PackageOrigin(url)
            #expect(origin == .repository(url: url))
            #expect(origin.identity == "SessionMesh")
            #expect(origin.dependency.contains("url: \"\(url)\", branch: \"main\""))
        }
        #expect(origin.dependency.contains(#"path: "/mesh \"house\"""#))
    }

    // MARK: Files

    @Test("a transport's package has a link, a plugin, a test and a tool")
    func transport() throws {
        let files = NewPackage.transport(try PackageName("FileDrop"), from: origin).files
        #expect(
            files.map(\.path) == [
                "Package.swift", "Sources/file-drop-tool/main.swift", ".gitignore",
                "Sources/FileDrop/FileDropLink.swift", "Sources/FileDrop/FileDropWire.swift",
                "Sources/FileDrop/FileDropPlugin.swift", "Tests/FileDropTests/ConformanceTests.swift",
            ])
        try check(files, id: "transport.file-drop")
    }

    @Test("a codec's package has a codec, a plugin, a test and a tool")
    func codec() throws {
        let files = NewPackage.codec(try PackageName("Morse"), from: origin).files
        #expect(
            files.map(\.path) == [
                "Package.swift", "Sources/morse-tool/main.swift", ".gitignore", "Sources/Morse/MorseCodec.swift",
                "Sources/Morse/MorsePlugin.swift", "Tests/MorseTests/ConformanceTests.swift",
            ])
        try check(files, id: "codec.morse")
    }

    @Test("a benchmark's package has a state, a plugin, a test and a tool")
    func benchmark() throws {
        let files = NewPackage.benchmark(try PackageName("LongHike"), from: origin).files
        #expect(
            files.map(\.path) == [
                "Package.swift", "Sources/long-hike-tool/main.swift", ".gitignore",
                "Sources/LongHike/LongHikeState.swift", "Sources/LongHike/LongHikePlugin.swift",
                "Tests/LongHikeTests/FitTests.swift",
            ])
        try check(files, id: "benchmark.long-hike")
    }

    private func check(_ files: [NewPackage.File], id: String) throws {
        let text = files.map(\.text).joined()
        #expect(text.contains("id: \"\(id)\""))
        #expect(text.contains("#warning(\""))
        let tool = try #require(files.first { $0.path.hasSuffix("main.swift") }).text
        #expect(tool.split(separator: "\n").count == 3)
        let test = try #require(files.first { $0.path.hasPrefix("Tests/") }).text
        #expect(test.split(separator: "\n").count < 15)
        for file in files {
            #expect(file.text.hasSuffix("\n") && !file.text.hasSuffix("\n\n"))
            // A failed interpolation would leave this.
            #expect(!file.text.contains("\\("))
            for line in file.text.split(separator: "\n") { #expect(line.count <= 120, "\(file.path): \(line)") }
        }
    }

    // MARK: Writing

    @Test("files are written into a new or empty folder, and listed")
    func writes() throws {
        try withFolder { folder in
            let package = NewPackage(files: [
                .init(path: "a/b.txt", text: "one\ntwo\n"), .init(path: "c", text: "three\n"),
            ])
            for target in [folder.appending(path: "new/deep"), folder.appending(path: "empty")] {
                if target.lastPathComponent == "empty" {
                    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: false)
                }
                let rows = try package.write(to: target.path)
                #expect(rows == [.init(path: "a/b.txt", lines: 2), .init(path: "c", lines: 1)])
                #expect(try String(contentsOf: target.appending(path: "a/b.txt"), encoding: .utf8) == "one\ntwo\n")
            }
        }
    }

    @Test("nothing is overwritten: a nonempty folder and a file are rejected")
    func refuses() throws {
        try withFolder { folder in
            let file = folder.appending(path: "file")
            try Data("mine".utf8).write(to: file)
            let package = NewPackage(files: [.init(path: "file", text: "theirs")])
            #expect(
                message { _ = try package.write(to: folder.path) }
                    == "'\(folder.path)' is not empty; name a folder that is, or a new one, with --output")
            #expect(
                message { _ = try package.write(to: file.path) }
                    == "'\(file.path)' is a file; name a folder with --output")
            #expect(message { _ = try package.write(to: file.path + "/below") }.contains("can't be written"))
            #expect(try String(contentsOf: file, encoding: .utf8) == "mine")
        }
    }

    // MARK: The page

    @Test("the page about transports quotes the example as it is")
    func page() throws {
        let page = try String(
            contentsOf: Checkout.root.appending(path: "Docs/Transports/AddingATransport.md"), encoding: .utf8)
        let example = Checkout.root.appending(path: "Docs/Examples/FileDrop")
        let sources = try [
            "Package.swift", "Sources/FileDrop/FileDropLink.swift", "Sources/FileDrop/FileDropPlugin.swift",
            "Sources/file-drop-tool/main.swift",
        ].map { try String(contentsOf: example.appending(path: $0), encoding: .utf8) }
        // The table of rules has its own test.
        let walk = page.prefix(upTo: page.range(of: "\n## 6. Conform")?.lowerBound ?? page.endIndex)
        let quotes = walk.components(separatedBy: "```swift\n").dropFirst().map { quote in
            quote.prefix(upTo: quote.range(of: "```")?.lowerBound ?? quote.endIndex)
        }
        #expect(quotes.count > 4)
        for quote in quotes { #expect(sources.contains { $0.contains(quote) }, "\(quote)") }
    }
}
