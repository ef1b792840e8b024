import Foundation
import MeshBenchmarks
import MeshBus
import MeshToolOutput
import Testing

@testable import PluginsToolKit

@Suite("Reports of measurements")
struct BenchmarkReportTests {
    private let bus: PluginBus

    init() throws { bus = try PluginBus(plugins: [StatePlugin()]) }

    private func row(_ codec: String, bytes: Int, nanoseconds: Double, capacity: Int = 0) -> BenchmarkRow {
        [
            "benchmark": .text("codecs"), "payload": .text("state"), "codec": .text(codec), "bytes": .integer(bytes),
            "encodeNanoseconds": .number(nanoseconds), "fits": .flags(["context": bytes <= 262_144]),
            "capacity": .integers(capacity == 0 ? [:] : [StatePlugin.limit.id: capacity]),
        ]
    }

    private func report(_ runs: [[BenchmarkRow]]) throws -> BenchmarkReport {
        try BenchmarkReport(runs: runs, bus: bus, limit: StatePlugin.limit)
    }

    /// Returns a report as read back from its JSON.
    private func recorded(_ runs: [[BenchmarkRow]]) throws -> RecordedReport {
        try JSONDecoder().decode(RecordedReport.self, from: Data(report(runs).json().utf8))
    }

    // MARK: Runs

    @Test("a report of several runs has the median and every run")
    func medians() throws {
        let report = try report([3, 1, 2].map { [row("json", bytes: 70, nanoseconds: $0)] })
        #expect(report.rows.map { $0["encodeNanoseconds"] } == [.number(2)])
        #expect(report.rows[0]["capacity"] == .integers([:]))
        #expect(report.runs?.map { $0[0]["encodeNanoseconds"] } == [.number(3), .number(1), .number(2)])
        #expect(report.runs?[0][0].fields.map(\.name) == ["bytes", "encodeNanoseconds"])
        #expect(report.runCount == 3)
        #expect(report.payloads == [.init(id: "state", samples: 100)])
        #expect(try self.report([[row("json", bytes: 70, nanoseconds: 3)]]).runs == nil)
    }

