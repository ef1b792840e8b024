import MeshBase
import MeshIdentity

@testable import MeshWire

/// Frames with marks, reports, and frames that arrive in pieces on a stream.
extension GoldenVector {
    static let marks: [GoldenVector] = [
        GoldenVector(name: "mark") { try alone(envelope(Sample.metadata()), Sample.marks[0]) },
        GoldenVector(name: "mark-latest") { try alone(snapshot(laps: 3, checkpoint: [7]), Sample.marks[4]) },
        GoldenVector(name: "mark-later-fields") {
            marked([0b110, 1, 2, 3, 4, 5, 4, 0x80, 0x01, 4, 9, 2, 0xAA, 0xBB])
        },
        GoldenVector(name: "report") { try alone(.report(Sample.reports[1]), nil) },
        GoldenVector(name: "report-empty") { try alone(.report(Sample.reports[0]), nil) },
        GoldenVector(name: "connection-marks") { try connection(.stored) },
        GoldenVector(name: "stream-fragments") { try pieces() },
    ]

    static let refusedMarks: [GoldenVector] = [
        refused("mark-goodbye") { Sample.frame(kind: 5, codec: 0, flags: 32, body: [0, 0, 0]) },
        refused("mark-report") {
            Sample.frame(kind: 7, codec: 0, flags: 32, body: [0, 1, 2, 3, 4, 9, 0, 0, 0, 0, 0, 0])
        },
        refused("mark-skippable") { Sample.frame(kind: 99, codec: 0, flags: 40, body: [0, 1, 2, 3, 4, 9, 0]) },
        refused("mark-flag") { marked([8, 1, 2, 3, 4, 9, 0]) },
        refused("mark-zero") { marked([0, 1, 2, 3, 4, 0, 0]) },
        refused("mark-latest-zero") { marked([1, 1, 2, 3, 4, 0]) },
        refused("mark-first") { marked([0, 1, 2, 3, 4, 9, 9]) },
        refused("mark-short") { Sample.frame(kind: 2, flags: 32, body: [0, 1, 2, 3, 4, 9]) },
    ]

    static let refusedReports: [GoldenVector] = [
        refused("report-presence") { Sample.frame(kind: 7, codec: 0, body: [2, 0, 0, 0, 0]) },
        refused("report-receipts") { Sample.frame(kind: 7, codec: 0, body: [0, 0, 0x81, 2, 2]) },
        refused("report-floors") { Sample.frame(kind: 7, codec: 0, body: [0, 0, 0, 0x81, 2, 2]) },
        refused("report-floor") { Sample.frame(kind: 7, codec: 0, body: [0, 0, 0, 1, 2, 1, 2, 3, 4, 0, 0]) },
        refused("report-ranges") { Sample.frame(kind: 7, codec: 0, body: [0, 0, 1, 2, 1, 2, 3, 4, 9, 65]) },
        refused("report-range") {
            let end = [UInt8](repeating: 0xFF, count: 9) + [1]
            return Sample.frame(kind: 7, codec: 0, body: [0, 0, 1, 2, 1, 2, 3, 4] + end + [1, 0, 0, 0, 0])
        },
        refused("report-short") { Sample.frame(kind: 7, codec: 0, body: [0, 0, 1, 2, 1, 2, 3, 4, 9, 1, 0]) },
        refused("report-trailing") { Sample.frame(kind: 7, codec: 0, body: [0, 0, 0, 0, 0, 0]) },
    ]

    static let refusedPieces: [GoldenVector] =
        [
            refused("fragment-marked") { Sample.frame(kind: 6, codec: 0, flags: 32, body: [1, 20, 10, 0] + ten) },
            refused("fragment-deflate") { Sample.frame(kind: 6, codec: 0, flags: 1, body: [1, 20, 10, 0] + ten) },
            refused("fragment-missing") { Sample.frame(kind: 6, codec: 0, body: [1, 20, 10, 0] + ten) },
            refused("fragment-contradiction") {
                Sample.frame(kind: 6, codec: 0, body: [1, 20, 10, 0] + ten)
                    + Sample.frame(kind: 6, codec: 0, body: [1, 21, 10, 1] + ten)
            },
            refused("fragments-many") {
                (0..<9 as Range<UInt8>).flatMap { Sample.frame(kind: 6, codec: 0, body: [$0, 20, 10, 0] + ten) }
            },
            refused("fragments-nested") {
                try cut(Sample.frame(kind: 6, codec: 0, body: [1, 100, 90, 0] + [UInt8](repeating: 0, count: 90)))
            },
            refused("fragments-trailing") { try cut(try alone(envelope(Sample.metadata()), nil) + [0]) },
            refused("fragments-damaged") { try cut(try alone(envelope(Sample.metadata()), nil).dropLast() + [0]) },
        ] + ofConnection.map { vector in refused("fragments-\(vector.name)") { try cut(try vector.make()) } }

