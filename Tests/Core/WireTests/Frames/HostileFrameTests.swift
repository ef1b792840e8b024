import Foundation
import MeshBase
import MeshIdentity
import Testing

@testable import MeshWire

@Suite("Frames from strangers")
struct HostileFrameTests {
    @Test("a frame that is cut anywhere is truncated", arguments: Sample.messages.indices)
    func cut(index: Int) throws {
        var encoder = FrameEncoder(codec: Sample.codec)
        let frame = try encoder.encode(Sample.messages[index])
        var decoder = FrameDecoder(codecs: Sample.codecs)
        for length in 0..<frame.count {
            #expect(decoder.failure(Array(frame[..<length])) == .truncated, "cut at \(length)")
        }
        #expect(decoder.failure(frame + [0]) == .trailingBytes)
    }

    @Test("a stream that ends anywhere waits and says so")
    func cutStream() throws {
        let stream = try Sample.stream(Array(Sample.messages.prefix(4)))
        for length in 0..<stream.count {
            var decoder = FrameStreamDecoder(codecs: Sample.codecs)
            decoder.append(Array(stream[..<length]))
            var boundaries = 0
            while try decoder.next() != nil { boundaries += 1 }
            #expect(boundaries < 4)
        }
    }

    @Test("every changed byte is detected")
    func flip() throws {
        var encoder = FrameEncoder(codec: Sample.codec)
        for message in Sample.messages.prefix(5) {
            let frame = try encoder.encode(message)
            var decoder = FrameDecoder(codecs: Sample.codecs)
            for position in frame.indices {
                for change in [0x01, 0x10, 0x80, 0xFF] as [UInt8] {
                    var damaged = frame
                    damaged[position] ^= change
                    #expect(decoder.failure(damaged) != nil, "byte \(position) ^ \(change)")
                }
            }
        }
    }

    @Test("a damaged header is noticed before its length is believed")
    func flipHeaderOfStream() throws {
        let stream = try Sample.stream([Sample.messages[1]])
        for position in 0..<7 {
            for bit in 0..<8 {
                var damaged = Array(stream[..<10])
                damaged[position] ^= 1 << bit
                var decoder = FrameStreamDecoder(codecs: Sample.codecs)
                decoder.append(damaged)
                #expect(throws: WireError.self, "bit \(bit) of byte \(position)") { _ = try decoder.next() }
            }
        }
    }

    @Test("a stream is read in pieces of any size")
    func splits() throws {
        let messages = Sample.messages
        let stream = try Sample.stream(messages, compression: .zlib(minimumBytes: 48))
        let expected = messages.map(\.essence)
        #expect(try Sample.decode(stream, pieces: Array(repeating: 1, count: stream.count)) == expected)
        for first in stride(from: 1, to: stream.count, by: 7) {
            #expect(try Sample.decode(stream, pieces: [first, stream.count - first]) == expected, "split at \(first)")
        }
        for seed in 0..<50 as Range<UInt64> {
            var generator = SplitMix64(seed: seed)
            var pieces: [Int] = []
            var rest = stream.count
            while rest > 0 {
                let piece = Int.random(in: 0...min(rest, 97), using: &generator)
                pieces.append(piece)
                rest -= piece
            }
            #expect(try Sample.decode(stream, pieces: pieces) == expected, "seed \(seed)")
        }
    }

    @Test("after an error the stream stays dead")
    func dead() throws {
        let good = try Sample.stream([Sample.messages[1]], interning: false)
        var bad = good
        bad[good.count - 1] ^= 1
        var decoder = FrameStreamDecoder(codecs: Sample.codecs)
        decoder.append(good + bad + good)
        let first = try decoder.next()
        #expect(first != nil)
        for _ in 0..<3 {
            let error = #expect(throws: WireError.self) { _ = try decoder.next() }
            #expect(error?.code == .corrupted)
            decoder.append(good)
        }
        let failure = decoder.failure
        #expect(failure?.code == .corrupted)
    }

    @Test("garbage is foreign at its first byte")
    func garbage() throws {
        for byte in UInt8.min...UInt8.max where byte != FrameHeader.magic {
            var decoder = FrameStreamDecoder(codecs: Sample.codecs)
            decoder.append([byte])
            let error = #expect(throws: WireError.self) { _ = try decoder.next() }
            #expect(error?.code == .foreign)
        }
    }

    @Test("a length is refused before anything is allocated for it")
    func lengths() throws {
        let limits = FrameLimits()
        for exponent in 0..<64 {
            let power = UInt64(1) << UInt64(exponent)
            for length in [power, power - 1] where length > UInt64(limits.frameBytes) - 20 {
                var header: [UInt8] = [FrameHeader.magic, 1, 2, 200, 0]
                var rest = length
                while rest >= 0x80 {
                    header.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                    rest >>= 7
                }
                header.append(UInt8(rest))
                header.append(header.withUnsafeBytes { FrameHeader.check($0, count: $0.count) })
                var decoder = FrameStreamDecoder(codecs: Sample.codecs)
                decoder.append(header)
                let error = #expect(throws: WireError.self) { _ = try decoder.next() }
                #expect(error?.code == .oversized, "length \(length)")
            }
        }
        let endless = [FrameHeader.magic, 1, 2, 200, 0] + [UInt8](repeating: 0xFF, count: 10)
        var decoder = FrameStreamDecoder(codecs: Sample.codecs)
        decoder.append(endless)
        #expect(throws: WireError.self) { _ = try decoder.next() }
    }

