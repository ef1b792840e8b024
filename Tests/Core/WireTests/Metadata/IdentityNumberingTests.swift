import Foundation
import MeshBase
import MeshIdentity
import Testing

@testable import MeshWire

/// Datagrams that number identities, on a lane that loses, repeats and reorders them.
struct IdentityNumberingTests {
    private static func message(_ sequence: UInt64, type: String = "workout.event") -> SessionSyncMetadata {
        Sample.metadata(sequence: sequence, payloadType: type, advancedMilliseconds: sequence * 130)
    }

    private static func encode(_ metadata: SessionSyncMetadata, _ encoder: inout FrameEncoder) throws -> [UInt8] {
        encoder.beginDatagram()
        return try encoder.encode(.envelope(Sample.envelope(metadata)))
    }

    private static func decode(_ datagram: [UInt8], _ decoder: inout FrameDecoder) throws -> [SessionSyncMetadata] {
        var frames: [WireFrame] = []
        try decoder.decode(joined: datagram, into: &frames)
        return frames.compactMap { metadata(of: $0.message) }
    }

    private static func metadata(of message: WireMessage?) -> SessionSyncMetadata? {
        guard case .envelope(let envelope)? = message else { return nil }
        return envelope.metadata
    }

    private static func encoder(epoch: UInt16 = 7) -> FrameEncoder {
        FrameEncoder(datagramsOf: Sample.codec, compression: .stored, epoch: epoch)
    }

    private static func decoder() -> FrameDecoder { FrameDecoder(codecs: Sample.codecs, numbering: nil) }

    @Test func `An identity is introduced until it is known, and then is a number`() throws {
        var encoder = Self.encoder()
        var decoder = Self.decoder()
        encoder.setKnownIdentities(KnownIdentities(epoch: 0, numbers: 0))
        let first = try Self.encode(Self.message(1), &encoder)
        let second = try Self.encode(Self.message(2), &encoder)
        #expect(second.count >= first.count)
        #expect(try Self.decode(second, &decoder) == [Self.message(2)])
        let known = decoder.takeKnownIdentities()
        #expect(known == KnownIdentities(epoch: 7, numbers: 1))
        #expect(decoder.takeKnownIdentities() == nil)
        encoder.setKnownIdentities(known)
        let third = try Self.encode(Self.message(3), &encoder)
        #expect(third.count + 80 < first.count, "\(third.count) bytes after \(first.count)")
        #expect(try Self.decode(third, &decoder) == [Self.message(3)])
        #expect(try Self.decode(first, &decoder) == [Self.message(1)], "a late introduction")
        #expect(try Self.decode(third, &decoder) == [Self.message(3)], "twice")
    }

    @Test func `An identity is introduced once in a datagram`() throws {
        var encoder = Self.encoder()
        var decoder = Self.decoder()
        encoder.setKnownIdentities(KnownIdentities(epoch: 0, numbers: 0))
        let first = try Self.encode(Self.message(1), &encoder)
        let second = try encoder.encode(.envelope(Sample.envelope(Self.message(2))))
        #expect(second.count + 80 < first.count, "\(second.count) bytes after \(first.count)")
        #expect(try Self.decode(first + second, &decoder) == [Self.message(1), Self.message(2)])
    }

    @Test func `A receiver that reads no numbers gets none`() throws {
        var encoder = Self.encoder()
        var plain = FrameDecoder(codecs: Sample.codecs)
        encoder.setKnownIdentities(nil)
        let frame = try Self.encode(Self.message(1), &encoder)
        #expect(Self.metadata(of: try plain.decode(frame)) == Self.message(1))
    }

