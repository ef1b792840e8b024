import Foundation
import MeshBus
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

/// Events of a connection that are read by their type: what the erased way makes of the same bytes.
@Suite struct TypedFrameTests {
    static let policies: [CompressionPolicy] = [.stored, .zlib(minimumBytes: 1), .connection(minimumBytes: 1)]

    @Test(arguments: GoldenVector.all + GoldenVector.refused)
    func `Golden frames say the same, however they are cut and by whichever turns`(vector: GoldenVector) throws {
        let bytes = try vector.make()
        let expected = Transcript(bytes, turns: [.erased])
        for turns in Turns.all { #expect(Transcript(bytes, turns: turns) == expected, "\(turns)") }
        #expect(Transcript(bytes, turns: [.typed], pieces: [Int](repeating: 1, count: bytes.count)) == expected)
        for cut in stride(from: 1, to: bytes.count, by: 1 + bytes.count / 24) {
            #expect(Transcript(bytes, turns: [.typed], pieces: [cut, .max]) == expected, "cut at \(cut)")
            #expect(
                Transcript(Array(bytes[..<cut]), turns: [.typed])
                    == Transcript(Array(bytes[..<cut]), turns: [.erased]), "ends at \(cut)")
        }
    }

    @Test(arguments: policies.indices, [false, true])
    func `Direct events are read in place, all others erased`(policy: Int, interning: Bool) throws {
        let bytes = try Self.conversation(Self.policies[policy], interning: interning)
        let expected = Transcript(bytes, turns: [.erased])
        #expect(expected.failure == nil)
        for turns in Turns.all {
            let transcript = Transcript(bytes, turns: turns)
            #expect(transcript == expected, "\(turns)")
        }
        let typed = Transcript(bytes, turns: [.typed])
        // Of each round: one event; a tap by name, a list, an event of another type and a goodbye are none.
        #expect(typed.inPlace == Self.rounds)
        #expect(typed.lines.count == Self.rounds * 5)
        for seed in 0..<6 as Range<UInt64> {
            var generator = SplitMix64(seed: seed)
            let pieces = (0..<bytes.count).map { _ in Int.random(in: 0...97, using: &generator) }
            #expect(Transcript(bytes, turns: Turns.all[2], pieces: pieces) == expected, "seed \(seed)")
        }
    }

    @Test func `A payload that the type cannot be read from comes erased, and the stream goes on`() throws {
        var encoder = FrameEncoder(codec: CompactCodec(), compression: .stored, interning: true)
        var decoder = FrameStreamDecoder(codecs: try CodecTable([CompactCodec()]))
        decoder.append(try encoder.encode(SessionSyncEnvelope(metadata: Sample.metadata(), payload: [1, 2, 3])))
        let event = SessionSyncEnvelope(metadata: Sample.metadata(sequence: 43), payload: SamplePayloads.event())
        decoder.append(try encoder.encode(event))
        guard case .other(.envelope(let erased))? = try decoder.next(SampleEvent.self, payloadType: Self.type) else {
            Issue.record("a list was read as an event")
            return
        }
        #expect(throws: SessionSyncError.self) { try erased.decodePayload(as: SampleEvent.self) }
        #expect(try erased.decodePayload(as: [Int].self) == [1, 2, 3])
        guard case .event(let read)? = try decoder.next(SampleEvent.self, payloadType: Self.type) else {
            Issue.record("the event was not read in place")
            return
        }
        #expect(read == event)
        let isAtEnd = decoder.isAtFrameBoundary
        #expect(isAtEnd)
    }

    /// Bounds and switches of the codec that is registered hold for both ways.
    @Test func `The registered codec decides what is read in place`() throws {
        var encoder = FrameEncoder(codec: CompactCodec(), compression: .stored, interning: true)
        // Two levels: the innermost list is a block.
        let deep = SessionSyncEnvelope(metadata: Sample.metadata(), payload: [[[1]]])
        let frame = try encoder.encode(deep)
        let codecs: [(any PayloadCodec, isInPlace: Bool)] = [
            (CompactCodec(), true), (CompactCodec(depthMax: 2), true), (CompactCodec(depthMax: 1), false),
            (CompactCodec(usesDirectPath: false), false), (PlainCodec(id: CompactCodec.id), false),
        ]
        for (codec, isInPlace) in codecs {
            var decoder = FrameStreamDecoder(codecs: try CodecTable([codec]))
            decoder.append(frame)
            switch try decoder.next([[[Int]]].self, payloadType: Self.type) {
            case .event(let event): #expect(isInPlace && event == deep, "\(codec)")
            case .other(.envelope): #expect(!isInPlace, "\(codec)")
            default: Issue.record("\(codec) lost the frame")
            }
        }
        var decoder = FrameStreamDecoder(codecs: Sample.codecs)
        decoder.append(frame)
        let error = #expect(throws: WireError.self) { try decoder.next([[[Int]]].self, payloadType: Self.type) }
        #expect(error?.code == .unknownCodec)
    }

