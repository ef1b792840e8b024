#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshDiscovery
    import MeshTestSupport
    import MeshToolOutput
    import Testing

    @testable import mesh

    /// The texts that users read when something is wrong.
    @Suite("Screens of mesh")
    struct ScreenTests {
        /// The tool's path, next to the tests.
        private static let path: String = {
            let tests = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
            let folder = tests?.deletingLastPathComponent() ?? Bundle.main.bundleURL
            return folder.appending(path: "mesh").path
        }()

        /// - Parameter script: A shell script in which `"$0"` is the tool and `$1` a temporary folder.
        private func run(_ script: String) async throws -> (output: String, status: Int32) {
            let folder = FileManager.default.temporaryDirectory.appending(path: "mesh-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }
            let (status, output) = try await Program.run("sh", ["-c", script + " 2>&1", Self.path, folder.path])
            return (output.replacing(folder.path, with: "FOLDER"), status)
        }

        // MARK: Failing starts

        @Test("a socket in a missing folder is an error of one line that says what to do")
        func noFolder() async throws {
            let (output, status) = try await run(
                #""$0" peer --name phone --home "$1/home" --link "unix:$1/nowhere/s" </dev/null"#)
            #expect(
                output
                    == "Error: there is no folder 'FOLDER/nowhere'; make it, or name another path with --link unix:/path\n"
            )
            #expect(status == 1)
        }

        @Test("a socket below a file is an error of one line that says what to do")
        func belowFile() async throws {
            let (output, status) = try await run(
                #"touch "$1/file"; "$0" peer --name phone --home "$1/home" --link "unix:$1/file/s" </dev/null"#)
            #expect(output.hasPrefix("Error: "))
            #expect(output.hasSuffix("; name another path with --link unix:/path\n"))
            #expect(output.split(separator: "\n").count == 1)
            #expect(!output.contains("systemCallFailed"))
            #expect(status == 1)
        }

        @Test("a home that can't be created is an error of one line that says why and what to do")
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
            ("", "it is empty; a name must have 1 to 32 letters, digits, spaces, or any of - _ . '"),
            (
                "my/watch",
                "character 3 is '/', which isn't allowed; a name must have 1 to 32 letters, digits, spaces, or any of - _ . '"
            ),
            (
                "a\u{1B}",
                "character 2 is '\\u{1B}', which isn't allowed; a name must have 1 to 32 letters, digits, spaces, or any of - _ . '"
            ),
            (
                String(repeating: "a", count: 33), "it has 33 characters; the maximum is 32; shorten it"
            ),
            (".phone", "it starts with '.', so its folder would be hidden; start with a letter"),
        ]

        @Test("an invalid name's error says why", arguments: unusable, ["peer", "pair"])
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

        // MARK: Secrets

        /// Commands with an argument that is a secret or an impossible port.
        @Test(arguments: [
            ("peer --name phone --link mqtts://me:hush@broker.example", "put it into a file (--password-file)"),
            ("pair --name phone --new-secret --link mqtts://me:hush@broker.example", "(--password-file)"),
            ("replay --link mqtt://me:hu/sh@127.0.0.1", "(--password-file)"),
            ("peer --name phone --link wss://me:hush@gateway.example", "(--token-file)"),
            ("gateway --redis redis://:hush@redis.example", "(--redis-password-file)"),
            ("peer --name phone --link wss://gateway.example --token hush", "Unknown option '--token'"),
            ("pair --name phone --secret hush", "Unknown option '--secret'"),
            ("gateway --secret hush", "Unknown option '--secret'"),
            ("gateway --port 99999", "The value '99999' is invalid"),
            ("gateway --metrics-port 65536", "The value '65536' is invalid"),
            ("gateway --listen 0.0.0.0", "needs a secret"),
            ("gateway --publish", "--publish needs a token"),
            ("gateway token anna", "a token needs the gateway's secret"),
            ("peer --name phone --home \"$1\" --link wss://127.0.0.1:99999", "99999"),
            ("peer --name phone --home \"$1\" --link mqtts://127.0.0.1:99999", "99999"),
        ])
        func `A secret in an argument, and an impossible port, are rejected`(
            arguments: String, said: String
        ) async throws {
            let (output, status) = try await run("\"$0\" \(arguments) </dev/null")
            #expect(output.contains(said), "\(output)")
            #expect(!output.contains("me:hu"), "\(output)")
            #expect(status != 0)
        }

        #if WebSocket
            @Test func `A gateway accepts as many connections as the system allows, and rejects more`() async throws {
                let (refused, status) = try await run(#"ulimit -n 500; "$0" gateway --connections 5000 </dev/null"#)
                #expect(refused.contains("set connectionsMax to at most 436"))
                #expect(status == 1)
                // Its output ends with the address, and then it gets a signal to stop.
                let (served, _) = try await run(
                    #"ulimit -n 500; mkfifo "$1/f"; "$0" gateway >"$1/f" & read line <"$1/f"; kill $!; wait $!; echo "$line""#
                )
                #expect(served.contains("At most 436 connections"), "\(served)")
                #expect(served.contains("Serving at ws://127.0.0.1:"), "\(served)")
            }

            @Test func `A secret comes from a file, the environment or standard input`() async throws {
                let key = "0123456789abcdef"
                let tokens = try #require(GatewayTokens(secret: key))
                for script in [
                    #"printf '%s\n' KEY >"$1/key"; "$0" gateway token anna --secret-file "$1/key""#,
                    #"printf '%s\nmore\n' KEY | "$0" gateway token anna --secret-file -"#,
                    #"MESH_GATEWAY_SECRET=KEY "$0" gateway token anna"#,
                ] {
                    let (output, status) = try await run(script.replacing("KEY", with: key))
                    #expect(status == 0, "\(output)")
                    #expect(tokens.user(of: output.trimmingCharacters(in: .newlines), now: 0)?.name == "anna")
                }
                let (output, status) = try await run(#"echo short | "$0" gateway token anna --secret-file -"#)
                #expect(output.contains("at least 16 bytes"))
                #expect(status == 1)
            }

            @Test func `A token names one user until it expires, and only with its key`() throws {
                let tokens = try #require(GatewayTokens(secret: "0123456789abcdef"))
                for user in ["anna", "a.b/c+d=e", "Jürgen 時計", ""] {
                    let token = tokens.token(for: user, expiry: 100)
                    #expect(tokens.user(of: token, now: 99)?.name == user)
                    #expect(tokens.user(of: token, now: 100) == nil)
                    #expect(GatewayTokens(secret: "0123456789abcdeg")?.user(of: token, now: 0) == nil)
                    for index in token.indices {
                        for other in ["x", "y", "."] where token[index...index] != other {
                            let changed = token.replacingCharacters(in: index...index, with: other)
                            let isSame = tokens.user(of: changed, now: 0)?.name == user && index == token.indices.last
                            #expect(tokens.user(of: changed, now: 0) == nil || isSame, "\(changed)")
                        }
                        #expect(tokens.user(of: String(token[..<index]), now: 0) == nil)
                    }
                }
                let parts = tokens.token(for: "anna", expiry: 100).split(separator: ".")
                let others = tokens.token(for: "bernd", expiry: 100).split(separator: ".")
                #expect(
                    tokens.user(of: [parts[0], others[1], parts[2], parts[3]].joined(separator: "."), now: 0) == nil)
                #expect(tokens.user(of: "anna:0123456789abcdef", now: 0) == nil)
                #expect(GatewayTokens(secret: "short") == nil)
            }
        #endif

        // MARK: The doctor

        private func lastLine(_ verdicts: [(String, NetworkDoctor.Verdict)]) throws -> String {
            let objects = verdicts.map { ["id": $0.0, "verdict": $0.1.rawValue, "found": "found"] }
            let findings = try JSONDecoder().decode(
                [NetworkDoctor.Finding].self, from: try JSONEncoder().encode(objects))
            return DoctorReport(findings: findings).text().split(separator: "\n").last.map(String.init) ?? ""
        }

        @Test("the doctor doesn't report success after a warning")
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

        @Test("the tool prints completions for shells", arguments: ["bash", "zsh", "fish"])
        func completions(shell: String) async throws {
            let (output, status) = try await run("\"$0\" --generate-completion-script \(shell)")
            #expect(status == 0)
            #expect(output.contains("replay"))
        }
    }
#endif