    @Test("runs with different rows can't form a report")
    func otherRows() {
        #expect(throws: ToolError.self) {
            try report([[row("json", bytes: 1, nanoseconds: 1)], [row("plist", bytes: 1, nanoseconds: 1)]])
        }
    }

    // MARK: The page

    @Test("the page holds the numbers as data, whatever names plugins have")
    func page() throws {
        let hostile = "</script><script>alert('&')//<!--\u{2028}\"\\"
        let report = try report([[row(hostile, bytes: 7, nanoseconds: 1)]])
        let html = try ReportPage(report).html
        let start = try #require(html.range(of: "<script type=\"application/json\" id=\"report\">"))
        let end = try #require(html.range(of: "</script>", range: start.upperBound..<html.endIndex))
        let data = String(html[start.upperBound..<end.lowerBound])
        let read = try JSONDecoder().decode(RecordedReport.self, from: Data(data.utf8))
        #expect(read.rows.first?.figures["bytes"] == 7)
        // The template's own two scripts, and no third.
        #expect(html.components(separatedBy: "<script").count == 3)
        #expect(!html.contains("alert('&')//<!--"))
        #expect(!html.contains("{{report}}"))
        // The page loads nothing: its only address is a name.
        #expect(!html.replacing("http://www.w3.org/2000/svg", with: "").contains("://"))
    }

    @Test("a report states the machine, the time and the version")
    func setting() throws {
        struct Read: Decodable {
            struct Setting: Decodable {
                let date: Date, version: String, build: String, processor: String, system: String
                let cores: Int, memoryBytes: Int
            }
            let setting: Setting
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let json = try report([[row("json", bytes: 1, nanoseconds: 1)]]).json()
        let setting = try decoder.decode(Read.self, from: Data(json.utf8)).setting
        #expect(abs(setting.date.timeIntervalSinceNow) < 600)
        #expect(setting.version == PluginsTool.version)
        #expect(["debug", "release"].contains(setting.build))
        #expect(!setting.processor.isEmpty && !setting.system.isEmpty)
        #expect(setting.cores > 0 && setting.memoryBytes > 0)
    }

    @Test("a device, a folder and a path in a missing folder can't be written to")
    func outputFiles() throws {
        for path in ["", "/", "/dev/", "/dev/null", "/dev/null/", "/nowhere/x"] {
            #expect {
                try OutputFile(path, option: "--html")
            } throws: { "\($0)".hasSuffix("can't be written; name a file in an existing folder with --html") }
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "output-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        for text in ["one", "two"] {
            try OutputFile(file.path, option: "--html").write(Data(text.utf8))
            #expect(try String(contentsOf: file, encoding: .utf8) == text)
        }
    }

    // MARK: Comparing

    @Test("a value has changed if no run of one report is within the runs of the other")
    func moved() throws {
        func runs(_ times: [Double], bytes: Int = 70) -> [[BenchmarkRow]] {
            times.map { [row("json", bytes: bytes, nanoseconds: $0)] }
        }
        let before = try recorded(runs([100, 104, 102]))
        func verdicts(_ after: [[BenchmarkRow]]) throws -> [String: BenchmarkComparison.Verdict] {
            let comparison = BenchmarkComparison(before, try recorded(after))
            return Dictionary(uniqueKeysWithValues: comparison.changes.map { ($0.figure, $0.verdict) })
        }
        #expect(try verdicts(runs([100, 104, 102])) == [:])
        #expect(try verdicts(runs([50, 52, 51])) == ["encodeNanoseconds": .better])
        #expect(try verdicts(runs([105, 106, 107])) == ["encodeNanoseconds": .worse])
        // One run is within the others' range, so the difference may be noise.
        #expect(try verdicts(runs([104, 200, 300])) == ["encodeNanoseconds": .noise])
        #expect(try verdicts(runs([100, 104, 102], bytes: 71)) == ["bytes": .worse])
    }

    @Test("a comparison has the spread of the runs and the change of the median")
    func noise() throws {
        func report(_ times: [Double]) throws -> RecordedReport {
            try recorded(times.map { [row("json", bytes: 1, nanoseconds: $0)] })
        }
        let change = try #require(
            BenchmarkComparison(report([100, 110, 90]), report([200, 250, 200])).changes.first)
        #expect(change.row == "codecs: json, state")
        #expect(change.changePercent == 100)
        #expect(change.noisePercent == 25)
    }

    @Test("without repeated runs nothing is noise, and only values that can't vary count as changed")
    func single() throws {
        let before = try recorded([[row("json", bytes: 300_000, nanoseconds: 9, capacity: 5)]])
        let after = try recorded([
            [row("json", bytes: 200_000, nanoseconds: 7, capacity: 4), row("plist", bytes: 1, nanoseconds: 1)]
        ])
        let comparison = BenchmarkComparison(before, after)
        let verdicts = comparison.changes.map { "\($0.figure) \($0.verdict)" }
        #expect(
            verdicts == [
                "bytes unknown", "capacity.\(StatePlugin.limit.id) worse", "encodeNanoseconds unknown",
                "fits.context better",
            ])
        #expect(comparison.onlyAfter == ["codecs: plist, state"])
        #expect(comparison.onlyBefore.isEmpty)
    }

    @Test("a report on one line and one of many lines, as before, read alike")
    func forms() throws {
        let line = try report([[row("json", bytes: 70, nanoseconds: 1)]]).json()
        #expect(!line.contains("\n"))
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
        let lines = try JSONSerialization.data(withJSONObject: object, options: [.prettyPrinted, .sortedKeys])
        #expect(lines.contains(UInt8(ascii: "\n")))
        let file = FileManager.default.temporaryDirectory.appending(path: "report-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        var reports: [RecordedReport] = []
        for data in [Data(line.utf8), Data((line + "\n").utf8), lines] {
            try data.write(to: file)
            reports.append(try RecordedReport(path: file.path))
        }
        #expect(reports == [reports[0], reports[0], reports[0]])
        #expect(reports[0].rows[0].figures["bytes"] == 70)
    }

    @Test("an invalid report is an error of one line that says how to make one")
    func noReport() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "report-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        for text in ["", "{", "[]", #"{"rows":[{"a":[1]}]}"#, #"{"rows":[{"a":1}],"runs":[[]]}"#] {
            try Data(text.utf8).write(to: file)
            #expect {
                try RecordedReport(path: file.path)
            } throws: { "\($0)".hasSuffix("isn't a report; make one with `bench --json > FILE`") }
        }
        #expect {
            try RecordedReport(path: file.path + "/nowhere")
        } throws: { "\($0)".hasSuffix("can't be read; name a file that `bench --json` has written") }
    }

    // MARK: Does it fit?

    @Test("one sentence says whether a state fits")
    func answers() throws {
        func sentences(_ forms: [(String, Int)]) throws -> [String] {
            try report([forms.map { row($0.0, bytes: $0.1, nanoseconds: 1) }]).answers.map(\.sentence)
        }
        #expect(
            try sentences([("json", 300_000), ("compact", 71_001), ("compact+zlib", 40_000), ("plist", 262_145)])
                == ["state fits wcsession.applicationContext as compact, 72 of 262 KB; not as json or plist."])
        #expect(
            try sentences([("json", 262_144), ("compact", 138), ("compact+interned", 9)])
                == ["state fits wcsession.applicationContext as compact, 0.2 of 262 KB; and in every other form."])
        #expect(
            try sentences([("json", 900_000), ("compact", 262_145), ("compact+interned", 9)])
                == ["state does not fit wcsession.applicationContext: as compact, the smallest, it is 263 of 262 KB."])
        #expect(
            try sentences([("json", 900_000), ("compact", 300_000), ("json+zlib", 9_000)])
                == ["state fits wcsession.applicationContext as json+zlib, 9.0 of 262 KB; not as json or compact."])
        #expect(
            try report([[row("compact", bytes: 5_000, nanoseconds: 1, capacity: 1_234)]]).answers.map(\.sentence)
                == [
                    "state fits wcsession.applicationContext as compact, 5.0 of 262 KB; and in every other form; "
                        + "there is room for 1,234 samples."
                ])
    }

    @Test("an unknown limit is an error of one line with the nearest names")
    func limits() throws {
        #expect(try bus.limit(named: nil) == StatePlugin.limit)
        #expect {
            try bus.limit(named: "wcsession")
        } throws: {
            "\($0)"
                == "there is no limit 'wcsession'; did you mean wcsession.applicationContext? `limits` lists them"
        }
    }
}

private struct StatePlugin: Plugin {
    static let limit = PayloadLimit.wcSessionApplicationContext

    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "benchmark.state", kind: "benchmark", module: "State", version: "1.0.0", summary: "A state",
            limits: [Self.limit])
    }

    func contribute(to registry: inout ExtensionRegistry) {
        let samples = BenchmarkPayload.Samples(count: 100) { [Int](repeating: 7, count: $0) }
        registry.add(BenchmarkPayload(id: "state", value: [1], samples: samples), to: .benchmarkPayloads)
    }
}
