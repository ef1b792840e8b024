import Foundation
import MeshIdentity
import MeshTestSupport
import MeshTesting
import MeshWire
import Testing

/// Inputs that once broke a decoder, or were made to: `Tests/Fixtures/Fuzz/TARGET`, one input per file.
@Suite struct FuzzReplayTests {
    private static let codecs: [any PayloadCodec] = [CompactCodec(), JSONCodec()]
    private static let folder = Checkout.fixtures.appending(path: "Fuzz")

    private static func contents(of folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }.sorted()
    }

    @Test func `every folder of inputs has its target, and every target its inputs`() throws {
        // MeshZstdTests replay `zstd`, which needs a trait.
        let targets = try FuzzTarget.all(codecs: Self.codecs).map(\.name) + ["zstd"]
        #expect(Set(try Self.contents(of: Self.folder)) == Set(targets))
        for target in targets {
            #expect(try Self.contents(of: Self.folder.appending(path: target)).count >= 3, "\(target)")
        }
    }

    @Test(arguments: ["frame", "stream", "inflate", "dns", "delivery", "engine", "resume"] + codecs.map(\.id.name))
    func `no input breaks its decoder`(name: String) throws {
        let target = try #require(try FuzzTarget.all(codecs: Self.codecs).first { $0.name == name })
        let folder = Self.folder.appending(path: name)
        for file in try Self.contents(of: folder) {
            let input = try Data(contentsOf: folder.appending(path: file))
            #expect(throws: Never.self, "\(name)/\(file)") { try input.withUnsafeBytes { try target.run($0) } }
        }
    }

    @Test func `a target detects a broken promise`() throws {
        /// A codec that can't read the bytes that it writes.
        struct ForgetfulCodec: PayloadCodec {
            let id = PayloadCodecID(number: 200, name: "forgetful")
            func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { try JSONCodec().encode(value) + [32] }
            func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
                if bytes.last == 32 { throw WireError(.corrupted, "what was written cannot be read") }
                return try JSONCodec().decode(type, from: bytes)
            }
        }
        let target = try #require(try FuzzTarget.all(codecs: [ForgetfulCodec()]).last)
        let input = try JSONCodec().encode(SamplePayloads.event())
        #expect(throws: BrokenPromise.self) { try input.withUnsafeBytes { try target.run($0) } }
    }
}
