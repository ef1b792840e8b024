#if UDP
    import Foundation
    import MeshTestSupport
    import Testing

    @testable import MeshSecurity

    /// A folder that is removed after the test.
    final class TemporaryFolder {
        let path: String

        init() throws {
            path = NSTemporaryDirectory() + "/security-tests-" + UUID().uuidString
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String) -> String { path + "/" + name }

        func bytes(of name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: file(name)))) }

        /// Writes a file that only its owner may access.
        func write(_ bytes: [UInt8], to name: String) throws {
            try Data(bytes).write(to: URL(filePath: file(name)))
            #expect(chmod(file(name), 0o600) == 0)
        }

        var names: Set<String> { Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []) }
    }

    func mode(of path: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0
    }

    extension PeerID {
        /// A sample id, distinguished by its number.
        static func sample(_ number: UInt8) -> PeerID {
            PeerID(publicKeyDER: [number])
        }
    }

    extension Sequence<UInt8> {
        var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
    }

    func bytes(hex: String) -> [UInt8] {
        var digits = hex[...]
        var bytes: [UInt8] = []
        while let byte = UInt8(digits.prefix(2), radix: 16) {
            bytes.append(byte)
            digits = digits.dropFirst(2)
        }
        return bytes
    }

    /// The error that `body` throws, for bodies that use noncopyable values.
    func caught<Failure: Error>(_ type: Failure.Type, _ body: () throws -> Void) -> Failure? {
        do {
            try body()
            return nil
        } catch {
            return error as? Failure
        }
    }

    /// Files that other languages read, and the script that reads them.
    enum Interop {
        private static let environment = ProcessInfo.processInfo.environment

        static func fixture(_ name: String) -> URL {
            Checkout.fixtures.appending(path: "Security").appending(path: name)
        }

        /// Compares with the committed file, or rewrites it if `SESSIONMESH_UPDATE_FIXTURES` is 1.
        static func check<Content: Codable & Equatable>(_ content: Content, isIn name: String) throws {
            if environment["SESSIONMESH_UPDATE_FIXTURES"] == "1" {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                try (encoder.encode(content) + Data("\n".utf8)).write(to: fixture(name))
            }
            let committed = try JSONDecoder().decode(Content.self, from: Data(contentsOf: fixture(name)))
            #expect(committed == content)
        }

        /// The output of `check_security.py`, or nil if Python or its module is missing. In that case it prints a notice, and in
        /// continuous integration the test fails.
        static func python(_ command: String, _ arguments: String...) async throws -> String? {
            let script = Checkout.interop.appending(path: "check_security.py").path
            let (status, text) = try await Program.run(
                "python3", ["-B", "-X", "utf8", script, command] + arguments)
            // 127: the status of `env` if there is no such program. 3: cryptography is missing.
            if [3, 127].contains(status) {
                print("skipped: python3 with cryptography is missing (\(command))")
                #expect(environment["CI"] != "true", "Tools/prepare installs python3 and cryptography")
                return nil
            }
            #expect(status == 0, "\(text)")
            return text
        }
    }
#endif