    @Test(arguments: 0..<24 as Range<UInt64>)
    func `Damage with mended checksums ends both ways alike`(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let policy = Self.policies[Int(seed % 3)]
        let bytes = try Self.conversation(policy, interning: true)
        for _ in 0..<12 {
            let damaged = try Self.damaged(bytes, &generator)
            let expected = Transcript(damaged, turns: [.erased])
            for turns in Turns.all { #expect(Transcript(damaged, turns: turns) == expected, "seed \(seed)") }
        }
    }
}

// MARK: - Streams

extension TypedFrameTests {
    static let type = "workout.event"
    private static let rounds = 8

    /// Events in place, events by name, events of another type, lists and goodbyes of two sources in turn.
    private static func conversation(_ policy: CompressionPolicy, interning: Bool) throws -> [UInt8] {
        var encoder = FrameEncoder(codec: CompactCodec(), compression: policy, interning: interning)
        var writer = WireWriter()
        for round in 0..<UInt64(rounds) {
            func metadata(_ type: String = type) -> SessionSyncMetadata {
                var metadata = Sample.metadata(
                    sequence: 42 + round, source: round % 3 == 0 ? Sample.watch : Sample.phone, payloadType: type,
                    advancedMilliseconds: round * 950)
                if round % 2 == 0 { metadata.promise = nil } else { metadata.acknowledgedSequence = round }
                if round % 4 == 1 { metadata.explicitEventID = Sample.session }
                if round % 5 == 2 { metadata.monotonicTimestamp = nil }
                return metadata
            }
            func envelope<Payload>(_ payload: Payload, _ type: String = type) -> SessionSyncEnvelope<Payload> {
                SessionSyncEnvelope(metadata: metadata(type), payload: payload)
            }
            let tap = envelope(Tap.lap(index: Int(round), note: "noted"))
            try encoder.append(envelope(SamplePayloads.event()), to: &writer)
            try encoder.append(.envelope(AnySessionSyncEnvelope(tap)), to: &writer)
            try encoder.append(envelope([0.5, Double(round)]), to: &writer)
            try encoder.append(envelope(SamplePayloads.event(), "other.event"), to: &writer)
            try encoder.append(.goodbye(WireGoodbye(.closing)), to: &writer)
        }
        return writer.array()
    }

    /// One frame's body changed in one or two places, its checksum made to fit.
    private static func damaged(_ bytes: [UInt8], _ generator: inout SplitMix64) throws -> [UInt8] {
        var frames: [(header: FrameHeader, bytes: [UInt8])] = []
        var rest = bytes[...]
        while let header = try Array(rest).withUnsafeBytes({ try FrameHeader.parse($0, limits: FrameLimits()) }) {
            frames.append((header, Array(rest.prefix(header.frameBytes))))
            rest = rest.dropFirst(header.frameBytes)
        }
        let place = Int.random(in: frames.indices, using: &generator)
        let (header, frame) = frames[place]
        var body = Array(frame[header.headerBytes...].prefix(header.bodyBytes))
        for _ in 0..<Int.random(in: 1...2, using: &generator) where !body.isEmpty {
            // Most often in the metadata.
            let end = Bool.random(using: &generator) ? min(16, body.count) : body.count
            body[Int.random(in: 0..<end, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
        }
        if Int.random(in: 0..<4, using: &generator) == 0 { body.removeLast(min(body.count, 3)) }
        frames[place].bytes = Sample.frame(
            kind: header.kind.rawValue, codec: header.codec, flags: header.flags.rawValue, body: body)
        return frames.flatMap(\.bytes)
    }
}

/// Which way is taken for one message after another, over and over.
private enum Turns {
    case erased, typed

    static let all: [[Turns]] = [[.typed], [.typed, .erased], [.erased, .typed, .typed, .erased, .erased]]
}

/// What a stream says, and how it ends. Compared without how its events were read.
private struct Transcript: Equatable {
    var lines: [String] = []
    var failure: WireError?
    var inPlace = 0

    init(_ bytes: [UInt8], turns: [Turns], pieces: [Int] = [.max]) {
        guard let codecs = try? CodecTable([Sample.codec, CompactCodec()]) else { return }
        var decoder = FrameStreamDecoder(codecs: codecs)
        var rest = bytes[...]
        var calls = 0
        do throws(WireError) {
            for piece in pieces {
                decoder.append(Array(rest.prefix(piece)))
                rest = rest.dropFirst(piece)
                while try take(turns[calls % turns.count], &decoder) { calls += 1 }
            }
        } catch {
            failure = error
            let stated = decoder.failure
            #expect(stated?.message == error.message)
        }
    }

    private mutating func take(_ turn: Turns, _ decoder: inout FrameStreamDecoder) throws(WireError) -> Bool {
        guard turn == .typed else { return note(try decoder.next()) }
        switch try decoder.next(SampleEvent.self, payloadType: TypedFrameTests.type) {
        case .other(let message): return note(message)
        case .event(let event):
            inPlace += 1
            lines.append("\(event.metadata.essence) \(event.payload)")
            return true
        case nil: return false
        }
    }

    private mutating func note(_ message: WireMessage?) -> Bool {
        guard let message else { return false }
        if case .envelope(let erased) = message, let event = try? erased.decodePayload(as: SampleEvent.self) {
            lines.append("\(erased.metadata.essence) \(event)")
        } else {
            lines.append(message.essence)
        }
        return true
    }

    static func == (left: Self, right: Self) -> Bool {
        left.lines == right.lines && left.failure?.code == right.failure?.code
            && left.failure?.message == right.failure?.message
    }
}