    @Test("a hello has its connection number, and its bytes are unchanged without one")
    func helloConnection() throws {
        var hello = WireHello(peer: Sample.peer, codecs: [2, 1], dictionaries: [7])
        var decoder = FrameDecoder(codecs: Sample.codecs)
        var lengths: [Int] = []
        for connection in [0, 1, 1 << 32, .max] as [UInt64] {
            hello.connection = connection
            var encoder = FrameEncoder(codec: Sample.codec)
            let bytes = try encoder.encode(.hello(hello))
            lengths.append(bytes.count)
            guard case .hello(let read)? = try decoder.decode(bytes) else { return #expect(Bool(false)) }
            #expect(read == hello)
            for length in bytes.indices { #expect(decoder.failure(Array(bytes[..<length])) == .truncated) }
        }
        #expect(lengths == [0, 10, 10, 10].map { lengths[0] + $0 })
    }

    @Test("a hello has the sender's abilities, and its bytes are unchanged without any")
    func helloAbilities() throws {
        var hello = WireHello(peer: Sample.peer, codecs: [2, 1], dictionaries: [7])
        var decoder = FrameDecoder(codecs: Sample.codecs)
        var lengths: [Int] = []
        // Includes abilities of later versions.
        for abilities in [0, 1, 5, 1 << 40, .max] as [UInt64] {
            hello.abilities = WireAbilities(rawValue: abilities)
            var encoder = FrameEncoder(codec: Sample.codec)
            let bytes = try encoder.encode(.hello(hello))
            lengths.append(bytes.count)
            guard case .hello(let read)? = try decoder.decode(bytes) else { return #expect(Bool(false)) }
            #expect(read == hello)
            for length in bytes.indices { #expect(decoder.failure(Array(bytes[..<length])) == .truncated) }
        }
        #expect(lengths == [0, 3, 3, 8, 12].map { lengths[0] + $0 })
    }

    @Test("frames that were joined in a datagram are read in order, up to a faulty one")
    func joined() throws {
        var encoder = FrameEncoder(codec: Sample.codec)
        let parts = try Sample.messages.map { try encoder.encode($0) }
        let skipped = Sample.frame(kind: 99, flags: FrameFlags.skippable.rawValue, body: [1])
        let datagram = skipped + Array(parts.joined())
        let ends = parts.indices.map { parts[...$0].reduce(skipped.count) { $0 + $1.count } }
        var decoder = FrameDecoder(codecs: Sample.codecs)
        for length in 1...datagram.count {
            var frames: [WireFrame] = []
            let isWhole: Bool
            do {
                try decoder.decode(joined: Array(datagram[..<length]), into: &frames)
                isWhole = true
            } catch {
                isWhole = false
                #expect(error.code == .truncated, "cut at \(length)")
            }
            #expect(frames.count == ends.filter { $0 <= length }.count, "cut at \(length)")
            #expect(isWhole == (length == skipped.count || ends.contains(length)), "cut at \(length)")
        }
        #expect(throws: WireError.self) {
            var frames: [WireFrame] = []
            try decoder.decode(joined: parts[0] + [0], into: &frames)
        }
    }

    @Test("an older reader names the version that it cannot read")
    func versions() throws {
        for version in UInt8.min...UInt8.max where version != FrameHeader.version {
            var decoder = FrameDecoder(codecs: Sample.codecs)
            let error = #expect(throws: WireError.self) { _ = try decoder.decode([FrameHeader.magic, version]) }
            #expect(error?.code == .unsupportedVersion)
            #expect(error?.message.contains("version \(version);") == true)
        }
        var hello = WireHello(peer: Sample.peer, frameVersions: 1...3)
        #expect(try hello.negotiatedFrameVersion() == 1)
        #expect(try hello.negotiatedFrameVersion(with: 2...9) == 3)
        hello.frameVersions = 4...5
        #expect(throws: WireError.self) { try hello.negotiatedFrameVersion() }
    }

    @Test("an unknown kind is skipped where the sender allows it")
    func unknownKinds() throws {
        let skippable = Sample.frame(kind: 99, flags: FrameFlags.skippable.rawValue, body: [1, 2, 3])
        let required = Sample.frame(kind: 99, body: [1, 2, 3])
        let known = try Sample.stream([Sample.messages[1]])
        var decoder = FrameStreamDecoder(codecs: Sample.codecs)
        decoder.append(skippable + known + skippable)
        let message = try decoder.next()
        #expect(message?.essence == Sample.messages[1].essence)
        let surplus = try decoder.next()
        #expect(surplus == nil)
        let skipped = decoder.skippedCount
        #expect(skipped == 2)
        var single = FrameDecoder(codecs: Sample.codecs)
        #expect(single.failure(required) == .unsupportedVersion)
        #expect(single.failure(skippable) == nil)
        #expect(single.failure(Sample.frame(kind: 2, flags: 0x80, body: [])) == .unsupportedVersion)
    }

    @Test("a codec that is not registered is named")
    func unknownCodec() throws {
        var encoder = FrameEncoder(codec: PlainCodec(id: PayloadCodecID(number: 77, name: "theirs")))
        let frame = try encoder.encode(.envelope(Sample.envelope()))
        var decoder = FrameDecoder(codecs: Sample.codecs)
        #expect(decoder.failure(frame) == .unknownCodec)
    }

    @Test("a codec that earlier versions had is named")
    func retiredCodec() throws {
        let library: [any PayloadCodec] = [JSONCodec(), CompactCodec()]
        for retired in PayloadCodecID.retired {
            #expect(!library.contains { $0.id == retired }, "its number stays reserved")
            var encoder = FrameEncoder(codec: PlainCodec(id: retired))
            let frame = try encoder.encode(.envelope(Sample.envelope()))
            var decoder = FrameDecoder(codecs: try CodecTable(library))
            let error = #expect(throws: WireError.self) { try decoder.decode(frame) }
            #expect(error?.code == .unknownCodec)
            #expect(error?.message.contains("codec \(retired.number) is \(retired.name),") == true)
        }
        #expect(PayloadCodecID.retired.map(\.number) == [3])
    }

    @Test("state of a connection is refused outside one")
    func stateless() throws {
        let first = try Sample.stream([Sample.messages[1]])
        let stream = try Sample.stream([Sample.messages[1], Sample.messages[2]])
        var single = FrameDecoder(codecs: Sample.codecs)
        #expect(single.failure(first) == .corrupted)
        var late = FrameStreamDecoder(codecs: Sample.codecs)
        late.append(Array(stream[first.count...]))
        #expect(throws: WireError.self) { _ = try late.next() }
    }

    @Test("bodies of chance never trap", arguments: 0..<40 as Range<UInt64>)
    func chance(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let bodies = try Sample.messages.map { message in
            var encoder = FrameEncoder(codec: Sample.codec, compression: seed % 2 == 0 ? .stored : .zlib())
            let frame = try encoder.encode(message)
            return (kind: frame[2], flags: frame[4], body: Array(frame[(frame[5] < 128 ? 7 : 8)..<(frame.count - 4)]))
        }
        for _ in 0..<200 {
            var (kind, flags, body) = bodies.randomElement(using: &generator)!
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !body.isEmpty {
                let position = Int.random(in: body.indices, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: body[position] = UInt8.random(in: 0...255, using: &generator)
                case 1: body.remove(at: position)
                case 2: body.insert(UInt8.random(in: 0...255, using: &generator), at: position)
                default: body.removeSubrange(position...)
                }
            }
            if Bool.random(using: &generator) { flags = UInt8.random(in: 0...127, using: &generator) }
            let frame = Sample.frame(kind: kind, flags: flags, body: body)
            var single = FrameDecoder(codecs: Sample.codecs)
            _ = single.failure(frame)
            var stream = FrameStreamDecoder(codecs: Sample.codecs)
            stream.append(frame)
            _ = try? stream.next()
            kind = UInt8.random(in: 1...7, using: &generator)
            _ = single.failure(Sample.frame(kind: kind, body: body))
        }
    }

    @Test("a vector of many or of equal names is refused")
    func vectors() throws {
        var encoder = FrameEncoder(codec: Sample.codec, compression: .stored)
        let vector = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("\($0)", UInt64($0)) })
        let state = EncodedPayload(bytes: [], codec: Sample.codec)
        let snapshot = AnySessionSyncSnapshot(
            metadata: Sample.metadata(), revision: 1, peerSequenceVector: vector, state: state)
        #expect(throws: WireError.self) { try encoder.encode(.snapshot(snapshot)) }

        var writer = WireWriter()
        writer.write(Sample.metadata(), tableOf: 0)
        let metadata = writer.array()
        var decoder = FrameDecoder(codecs: Sample.codecs)
        let many = metadata + [1, 0xFF, 0xFF, 0x7F]
        #expect(decoder.failure(Sample.frame(kind: 3, body: many)) == .oversized)
        let short = metadata + [1, 0xFF, 0x7F]
        #expect(decoder.failure(Sample.frame(kind: 3, body: short)) == .truncated)
        let twice = metadata + [1, 2, 3, 65, 1, 3, 65, 2, 0, 0]
        #expect(decoder.failure(Sample.frame(kind: 3, body: twice)) == .corrupted)
        let once = metadata + [1, 2, 3, 65, 1, 3, 66, 2, 0, 0]
        #expect(decoder.failure(Sample.frame(kind: 3, body: once)) == nil)
    }
}

extension FrameDecoder {
    /// The code of the error that decoding throws, or nil if it succeeds.
    mutating func failure(_ frame: [UInt8]) -> WireError.Code? {
        do throws(WireError) {
            _ = try decode(frame)
            return nil
        } catch {
            return error.code
        }
    }
}
