import Foundation
import MeshBase
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

/// Field names that are sent once per connection.
@Suite("Names of a connection")
struct ConnectionNameTests {
    private static let codecs = try! CodecTable([Sample.codec, CompactCodec(), JSONCodec()])
    private static let policies: [CompressionPolicy] = [.stored, .zlib(minimumBytes: 64), .dictionary(.builtIn)]

    @Test("an event is at most 40 bytes once its names have passed")
    func size() throws {
        var link = Link()
        let first = try link.frame(Tap.pause(at: 0), 0)
        let later = try (1...20).map { try link.frame(Tap.pause(at: Double($0)), $0).count }
        #expect(first.count > 100)
        // Time differences vary by a byte or two.
        #expect(later.allSatisfy { $0 <= 40 }, "\(later)")
        #expect(try link.taps() == (0...20).map { Tap.pause(at: Double($0)) })
    }

    @Test("payloads arrive as messages of their own", arguments: policies.indices, [1, 7, .max])
    func roundTrip(policy: Int, pieceBytes: Int) throws {
        var link = Link(compression: Self.policies[policy])
        for round in 0..<3 {
            try link.send(SamplePayloads.event(), round)
            try link.send(Tap.lap(index: round, note: "é"), round)
            try link.send(["key": [round]], round)
            try link.send(SamplePayloads.workout(), round)
        }
        let payloads = try link.payloads(pieceBytes: pieceBytes)
        #expect(payloads.count == 12)
        for (index, payload) in payloads.enumerated() {
            let codec = CompactCodec(usesDirectPath: false)
            switch index % 4 {
            case 0: #expect(try codec.decode(SampleEvent.self, from: payload.bytes) == SamplePayloads.event())
            case 1: #expect(try codec.decode(Tap.self, from: payload.bytes) == .lap(index: index / 4, note: "é"))
            case 2: #expect(try codec.decode([String: [Int]].self, from: payload.bytes) == ["key": [index / 4]])
            default: #expect(try codec.decode(SampleWorkout.self, from: payload.bytes) == SamplePayloads.workout())
            }
        }
    }

