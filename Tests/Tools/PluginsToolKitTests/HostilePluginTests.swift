#if CommandLineTools && (os(macOS) || os(Linux)) && compiler(>=6.2)
    import ArgumentParser
    import Foundation
    import MeshBenchmarks
    import MeshBus
    import MeshToolOutput
    import Testing

    @testable import PluginsToolKit

    /// A plugin whose texts would clear the screen, and contain a line that looks like another plugin's.
    private struct HostilePlugin: Plugin {
        static let text = "\u{1B}[2J\u{1B}]0;x\u{7}\r\u{9B}1A\u{8}\u{202E}\nfake  Module  1.0.0\u{2028}"

        var descriptor: PluginDescriptor {
            PluginDescriptor(
                id: PluginID(Self.text), kind: PluginKind(rawValue: Self.text), module: Self.text, version: Self.text,
                summary: Self.text, capabilities: [Self.text],
                limits: [PayloadLimit(id: Self.text, bytes: 1, summary: Self.text, source: Self.text)])
        }

        func contribute(to registry: inout ExtensionRegistry) {
            let benchmark = BenchmarkCase(id: Self.text, summary: Self.text) { _ in
                [[Self.text: .text(Self.text), "fits": .flags([Self.text: true])]]
            }
            registry.add(benchmark, to: .benchmarks)
        }
    }

    @Suite("Hostile plugins")
    struct HostilePluginTests {
        private static func bus() throws -> PluginBus { try PluginBus(plugins: [HostilePlugin()]) }

        /// Checks a terminal's output, and its number of lines.
        private func expectPrintable(_ result: ExitTest.Result?, lines: Int? = nil) throws {
            let output = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
            #expect(output.contains("fake  Module  1.0.0"))
            #expect(output.unicodeScalars.allSatisfy { $0.isPrintable || $0 == "\n" })
            let found = output.split(separator: "\n")
            #expect(!found.contains { $0.hasPrefix("fake") })
            if let lines { #expect(found.count == lines) }
        }

        @Test("a plugin's texts can't move the cursor, and a row is a line")
        func tables() async throws {
            let list = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                try ListCommand.parse([]).run(on: Self.bus())
            }
            try expectPrintable(list, lines: 3)
            let describe = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                try DescribeCommand.parse([HostilePlugin.text]).run(on: Self.bus())
            }
            try expectPrintable(describe, lines: 10)
            let limits = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                try LimitsCommand.parse([]).run(on: Self.bus())
            }
            try expectPrintable(limits, lines: 3)
            let bench = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                try await BenchCommand.parse([]).run(on: Self.bus())
            }
            try expectPrintable(bench, lines: 8)
        }

        @Test("in JSON the texts are unchanged")
        func json() async throws {
            let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                try ListCommand.parse(["--json"]).run(on: Self.bus())
            }
            try expectPrintable(result)
            struct Rows: Decodable { let rows: [PluginDescriptor] }
            let read = try JSONDecoder().decode(Rows.self, from: Data(try #require(result).standardOutputContent))
            #expect(read.rows == [HostilePlugin().descriptor])
        }

        @Test("an error that names a hostile plugin is a line")
        func errors() throws {
            #expect(!ToolError(HostilePlugin.text).description.contains { $0.isNewline })
            #expect(ToolError(HostilePlugin.text).description.unicodeScalars.allSatisfy { $0.isPrintable })
        }
    }
#endif
