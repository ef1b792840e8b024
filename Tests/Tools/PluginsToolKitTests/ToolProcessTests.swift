#if CommandLineTools
    import Foundation
    import MeshBase
    import MeshTestSupport
    import Testing

    /// The tool as users and scripts run it, with outputs that fail.
    @Suite("The tool as a process")
    struct ToolProcessTests {
        /// The tool's path, next to the tests.
        private static let path: String = {
            let tests = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
            let folder = tests?.deletingLastPathComponent() ?? Bundle.main.bundleURL
            return folder.appending(path: "plugins-tool").path
        }()

        /// - Parameter script: A shell script in which `"$@"` runs the tool and `$0` is a temporary folder.
        /// - Returns: The text of both outputs, and the tool's exit status.
        private func run(_ script: String, _ arguments: [String]) async throws -> (output: String, status: Int32) {
            let folder = FileManager.default.temporaryDirectory.appending(path: "tool-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (status, output) = try await Program.run("sh", ["-c", script, folder.path, Self.path] + arguments)
            return (output, status)
        }

        private static let commands: [[String]] = [
            ["list"], ["list", "--json"], ["describe", "transport.pipe"], ["limits"], ["verify", "codec.json"],
            ["bench", "frames"], ["simulate", "--seed", "1"],
            ["simulate", "delivery", "--seed", "1", "--envelopes", "9"],
            ["--help"], ["simulate", "--help"], ["simulate", "worlds", "--help"],
        ]

        @Test("a reader that exits ends the tool quietly, with a status for it", arguments: commands)
        func readerGone(arguments: [String]) async throws {
            // The only reader is gone before the tool starts.
            let pipe = #"mkfifo "$0/pipe"; true <"$0/pipe" & exec 3>"$0/pipe"; wait; "$@" >&3"#
            // A shell or its parent may have set the signal to be ignored.
            for script in [pipe, "trap '' PIPE; \(pipe)"] {
                let (output, status) = try await run(script, arguments)
                #expect(output == "")
                #expect(status == 141)
            }
        }

        #if UDP
            @Test("the cost of sealing has a row for every size")
            func sealing() async throws {
                struct Report: Decodable {
                    struct Row: Decodable {
                        let bytes: Int
                        let sealNanoseconds: Double
                    }

                    let rows: [Row]
                }
                let (output, status) = try await run(#""$@" 2>/dev/null"#, ["bench", "sealing", "--json"])
                #expect(status == 0)
                let rows = try JSONDecoder().decode(Report.self, from: Data(output.utf8)).rows
                #expect(rows.map(\.bytes) == [0, 64, 256, 1200])
                #expect(rows.allSatisfy { $0.sealNanoseconds > 0 })
            }
        #endif

        /// Commands whose tables are the same at each run.
        private static let tables: [[String]] = [
            ["list"], ["limits"], ["describe", "transport.pipe"], ["describe", "core.base"], ["verify", "codec.json"],
            ["simulate", "--seeds=2"], ["simulate", "sessions", "--seeds=2"], ["simulate", "watch", "--seeds=2"],
        ]
        /// Commands whose times differ at each run.
        private static let timings: [[String]] = [
            ["bench", "frames"], ["bench", "codecs", "--payload", "event"], ["new", "codec", "Morse"],
        ]

        private func check(_ output: String, width: Int) {
            // A table has a line of dashes, and ends with an empty line.
            for block in output.components(separatedBy: "\n\n") {
                let lines = block.split(separator: "\n")
                guard lines.contains(where: { $0.allSatisfy { $0 == "-" || $0 == " " } }) else { continue }
                for line in lines { #expect(line.count <= width, "\(width) columns: \(line)") }
            }
        }

        @Test("every table fits the terminal, and no number is cut", arguments: tables, [40, 60, 80, 100])
        func widths(arguments: [String], width: Int) async throws {
            func numbers(_ text: String) -> Set<String> {
                Set(text.matches(of: /\d[\d.,]*/).map { String($0.output) })
            }
            let wide = try await run(#"COLUMNS=10000 "$@""#, arguments)
            let narrow = try await run("COLUMNS=\(width) \"$@\"", arguments)
            #expect(narrow.status == 0)
            check(narrow.output, width: width)
            // Wall time differs from run to run.
            let times = /in\s\d[\d.,]*\ss/
            #expect(
                numbers(wide.output.replacing(times, with: "")).subtracting(
                    numbers(narrow.output.replacing(times, with: "")))
                    == [])
        }

        @Test("tables of measurements fit too", arguments: timings, [40, 60, 80, 100])
        func measuredWidths(arguments: [String], width: Int) async throws {
            let place = arguments[0] == "new" ? #"--output "$0/new""# : ""
            let (output, status) = try await run("COLUMNS=\(width) \"$@\" \(place) 2>/dev/null", arguments)
            #expect(status == 0)
            #expect(output.contains("---"))
            check(output, width: width)
        }

        @Test("JSON is one object on one line", arguments: tables.prefix(6) + timings.prefix(1))
        func json(arguments: [String]) async throws {
            let (output, status) = try await run(#""$@" 2>/dev/null"#, arguments + ["--json"])
            #expect(status == 0)
            #expect(output.hasSuffix("}\n"))
            #expect(output.split(separator: "\n").count == 1)
            #expect(try JSONSerialization.jsonObject(with: Data(output.utf8)) is [String: Any])
        }

        @Test("an output that can't be written is an error of one line", arguments: commands)
        func noOutput(arguments: [String]) async throws {
            let closed = try await run(#""$@" >&-"#, arguments)
            #expect(closed.output.hasPrefix("Error: nothing can be written to standard output: "))
            #expect(closed.output.split(separator: "\n").count == 1)
            #expect(closed.status == 1)
            #if os(Linux)
                let full = try await run(#""$@" >/dev/full"#, arguments)
                #expect(full.output == "Error: nothing can be written to standard output: No space left on device\n")
                #expect(full.status == 1)
            #endif
        }

        private static let briefly: [([String], Int32)] = [
            (["list"], 0), (["simulate", "--seed", "1", "--trace"], 0), (["describe", "nothing"], 1), (["nothing"], 64),
        ]

        @Test("a closed standard error doesn't change the exit status", arguments: briefly)
        func noErrors(arguments: [String], status: Int32) async throws {
            #expect(try await run(#""$@" <&- 2>&- >"$0/out""#, arguments).status == status)
            #expect(try await run(#""$@" <&- 2>&- >&-"#, arguments).status == (status == 0 ? 1 : status))
        }

        private static let hostile = "\u{1B}[2J\u{1B}]0;x\u{7}\r\n\u{9B}1A\u{202E}'\"\\"
        private static let long = String(repeating: "A", count: 1_000)

        private static func demands(_ text: String) -> [[String]] {
            let nowhere = "/dev/null/" + text
            return [
                ["describe", "--", text], ["verify", "--", text], ["bench", "--", text],
                ["bench", "links", "--link", text], ["bench", "codecs", "--payload", text],
                ["bench", "codecs", "--gpx", text], ["bench", "frames", "--limit", text],
                ["bench", "frames", "--html", nowhere], ["bench", "compare", "--", nowhere, text],
                ["simulate", "--feature", text],
                ["link-end", "--", text, "engine"], ["graph", "--package-path", nowhere],
                ["train-dictionary", "--output=/dev/null/x", "--", text],
                ["train-dictionary", "--output", nowhere, #filePath],
                ["new", "codec", "--output", nowhere, "Morse"],
                ["new", "transport", "--output=/dev/null/x", "--package", nowhere, "Morse"],
                ["new", "transport", "--output=/dev/null/x", "--", text + "!"],
                ["new", "benchmark", "--output=/dev/null/x", "Hike"], ["datagram-sink", "link", nowhere],
            ]
        }

        @Test(
            "every invalid command gives an error of one line",
            arguments: ["", hostile, long, "18446744073709551616"].flatMap(demands))
        func impossible(arguments: [String]) async throws {
            let (output, status) = try await run(#""$@" </dev/null"#, arguments)
            #expect(status == 1)
            #expect(output.hasPrefix("Error: "))
            #expect(output.unicodeScalars.dropLast().allSatisfy { $0.isPrintable })
            #expect(output.hasSuffix("\n"))
        }

        private static let numbers: [([String], Int32)] = [
            (["simulate", "--seed=18446744073709551614"], 0), (["simulate", "--seed=18446744073709551615"], 64),
            (["simulate", "--from=18446744073709551614", "--seeds=1"], 0),
            (["simulate", "--from=18446744073709551615", "--seeds=1"], 64),
            (["simulate", "--fresh", "--seeds=1"], 0), (["simulate", "--fresh", "--from=7"], 64),
            (["simulate", "lobby", "--own"], 64), (["simulate", "--own", "--setting=lives"], 64),
            (["simulate", "--seeds=0"], 64), (["simulate", "--seeds=-1"], 64),
            (["simulate", "--seeds=18446744073709551616"], 64),
            (["simulate", "--first", "--mutate=confirmAtCut", "--seeds=18446744073709551615"], 1),
            (["simulate", "delivery", "--seed=18446744073709551614", "--envelopes=0"], 0),
            (["simulate", "watch", "--seed=18446744073709551614"], 0),
            (["simulate", "sessions", "--seed=18446744073709551614"], 0),
            (["simulate", "lobby", "--members=6"], 64),
            (["simulate", "series", "--mutations"], 64), (["simulate", "--lobby"], 64),
            (["train-dictionary", "--output=/dev/null/x", "--size=9223372036854775807", #filePath], 1),
            (["train-dictionary", "--output=/dev/null/x", "--size=-9223372036854775808", #filePath], 1),
            (["train-dictionary", "--output=/dev/null/x", "--size=9223372036854775808", #filePath], 64),
        ]

        private static let kinds = [
            "worlds", "delivery", "watch", "sessions", "keys", "lobby", "series", "resume", "mailboxes",
        ]

        @Test(arguments: kinds)
        func `Every kind of simulation reports the same keys, and counts of its own`(kind: String) async throws {
            let (output, status) = try await run(#""$@" 2>/dev/null"#, ["simulate", kind, "--seeds=2", "--json"])
            #expect(status == 0)
            let report = try #require(JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
            #expect(report["seeds"] as? Int == 2)
            let shared: Set = ["seeds", "failures", "faults", "faultSeeds", "simulatedSeconds", "wallSeconds"]
            #expect(shared.isStrictSubset(of: report.keys))
        }

        @Test func `A failing seed is printed with the command to replay it`() async throws {
            let arguments = ["simulate", "--mutate=confirmAtCut", "--from=0", "--seeds", "60", "--first"]
            let (output, status) = try await run(#""$@" 2>/dev/null"#, arguments)
            #expect(status == 1)
            #expect(output.contains(/replay with: plugins-tool simulate --mutate=confirmAtCut --seed \d+ --shrink/))
        }

        @Test("numbers at or beyond their range are accepted or rejected without a trap", arguments: numbers)
        func extremes(arguments: [String], status: Int32) async throws {
            let ended = try await run(#""$@" </dev/null"#, arguments)
            #expect(ended.status == status, "\(ended.output)")
        }
    }
#endif
