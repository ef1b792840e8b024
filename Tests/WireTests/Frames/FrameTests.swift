import Foundation
import MeshIdentity
import Testing

@testable import MeshWire

@Suite("Frames")
struct FrameTests {
    static let policies: [(String, CompressionPolicy)] = [
        ("stored", .stored), ("zlib", .zlib()), ("built-in dictionary", .dictionary(.builtIn)),
        ("connection", .connection()),
    ]

    @Test("every message comes back as it was, alone", arguments: Sample.messages.indices)
    func roundTripAlone(index: Int) throws {
        var encoder = FrameEncoder(codec: Sample.codec)
        var decoder = FrameDecoder(codecs: Sample.codecs)
        let frame = try encoder.encode(Sample.messages[index])
        let message = try #require(try decoder.decode(frame))
        #expect(message.essence == Sample.messages[index].essence)
    }

    @Test("every message comes back as it was on a connection", arguments: policies.indices, [false, true])
    func roundTripOnConnection(policy: Int, interning: Bool) throws {
        var encoder = FrameEncoder(
            codec: Sample.codec, compression: Self.policies[policy].1, interning: interning)
        var writer = WireWriter()
        for message in Sample.messages + Sample.messages { try encoder.append(message, to: &writer) }
        var decoder = FrameStreamDecoder(codecs: Sample.codecs)
        decoder.append(writer.bytes)
        for message in Sample.messages + Sample.messages {
            let decoded = try decoder.next()
            #expect(decoded?.essence == message.essence)
        }
        let surplus = try decoder.next()
        let isAtFrameBoundary = decoder.isAtFrameBoundary
        #expect(surplus == nil)
        #expect(isAtFrameBoundary)
    }
}