    @Test("a received payload is forwarded, over a connection or alone")
    func relay() throws {
        var near = Link()
        for second in 0..<3 { try near.send(Tap.pause(at: Double(second)), second) }
        var far = Link()
        var alone = FrameEncoder(codec: JSONCodec())
        var reader = FrameDecoder(codecs: Self.codecs)
        for payload in try near.payloads() {
            let envelope = AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: payload)
            try far.send(.envelope(envelope))
            guard case .envelope(let received) = try reader.decode(try alone.encode(.envelope(envelope))) else {
                return #expect(Bool(false))
            }
            #expect(try received.encodedPayload(with: JSONCodec()).bytes == payload.bytes)
        }
        #expect(try far.taps() == (0..<3).map { Tap.pause(at: Double($0)) })
    }

    @Test("a full table writes further names in full")
    func overflow() throws {
        var link = Link()
        // Keys of a dictionary count as names.
        let keys = (0..<50).map { group in
            Dictionary(uniqueKeysWithValues: (0..<30).map { ("key \(group * 30 + $0)", $0) })
        }
        for _ in 0..<2 { for (second, value) in keys.enumerated() { try link.send(Fields(value), second) } }
        let codec = CompactCodec()
        let read = try link.payloads().map { try codec.decode([String: Int].self, from: $0.bytes) }
        #expect(read == keys + keys)

        var table = NameTable(capacity: .max)
        for value in keys {
            try codec.withNamesFirst.encode(Fields(value)).withUnsafeBytes { table.remember(namesOf: $0) }
        }
        #expect(table.count == NameTable.capacityMax)
    }

    @Test("names of 1 to 32 bytes are numbered, others are written in full", arguments: [0, 1, 31, 32, 33, 200])
    func lengths(count: Int) throws {
        var link = Link()
        let value = [String(repeating: "n", count: count): 1, "other": 2]
        for second in 0..<4 { try link.send(Fields(value), second) }
        let read = try link.payloads().map { try CompactCodec().decode([String: Int].self, from: $0.bytes) }
        #expect(read == [value, value, value, value])
        var table = NameTable(capacity: .max)
        try CompactCodec(namesFirst: true).encode(Fields(value)).withUnsafeBytes { table.remember(namesOf: $0) }
        #expect(table.count == ((1...32).contains(count) ? 2 : 1))
    }

    @Test("a frame that could not be made leaves no name behind", arguments: policies.indices)
    func failedEncoding(policy: Int) throws {
        var link = Link(compression: Self.policies[policy], limits: FrameLimits(frameBytes: 3000))
        try link.send(Tap.pause(at: 1), 1)
        var generator = SplitMix64(seed: 11)
        let noise = (0..<4000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        #expect(throws: WireError.self) { try link.send(["fresh": noise], 2) }
        try link.send(Fields(["later": 3]), 3)
        try link.send(Fields(["fresh": 4]), 4)
        try link.send(Tap.pause(at: 5), 5)
        let payloads = try link.payloads()
        #expect(payloads.count == 4)
        #expect(try CompactCodec().decode([String: Int].self, from: payloads[1].bytes) == ["later": 3])
        #expect(try CompactCodec().decode([String: Int].self, from: payloads[2].bytes) == ["fresh": 4])
        #expect(try CompactCodec().decode(Tap.self, from: payloads[3].bytes) == .pause(at: 5))
    }

    @Test("a reader understands a sender that starts a new table")
    func reset() throws {
        var old = Link()
        for second in 0..<3 { try old.send(Fields(["first": 1, "second": 2]), second) }
        var new = Link()
        for second in 0..<3 { try new.send(Fields(["third": 3, "first": 1]), second) }
        let payloads = try Link.payloads(old.stream + new.stream)
        let read = try payloads.map { try CompactCodec().decode([String: Int].self, from: $0.bytes) }
        let (before, after) = (["first": 1, "second": 2], ["third": 3, "first": 1])
        #expect(read == [before, before, before, after, after, after])
    }

    @Test("one name twice in a list is two names")
    func duplicates() throws {
        // No writer of this library produces this: names 1 and 2 are both `a`.
        let payload: [UInt8] = [19, 2, 1, 97, 1, 97, 5, 8, 2, 0]
        var link = Link()
        let relayed = EncodedPayload(bytes: payload, codec: CompactCodec())
        for _ in 0..<3 {
            try link.send(.envelope(AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: relayed)))
            try link.send(Fields(["b": 1]), 1)
        }
        let read = try link.payloads().map { try CompactCodec().decode([String: Int].self, from: $0.bytes) }
        #expect(read == [["a": 1], ["b": 1], ["a": 1], ["b": 1], ["a": 1], ["b": 1]])
    }

    @Test("names behind one that a list has twice keep their numbers")
    func namesBehindDuplicates() throws {
        // Names 1 and 2 are both `a`, name 3 is `b`.
        let payload: [UInt8] = [19, 3, 1, 97, 1, 97, 1, 98, 5, 0x18, 2, 0]
        var link = Link()
        let relayed = EncodedPayload(bytes: payload, codec: CompactCodec())
        for _ in 0..<3 {
            try link.send(.envelope(AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: relayed)))
            try link.send(Fields(["c": 2]), 1)
        }
        let read = try link.payloads().map { try CompactCodec().decode([String: Int].self, from: $0.bytes) }
        #expect(read == [["b": 1], ["c": 2], ["b": 1], ["c": 2], ["b": 1], ["c": 2]])
    }

    @Test("a reader without the connection refuses the frame")
    func withoutConnection() throws {
        var link = Link()
        let frames = try (0..<2).map { try link.frame(Tap.pause(at: 1), $0, interningIdentity: false) }
        for frame in frames {
            #expect(frame[4] & FrameFlags.names.rawValue != 0)
            var alone = FrameDecoder(codecs: Self.codecs)
            #expect(throws: WireError.self) { try alone.decode(frame) }
        }
        #expect(throws: WireError.self) { try Link.payloads(frames[1]) }
    }

    @Test("a payload that doesn't start with a list of names is sent unchanged")
    func malformed() throws {
        let fronts: [[UInt8]] = [
            [19], [19, 0x80], [19, 3, 1, 97], [19, 1, 9, 97], [19, 0xFF, 0xFF, 0x7F], [19, 0], [19, 19],
        ]
        var link = Link()
        for front in fronts {
            let payload = EncodedPayload(bytes: front, codec: CompactCodec())
            try link.send(.envelope(AnySessionSyncEnvelope(metadata: Sample.metadata(), payload: payload)))
        }
        #expect(try link.payloads().map(\.bytes) == fronts)
        for front in fronts {
            #expect(throws: WireError.self) { try CompactCodec().decode([String: Int].self, from: front) }
            #expect(throws: WireError.self) { try CompactCodec(usesDirectPath: false).decode(Tap.self, from: front) }
        }
    }

    @Test("any damage to a list of names ends in an error or in a message")
    func damage() throws {
        for seed in 0..<400 as Range<UInt64> {
            var generator = SplitMix64(seed: seed)
            var link = Link()
            for second in 0..<4 { try link.send(Tap.lap(index: second, note: "n"), second) }
            var bytes = Array(link.stream)
            // Changes the last bytes of each body, past its metadata, and corrects the checksums.
            var offset = 0
            var mended: [UInt8] = []
            while offset < bytes.count {
                guard
                    let header = try bytes[offset...].withUnsafeBytes({
                        try FrameHeader.parse($0, limits: FrameLimits())
                    })
                else { break }
                var body = Array(bytes[(offset + header.headerBytes)...].prefix(header.bodyBytes))
                for _ in 0..<2 {
                    let place = body.count - 1 - Int.random(in: 0..<min(40, body.count), using: &generator)
                    body[place] = UInt8.random(in: 0...255, using: &generator)
                }
                mended += Sample.frame(kind: 2, codec: 2, flags: header.flags.rawValue, body: body)
                offset += header.frameBytes
            }
            bytes = mended
            guard let payloads = try? Link.payloads(bytes) else { continue }
            for payload in payloads { _ = try? CompactCodec().decode(Tap.self, from: payload.bytes) }
        }
    }
}

