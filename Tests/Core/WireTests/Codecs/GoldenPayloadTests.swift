import Foundation
import MeshTestSupport
import MeshWire
import Testing

/// Compares the output of the codecs with committed bytes, and reads these bytes back.
///
/// `SESSIONMESH_UPDATE_FIXTURES=1 swift test --filter GoldenPayloadTests` rewrites the files.
@Suite("Golden payloads", .serialized)
struct GoldenPayloadTests {
    private static let folder = Checkout.fixtures.appending(path: "Payloads")
    private static let environment = ProcessInfo.processInfo.environment

    @Test("every codec writes the golden bytes and reads them", arguments: GoldenPayload.all)
    func payload(payload: GoldenPayload) throws {
        for file in try payload.files() {
            let place = Self.folder.appending(path: payload.name + file.suffix)
            if Self.environment["SESSIONMESH_UPDATE_FIXTURES"] == "1" { try Data(file.bytes).write(to: place) }
            let golden = Array(try Data(contentsOf: place))
            // Versions of Foundation print JSON differently. The JSON files are for readers in other languages.
            if place.pathExtension != "json" { #expect(file.bytes == golden, "\(file.suffix)") }
            #expect(try file.isRead(golden), "\(file.suffix)")
        }
    }

    @Test("no file remains of a removed payload")
    func files() throws {
        let expected = try GoldenPayload.all.flatMap { payload in try payload.files().map { payload.name + $0.suffix } }
        let found = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { !$0.hasPrefix(".") }
        #expect(Set(found) == Set(expected))
        #expect(expected.count == Set(expected).count)
    }

    @Test("a reader in Python, written from the documentation, decodes them")
    func python() async throws {
        let script = Checkout.interop.appending(path: "decode_payloads.py").path
        let (status, text) = try await Program.run("python3", ["-B", "-X", "utf8", script, Self.folder.path])
        let isRequired = Self.environment["CI"] == "true"
        // The status of `env` if there is no such program.
        if status == 127, !isRequired { return print("skipped: python3 is missing (payloads)") }
        #expect(status == 0, "\(text)")
    }
}
