import Foundation
import MeshIdentity
import Testing

@testable import MeshWire

@Suite("Marks")
struct MarkTests {
    static let marked: [WireMessage] = [
        .envelope(Sample.envelope()), .snapshot(Sample.snapshot(laps: 400, checkpoint: [1])),
    ]

    @Test("every mark comes back in front of its message, alone", arguments: Sample.marks, marked.indices)
    func alone(mark: WireMark, index: Int) throws {
        for policy in [CompressionPolicy.stored, .zlib(minimumBytes: 1), .dictionary(.builtIn, minimumBytes: 1)] {
            var encoder = FrameEncoder(codec: Sample.codec, compression: policy)
            var decoder = FrameDecoder(codecs: Sample.codecs)
            let bytes = try encoder.encode(Self.marked[index], mark: mark)
            let frame = try decoder.decodeFrame(bytes)
            #expect(frame?.mark == mark)
            #expect(frame?.message.essence == Self.marked[index].essence)
            #expect(try decoder.decode(bytes)?.essence == Self.marked[index].essence)
            for length in 0..<bytes.count where length < 200 {
                #expect(decoder.failure(Array(bytes[..<length])) == .truncated, "cut at \(length)")
            }
        }
    }

    @Test("marks come and go on a connection, however it is cut", arguments: FrameTests.policies.indices)
    func connection(policy: Int) throws {
        let codec = CompactCodec(mode: .deterministic)
        var encoder = FrameEncoder(codec: codec, compression: FrameTests.policies[policy], interning: true)
        var stream: [UInt8] = []
        var expected: [WireMark?] = []
        for round in 0..<12 {
            let metadata = Sample.metadata(sequence: UInt64(round), advancedMilliseconds: UInt64(round) * 100)
            let event = SessionSyncEnvelope(metadata: metadata, payload: Tap.lap(index: round, note: "note"))
            let mark = round % 3 == 2 ? nil : Sample.marks[round % Sample.marks.count]
            stream += try encoder.encode(.envelope(try AnySessionSyncEnvelope(event)), mark: mark)
            stream += try encoder.encode(.report(Sample.reports[round % 2]))
            expected += [mark, nil]
        }
        for piece in [1, 7, stream.count] {
            var decoder = FrameStreamDecoder(codecs: try CodecTable([codec]))
            var marks: [WireMark?] = []
            for start in Swift.stride(from: 0, to: stream.count, by: piece) {
                decoder.append(Array(stream[start..<min(start + piece, stream.count)]))
                while let frame = try decoder.nextFrame() { marks.append(frame.mark) }
            }
            #expect(marks == expected, "pieces of \(piece)")
        }
    }

    @Test("the mark of an event on a connection takes eight bytes")
    func size() throws {
        func size(_ mark: WireMark?) throws -> Int {
            var encoder = FrameEncoder(codec: Sample.codec, compression: .stored, interning: true)
            _ = try encoder.encode(Self.marked[0])
            return try encoder.encode(Self.marked[0], mark: mark).count
        }
        let plain = try size(nil)
        #expect(try size(WireMark(outbox: .max, sequence: 16_000, first: 15_900)) == plain + 8)
        #expect(try size(WireMark(outbox: .max, sequence: 16_000, first: 16_000, isLatest: true)) == plain + 7)
    }

    @Test("decoding only the message ignores its mark")
    func passedOver() throws {
        let codec = CompactCodec()
        let event = SessionSyncEnvelope(metadata: Sample.metadata(), payload: [1.5, 2.5])
        let message = WireMessage.envelope(try AnySessionSyncEnvelope(event))
        var alone = FrameEncoder(codec: codec)
        let frame = try alone.encode(message, mark: Sample.marks[2])
        var decoder = FrameDecoder(codecs: try CodecTable([codec]))
        guard case .envelope(let read)? = try decoder.decode(frame) else {
            Issue.record("no envelope was read")
            return
        }
        #expect(try read.metadata == event.metadata && read.decodePayload(as: [Double].self) == event.payload)

        var encoder = FrameEncoder(codec: codec, interning: true)
        var stream = FrameStreamDecoder(codecs: try CodecTable([codec]))
        stream.append(try encoder.encode(message, mark: Sample.marks[0]))
        stream.append(try encoder.encode(message))
        for _ in 0..<2 {
            guard case .envelope(let erased)? = try stream.next() else {
                Issue.record("no envelope was read")
                return
            }
            #expect(try erased.decodePayload(as: [Double].self) == event.payload)
        }
    }

    @Test("a latest snapshot is first and last of its kind")
    func latest() throws {
        var encoder = FrameEncoder(codec: Sample.codec)
        var decoder = FrameDecoder(codecs: Sample.codecs)
        let mark = WireMark(outbox: 1, sequence: 9, first: 0, isLatest: true)
        let frame = try decoder.decodeFrame(try encoder.encode(Self.marked[1], mark: mark))
        #expect(frame?.mark == WireMark(outbox: 1, sequence: 9, first: 9, isLatest: true))
    }

    @Test("an invalid mark is not written, and leaves no trace")
    func refusedToWrite() throws {
        var encoder = FrameEncoder(codec: Sample.codec, compression: .zlib(minimumBytes: 1), interning: true)
        var writer = WireWriter()
        try encoder.append(Sample.messages[1], mark: Sample.marks[0], to: &writer)
        let before = writer.array()
        let impossible = [
            WireMark(outbox: 1, sequence: 0, first: 0), WireMark(outbox: 1, sequence: 5, first: 0),
            WireMark(outbox: 1, sequence: 5, first: 6), WireMark(outbox: 1, sequence: 0, first: 0, isLatest: true),
        ]
        for mark in impossible {
            for message in Self.marked {
                let error = #expect(throws: WireError.self) { try encoder.append(message, mark: mark, to: &writer) }
                #expect(error?.code == .invalidValue)
            }
        }
        for message in Sample.messages {
            switch message {
            case .envelope, .snapshot: continue
            case .hello, .snapshotRequest, .report, .goodbye:
                let error = #expect(throws: WireError.self) {
                    try encoder.append(message, mark: Sample.marks[0], to: &writer)
                }
                #expect(error?.code == .invalidValue)
            }
        }
        #expect(writer.array() == before)
        try encoder.append(Sample.messages[2], to: &writer)
        #expect(try Sample.decode(writer.array()) == [Sample.messages[1].essence, Sample.messages[2].essence])
    }

    @Test("only envelopes and snapshots have marks")
    func kinds() throws {
        var decoder = FrameDecoder(codecs: Sample.codecs)
        let marked = FrameFlags.marked.rawValue
        for kind in UInt8.min...UInt8.max where kind != 2 && kind != 3 {
            for flags in [marked, marked | FrameFlags.skippable.rawValue] {
                let frame = Sample.frame(kind: kind, flags: flags, body: [0, 1, 2, 3, 4, 1, 0, 0, 0, 0, 0, 0])
                #expect(decoder.failure(frame) == .corrupted, "kind \(kind)")
            }
        }
    }
}
