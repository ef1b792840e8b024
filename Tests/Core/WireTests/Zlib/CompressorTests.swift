import MeshIdentity
import Testing

@testable import MeshWire

/// A compressor that works, or fails in one of several ways.
private struct TestCompressor: BodyDeflating {
    enum Manner { case honest, full, boastful, empty, failing }

    final class Deflater: BodyDeflater {
        let manner: Manner
        let zlib: ZlibDeflater

        init(manner: Manner, zlib: ZlibDeflater) {
            self.manner = manner
            self.zlib = zlib
        }

        func compress(
            _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
        ) throws(WireError) -> Int? {
            switch manner {
            case .honest: return try zlib.compress(bytes, into: output, dictionary: nil)
            case .full: return nil
            case .boastful: return output.count + 1
            case .empty: return 0
            case .failing: throw WireError(.compressionFailed, "on purpose")
            }
        }
    }

    let name = "test"
    var manner = Manner.honest

    func makeDeflater(level: Int) throws(WireError) -> any BodyDeflater {
        // A level other than the requested one shows in the output.
        Deflater(manner: manner, zlib: try ZlibDeflater(level: 1))
    }
}

@Suite("Compressors")
struct CompressorTests {
    private static func frame(_ count: Int, _ compression: CompressionPolicy) throws -> [UInt8] {
        let payload = EncodedPayload(bytes: ZlibTests.text(count), codec: Sample.codec)
        let envelope = AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: payload)
        return try Sample.stream([.envelope(envelope)], compression: compression, interning: false)
    }

    @Test("the compressor deflates bodies from its size on, zlib those below")
    func threshold() throws {
        let policy = CompressionPolicy.zlib(level: 9, compressor: TestCompressor(), compressorBytes: 3000)
        #expect(try Self.frame(2000, policy) == Self.frame(2000, .zlib(level: 9)))
        #expect(try Self.frame(4000, policy) == Self.frame(4000, .zlib(level: 1)))
        #expect(try Self.frame(4000, policy) != Self.frame(4000, .zlib(level: 9)))
        #expect(try Self.frame(600, policy) == Self.frame(600, .stored))
    }

    @Test("a body that the compressor cannot fit is stored")
    func full() throws {
        let policy = CompressionPolicy.zlib(compressor: TestCompressor(manner: .full))
        #expect(try Self.frame(9000, policy) == Self.frame(9000, .stored))
    }

    @Test("a compressor that fails, or reports an impossible size, is an error", arguments: 0..<3)
    func faults(index: Int) throws {
        let manner: [TestCompressor.Manner] = [.boastful, .empty, .failing]
        let policy = CompressionPolicy.zlib(compressor: TestCompressor(manner: manner[index]))
        let error = #expect(throws: WireError.self) { try Self.frame(9000, policy) }
        #expect(error?.code == .compressionFailed)
    }
}