    /// Frames that are valid on a connection only.
    static let ofConnection: [GoldenVector] = [
        GoldenVector(name: "identity") { try stream([envelope(Sample.metadata())], .stored) },
        GoldenVector(name: "names") {
            var writer = WireWriter()
            writer.write(Sample.metadata(), tableOf: 0)
            let body = writer.array() + [1, 0, 1, 97, 5, 0]
            return Sample.frame(kind: 2, codec: CompactCodec.id.number, flags: 16, body: body)
        },
    ]

    private static let ten = [UInt8](repeating: 7, count: 10)

    /// Envelopes by name and by number, with and without marks, a snapshot and reports.
    private static func connection(_ compression: CompressionPolicy) throws -> [UInt8] {
        let codec = CompactCodec(mode: .deterministic)
        var encoder = FrameEncoder(codec: codec, compression: compression, interning: true)
        var writer = WireWriter()
        for second in 0..<10 as Range<UInt64> {
            let metadata = Sample.metadata(sequence: 42 + second, advancedMilliseconds: second * 1000)
            let event = SessionSyncEnvelope(metadata: metadata, payload: Tap.pause(at: Double(second)))
            let mark = WireMark(
                outbox: 0xC0FF_EE11, sequence: 126 + second, first: 125 + second / 3,
                expiresAt: second == 4 ? Sample.milliseconds + 60_000 : nil)
            try encoder.append(
                .envelope(try AnySessionSyncEnvelope(event)), mark: second % 4 == 3 ? nil : mark, to: &writer)
            if second == 5 {
                try encoder.append(snapshot(laps: 30, checkpoint: nil), mark: Sample.marks[3], to: &writer)
            }
            if second == 6 { try encoder.append(.report(Sample.reports[1]), to: &writer) }
        }
        return writer.array()
    }

    /// Two large frames in pieces, interleaved with each other and with the frames of a connection.
    private static func pieces() throws -> [UInt8] {
        let limit = PayloadLimit(id: "golden", bytes: 256, summary: "", source: "")
        var fragmenter = FrameFragmenter(limit: limit, firstMessage: .max)
        let large = try fragmenter.fragments(of: alone(snapshot(laps: 200, checkpoint: nil), Sample.marks[3]))
        let other = try fragmenter.fragments(of: alone(envelope(Sample.metadata(), payload: text), nil))
        var encoder = FrameEncoder(codec: Sample.codec, compression: .stored, interning: true)
        var stream: [UInt8] = []
        for (index, piece) in large.enumerated() {
            stream += piece
            if index < other.count { stream += other[index] }
            let second = UInt64(index)
            stream += try encoder.encode(
                envelope(Sample.metadata(sequence: 42 + second, advancedMilliseconds: second * 100)),
                mark: WireMark(outbox: 9, sequence: second + 1, first: 1))
        }
        return stream
    }

    private static let text = #"{"note":"\#(String(repeating: "up and down ", count: 40))"}"#

    /// Cuts a frame into pieces of 32 bytes.
    private static func cut(_ frame: [UInt8]) throws -> [UInt8] {
        var fragmenter = FrameFragmenter(limit: PayloadLimit(id: "golden", bytes: 64, summary: "", source: ""))
        return try fragmenter.fragments(of: frame).flatMap { $0 }
    }

    private static func alone(_ message: WireMessage, _ mark: WireMark?) throws -> [UInt8] {
        var encoder = FrameEncoder(codec: Sample.codec, compression: .stored)
        return try encoder.encode(message, mark: mark)
    }

    /// An envelope after the mark.
    private static func marked(_ mark: [UInt8]) -> [UInt8] {
        var writer = WireWriter()
        writer.write(Sample.metadata(), tableOf: 0)
        return Sample.frame(kind: 2, flags: FrameFlags.marked.rawValue, body: mark + writer.array() + Array("{}".utf8))
    }
}