    @Test func `Only the frame whose identity wasn't introduced is lost, and its sender gets a report`() throws {
        var encoder = Self.encoder()
        var decoder = Self.decoder()
        encoder.setKnownIdentities(KnownIdentities(epoch: 7, numbers: .max))
        _ = try Self.encode(Self.message(0), &encoder)
        let unknown = try Self.encode(Self.message(1), &encoder)
        encoder.setKnownIdentities(KnownIdentities(epoch: 7, numbers: 0))
        let other = try Self.encode(Self.message(2, type: "workout.other"), &encoder)
        #expect(try Self.decode(unknown + other, &decoder) == [Self.message(2, type: "workout.other")])
        #expect(decoder.takeKnownIdentities() == KnownIdentities(epoch: 7, numbers: 2))
    }

    @Test func `More identities than there are numbers are written in full`() throws {
        var encoder = Self.encoder()
        var decoder = Self.decoder()
        encoder.setKnownIdentities(KnownIdentities(epoch: 7, numbers: .max))
        for index in 0..<100 as Range<UInt64> { _ = try Self.encode(Self.message(index, type: "\(index)"), &encoder) }
        let last = try Self.encode(Self.message(100, type: "99"), &encoder)
        #expect(try Self.decode(last, &decoder) == [Self.message(100, type: "99")])
    }

    @Test func `A number, an epoch or an identity out of range is refused`() throws {
        var numbering = IdentityNumbering(epoch: 1)
        let long = Self.message(1, type: String(repeating: "x", count: 2_000))
        #expect(throws: WireError.self) { try numbering.introduce(Self.message(1), as: 63, in: 1) }
        #expect(throws: WireError.self) { try numbering.introduce(long, as: 0, in: 1) }
        #expect(numbering.identity(.max, in: 1) == nil)
        #expect(numbering.takeReport() == KnownIdentities(epoch: 1, numbers: 0))
        #expect(numbering.identity(0, in: 2) == nil)
        #expect(numbering.takeReport() == KnownIdentities(epoch: 2, numbers: 0))
    }

    /// Each message that the decoder reads was sent. Once the lane loses nothing more, the decoder reads all messages.
    @Test(arguments: 0..<300 as Range<UInt64>)
    func `No message is read as another, however datagrams are lost, delayed or repeated`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var encoder = Self.encoder()
        var decoder = Self.decoder()
        var epoch: UInt16 = 7
        var known = KnownIdentities(epoch: 0, numbers: 0)
        var underWay: [[UInt8]] = []
        var statements: [KnownIdentities] = []
        var sent: Set<SessionSyncMetadata> = []
        for step in 0..<400 as Range<UInt64> {
            let isLossless = step >= 380
            if isLossless, step == 380 { (underWay, statements) = ([], []) }
            switch isLossless ? 100 : Int.random(in: 0..<100, using: &random) {
            case 0:
                decoder = Self.decoder()
            case 1:
                epoch &+= 1
                encoder = Self.encoder(epoch: epoch)
                known = KnownIdentities(epoch: 0, numbers: 0)
            default: break
            }
            let metadata = Self.message(step, type: "type \(UInt64.random(in: 0..<5, using: &random))")
            sent.insert(metadata)
            encoder.setKnownIdentities(known)
            underWay.append(try Self.encode(metadata, &encoder))
            var isRead = false
            while !underWay.isEmpty, isLossless || Bool.random(using: &random) {
                let place = Int.random(in: 0..<underWay.count, using: &random)
                let datagram = underWay[place]
                if isLossless || Int.random(in: 0..<4, using: &random) > 0 { underWay.remove(at: place) }
                if !isLossless, Int.random(in: 0..<4, using: &random) == 0 { continue }
                for read in try Self.decode(datagram, &decoder) {
                    try #require(sent.contains(read), "seed \(seed), step \(step)")
                    isRead = isRead || read == metadata
                }
                if let statement = decoder.takeKnownIdentities() { statements.append(statement) }
            }
            // The first datagrams after a change may be lost until the encoder knows of it.
            if step > 390 { try #require(isRead, "seed \(seed), step \(step)") }
            while let place = statements.indices.randomElement(using: &random),
                isLossless || Bool.random(using: &random)
            {
                let statement = statements.remove(at: place)
                if isLossless || Bool.random(using: &random) { known = statement }
            }
        }
    }
}
