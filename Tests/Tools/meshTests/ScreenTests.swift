#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshDiscovery
    import MeshTestSupport
    import MeshToolOutput
    import Testing

    @testable import mesh

    /// What people read when something is not as it should be.
    @Suite("Screens of mesh")
    struct ScreenTests {
        /// Beside the tests.
        private static let path: String = {
            let tests = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
            let folder = tests?.deletingLastPathComponent() ?? Bundle.main.bundleURL
            return folder.appending(path: "mesh").path
        }()

        /// - Parameter script: of the shell, in which `"$0"` is the tool and `$1` a folder of its own.
        private func run(_ script: String) async throws -> (output: String, status: Int32) {
            let folder = FileManager.default.temporaryDirectory.appending(path: "mesh-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }
            let (status, output) = try await Program.run("sh", ["-c", script + " 2>&1", Self.path, folder.path])
            return (output.replacing(folder.path, with: "FOLDER"), status)
        }

        // MARK: What cannot begin

        @Test("a socket whose folder is not there is one line that says what to do")
        func noFolder() async throws {
            let (output, status) = try await run(
                #""$0" peer --name phone --home "$1/home" --link "unix:$1/nowhere/s" </dev/null"#)
            #expect(
                output
                    == "Error: there is no folder 'FOLDER/nowhere'; make it, or name another path with --link unix:/path\n"
            )
            #expect(status == 1)
        }

        @Test("a socket below a file is one line that says what to do")
        func belowFile() async throws {
            let (output, status) = try await run(
                #"touch "$1/file"; "$0" peer --name phone --home "$1/home" --link "unix:$1/file/s" </dev/null"#)
            #expect(output.hasPrefix("Error: "))
            #expect(output.hasSuffix("; name another path with --link unix:/path\n"))
            #expect(output.split(separator: "\n").count == 1)
            #expect(!output.contains("systemCallFailed"))
            #expect(status == 1)
        }

        @Test("a home that cannot be made is one line that says why, and what to do")
        func noHome() async throws {
            let (output, status) = try await run(
                #"touch "$1/file"; "$0" peer --name phone --home "$1/file/home" --link "unix:$1/s" </dev/null"#)
            #expect(
                output
                    == "Error: cannot make the folder 'FOLDER/file/home': 'FOLDER/file' is a file; name another with --home\n"
            )
            #expect(status == 1)
        }

        private static let unusable: [(name: String, problem: String)] = [
            ("", "it is empty; a name has 1 to 32 letters, digits, spaces, or any of - _ . '"),
            (
                "my/watch",
                "character 3 is '/', which isn't allowed; a name has 1 to 32 letters, digits, spaces, or any of - _ . '"
            ),
            (
                "a\u{1B}",
                "character 2 is '\\u{1B}', which isn't allowed; a name has 1 to 32 letters, digits, spaces, or any of - _ . '"
            ),
            (
                String(repeating: "a", count: 33), "it has 33 characters, and a name has at most 32; shorten it"
            ),
            (".phone", "it begins with '.', and a folder with that name is hidden; begin with a letter"),
        ]

        @Test("a name that can't be used says why", arguments: unusable, ["peer", "pair"])
        func names(name: (name: String, problem: String), command: String) async throws {
            let problem = #expect(throws: ValidationError.self) { try PeerName(name.name) }
            #expect(problem?.message == name.problem)
            guard !name.name.contains("\u{1B}") else { return }
            let (output, status) = try await run("\"$0\" \(command) --name '\(name.name)' </dev/null")
            let shown = "Error: The value '\(name.name)' is invalid for '--name <name>': \(name.problem)"
            #expect(output.split(separator: "\n").first.map(String.init) == shown)
            #expect(status == 64)
        }

        @Test func `Names in any script are fine`() throws {
            for name in ["phone", "Jürgen's watch", "時計 2", "a.b-c_d", String(repeating: "ü", count: 32)] {
                #expect(try PeerName(name).value == name)
            }
        }

        // MARK: The doctor

        private func lastLine(_ verdicts: [(String, NetworkDoctor.Verdict)]) throws -> String {
            let objects = verdicts.map { ["id": $0.0, "verdict": $0.1.rawValue, "found": "found"] }
            let findings = try JSONDecoder().decode(
                [NetworkDoctor.Finding].self, from: try JSONEncoder().encode(objects))
            return DoctorReport(findings: findings).text().split(separator: "\n").last.map(String.init) ?? ""
        }

        @Test("the doctor does not say that all is well when it has warned")
        func doctor() throws {
            #expect(try lastLine([("route", .fine)]) == "Peers can be found on this network.")
            #expect(
                try lastLine([("route", .warning), ("port", .fine), ("clock", .warning), ("route", .warning)])
                    == "Nothing here keeps peers from being found, but see the warnings: clock, route.")
            #expect(
                try lastLine([("route", .warning), ("port", .blocked)]) == "Peers cannot be found on this network.")
            #expect(DoctorReport(findings: []).blocked)
        }

        // MARK: Completions

        @Test("shells are given completions", arguments: ["bash", "zsh", "fish"])
        func completions(shell: String) async throws {
            let (output, status) = try await run("\"$0\" --generate-completion-script \(shell)")
            #expect(status == 0)
            #expect(output.contains("replay"))
        }
    }
#endif