/// Both ends of a connection.
private struct Link: ~Copyable {
    private var encoder: FrameEncoder
    private var writer = WireWriter()
    private let codec = CompactCodec(usesDirectPath: false)

    init(compression: CompressionPolicy = .stored, limits: FrameLimits = FrameLimits()) {
        encoder = FrameEncoder(
            codec: CompactCodec(usesDirectPath: false), compression: compression, interning: true, limits: limits)
    }

    var stream: [UInt8] { writer.array() }

    mutating func send(_ message: WireMessage) throws { try encoder.append(message, to: &writer) }

    mutating func send(_ payload: some Codable & Sendable, _ second: Int) throws {
        try send(.envelope(try AnySessionSyncEnvelope(envelope(payload, second))))
    }

    mutating func frame(
        _ payload: some Codable & Sendable, _ second: Int, interningIdentity: Bool = true
    ) throws -> [UInt8] {
        let start = writer.count
        var envelope = envelope(payload, second)
        // Too long to be remembered.
        if !interningIdentity { envelope.metadata.sourcePeerID = String(repeating: "p", count: 1100) }
        try send(.envelope(try AnySessionSyncEnvelope(envelope)))
        return Array(writer.array()[start...])
    }

    private func envelope<Payload: Codable & Sendable>(
        _ payload: Payload, _ second: Int
    ) -> SessionSyncEnvelope<Payload> {
        var metadata = Sample.metadata(sequence: 42 + UInt64(second), advancedMilliseconds: UInt64(second) * 1000)
        metadata.stamp = HybridTimestamp(milliseconds: metadata.stamp.milliseconds)
        metadata.promise = SequencePromise(sequence: metadata.sequence, stamp: metadata.stamp)
        return SessionSyncEnvelope(metadata: metadata, payload: payload)
    }

    func payloads(pieceBytes: Int = .max) throws -> [EncodedPayload] {
        try Self.payloads(stream, pieceBytes: pieceBytes)
    }

    func taps() throws -> [Tap] { try payloads().map { try codec.decode(Tap.self, from: $0.bytes) } }

    static func payloads(_ stream: [UInt8], pieceBytes: Int = .max) throws -> [EncodedPayload] {
        var decoder = FrameStreamDecoder(codecs: try CodecTable([Sample.codec, CompactCodec(), JSONCodec()]))
        var payloads: [EncodedPayload] = []
        var rest = stream[...]
        while !rest.isEmpty {
            decoder.append(Array(rest.prefix(pieceBytes)))
            rest = rest.dropFirst(pieceBytes)
            while let message = try decoder.next() {
                guard case .envelope(let envelope) = message else { continue }
                payloads.append(try envelope.encodedPayload(with: Sample.codec))
            }
        }
        return payloads
    }
}

/// A record with any fields, which never uses the direct path.
private struct Fields: Codable {
    let fields: [String: Int]

    init(_ fields: [String: Int]) { self.fields = fields }

    func encode(to encoder: any Encoder) throws { try fields.encode(to: encoder) }
    init(from decoder: any Decoder) throws { fields = try [String: Int](from: decoder) }
}
