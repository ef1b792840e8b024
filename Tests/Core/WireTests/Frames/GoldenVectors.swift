import Foundation
import MeshBase
import MeshIdentity
import Testing

@testable import MeshWire

/// Frames whose bytes are committed under Tests/Fixtures/Wire, and the code that makes them.
struct GoldenVector: Sendable, CustomTestStringConvertible {
    let name: String
    /// False for compressed bodies: they differ between versions of zlib.
    var isExact = true
    let make: @Sendable () throws -> [UInt8]

    var testDescription: String { name }

    static let all = basic + marks

    /// Bytes that every reader must reject with the same code.
    static let refused = refusedFrames + refusedMarks + refusedReports + refusedPieces

    private static let basic: [GoldenVector] = [
        single(
            "hello", .hello(WireHello(peer: peer, codecs: [1, 2, 3], dictionaries: [CompressionDictionary.builtIn.id]))),
        single("hello-formats", .hello(announcing([1, 200]))),
        single("goodbye", .goodbye(WireGoodbye(.closing))),
        single("goodbye-detail", .goodbye(WireGoodbye(.unsupportedVersion, detail: "nur Version 2, bitte — ⌚️"))),
        single("snapshot-request", .snapshotRequest(WireSnapshotRequest(sessionID: Sample.session, requester: peer))),
        single("snapshot-request-anonymous", .snapshotRequest(WireSnapshotRequest(sessionID: Sample.session))),
        single("envelope", envelope(Sample.metadata())),
        single("envelope-explicit-id", envelope(Sample.metadata(sequence: 0, eventID: Sample.session))),
        single("envelope-by-hand", envelope(byHand)),
        single("envelope-empty-payload", envelope(Sample.metadata(), payload: "")),
        GoldenVector(name: "envelope-later-fields") { laterFields() },
        single("snapshot", snapshot(laps: 3, checkpoint: nil)),
        single("snapshot-checkpoint", snapshot(laps: 30, checkpoint: [0, 1, 0xFE, 0xFF])),
        GoldenVector(name: "snapshot-deflate", isExact: false) {
            try stream([snapshot(laps: 200, checkpoint: nil)], .zlib(), interning: false)
        },
        GoldenVector(name: "snapshot-dictionary", isExact: false) {
            try stream([snapshot(laps: 20, checkpoint: nil)], .dictionary(.builtIn), interning: false)
        },
        GoldenVector(name: "connection") {
            let skipped = Sample.frame(kind: 99, codec: 0, flags: FrameFlags.skippable.rawValue, body: [1, 2, 3])
            return try stream(conversation, .stored) + skipped + Sample.frame(kind: 5, codec: 0, body: [3, 0, 0])
        },
        GoldenVector(name: "connection-slots") {
            try stream((0..<75).map { envelope(Sample.metadata(source: "peer \($0 % 65)")) }, .stored)
        },
        GoldenVector(name: "connection-names") { try names(.stored) },
        GoldenVector(name: "connection-direct") { try direct(.stored) },
        GoldenVector(name: "fragments") {
            var encoder = FrameEncoder(codec: Sample.codec, compression: .stored)
            let frame = try encoder.encode(snapshot(laps: 100, checkpoint: nil))
            let limit = PayloadLimit(id: "golden", bytes: 200, summary: "", source: "")
            var fragmenter = FrameFragmenter(limit: limit, firstMessage: 300)
            return try fragmenter.fragments(of: frame).reversed().flatMap { $0 }
        },
    ]

    private static let refusedFrames: [GoldenVector] = [
        refused("foreign") { Array("{}".utf8) },
        refused("version") { [FrameHeader.magic, 9, 0, 0, 0] },
        refused("header") { changed(goodbye, 5) },
        refused("checksum") { changed(goodbye, 12) },
        refused("body") { changed(goodbye, 8) },
        refused("reserved-flag") { Sample.frame(kind: 5, codec: 0, flags: 0x80, body: [0, 0, 0]) },
        refused("kind") { Sample.frame(kind: 99, codec: 0, body: [1]) },
        refused("trailing") { Sample.frame(kind: 5, codec: 0, body: [0, 0, 0, 0]) },
        refused("short-body") { Sample.frame(kind: 5, codec: 0, body: [0, 9, 65]) },
        refused("not-utf8") { Sample.frame(kind: 5, codec: 0, body: [0, 2, 0xC3, 0x28, 0]) },
        refused("presence") { Sample.frame(kind: 4, codec: 0, body: [UInt8](repeating: 2, count: 17) + [0]) },
        refused("long-varint") { Sample.frame(kind: 2, body: [0] + [UInt8](repeating: 0xFF, count: 10)) },
        refused("slot") { Sample.frame(kind: 2, body: [0, 2, 1]) },
        refused("name") { named([1, 2, 5, 0]) },
        refused("name-out-of-turn") { named([1, 3, 1, 97, 5, 0]) },
        refused("name-beyond-table") { named([1, 0x81, 0x10, 1, 97, 5, 0]) },
        refused("name-too-long") { named([1, 1, 33] + [UInt8](repeating: 97, count: 33) + [5, 0]) },
        refused("name-empty") { named([1, 1, 0, 5, 0]) },
        refused("names-short") { named([2, 0, 1, 97]) },
        refused("names-count") { named([9, 0, 1, 97, 5, 0]) },
        refused("names-codec") { named([0, 5, 0], codec: 200) },
        refused("names-kind") { Sample.frame(kind: 5, codec: 2, flags: 16, body: [0, 0, 0]) },
        refused("incarnation") {
            let identity = [0, 0, 2] + [UInt8](repeating: 1, count: 16) + [2, 2, 2]
            return Sample.frame(kind: 2, body: identity + [0xFF, 0xFF, 0xFF, 0xFF, 0x10, 0, 1])
        },
        refused("dictionary") { Sample.frame(kind: 2, flags: 2, body: [1, 2, 3, 4, 1, 3, 0]) },
        refused("bomb") { Sample.frame(kind: 2, flags: 1, body: [100, 1, 2, 3, 4]) },
        refused("deflate") { Sample.frame(kind: 2, flags: 1, body: [8, 0xFF, 0xFF, 0xFF, 0xFF]) },
        refused("deflate-length") { Sample.frame(kind: 5, codec: 0, flags: 1, body: [4] + deflated([0, 0, 0])) },
        refused("deflate-trailing") {
            Sample.frame(kind: 5, codec: 0, flags: 1, body: [3] + deflated([0, 0, 0]) + [0])
        },
        refused("part") { Sample.frame(kind: 5, codec: 0, flags: 3, body: [1, 3, 0]) },
        refused("part-number") { Sample.frame(kind: 5, codec: 0, flags: 7, body: [1, 3, 0]) },
        refused("format") { Sample.frame(kind: 5, codec: 0, flags: 0x41, body: [200, 3, 1, 3, 0]) },
        refused("format-stored") { Sample.frame(kind: 5, codec: 0, flags: 0x40, body: [0, 0, 0]) },
        refused("format-reserved") { Sample.frame(kind: 5, codec: 0, flags: 0x43, body: [200, 3, 0]) },
        refused("fragment") { Sample.frame(kind: 6, codec: 0, body: [1, 20, 0, 0]) },
    ]

    private static var goodbye: [UInt8] { Sample.frame(kind: 5, codec: 0, body: [0, 0, 0]) }

    static func refused(_ name: String, _ make: @escaping @Sendable () throws -> [UInt8]) -> GoldenVector {
        GoldenVector(name: "refused-\(name)", make: make)
    }

    private static func changed(_ bytes: [UInt8], _ position: Int) -> [UInt8] {
        var bytes = bytes
        bytes[position] ^= 0x10
        return bytes
    }

    /// An envelope of the compact codec with the given bytes as its list of names and payload.
    private static func named(_ list: [UInt8], codec: UInt8 = CompactCodec.id.number) -> [UInt8] {
        var writer = WireWriter()
        writer.write(Sample.metadata(), tableOf: 0)
        return Sample.frame(kind: 2, codec: codec, flags: 16, body: writer.array() + list)
    }

    /// One stored block, because every zlib writes it identically.
    private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        [1, UInt8(bytes.count), 0, ~UInt8(bytes.count), 0xFF] + bytes
    }

    private static func single(_ name: String, _ message: WireMessage) -> GoldenVector {
        GoldenVector(name: name) { try stream([message], .stored, interning: false) }
    }
}

// MARK: - Messages

extension GoldenVector {
    static let peer = SessionPeer(
        id: Sample.phone, deviceClass: .phone, appInstanceID: Sample.watch, userID: "anna", topology: .pairedCompanion)

    static func envelope(
        _ metadata: SessionSyncMetadata, payload: String = #"{"pause":{"at":781692800.123}}"#
    ) -> WireMessage {
        .envelope(
            AnySessionSyncEnvelope(
                metadata: metadata, payload: EncodedPayload(bytes: Array(payload.utf8), codec: Sample.codec)))
    }

    static func snapshot(laps: Int, checkpoint: [UInt8]?) -> WireMessage {
        let list = (0..<laps).map { "\(300 + $0 * 7 % 40)" }.joined(separator: ",")
        let state = EncodedPayload(bytes: Array(#"{"laps":[\#(list)]}"#.utf8), codec: Sample.codec)
        return .snapshot(
            AnySessionSyncSnapshot(
                metadata: Sample.metadata(sequence: 43, payloadType: "workout.state"), revision: 300,
                peerSequenceVector: [Sample.phone: 42, Sample.watch: 17, "\(Sample.watch)/3405691582": 9, "é": 1],
                state: state, checkpoint: checkpoint))
    }

    /// Metadata by a caller that doesn't use stamps.
    static var byHand: SessionSyncMetadata {
        SessionSyncMetadata(
            protocolVersion: 1, sessionID: Sample.session, featureID: "timer", sourcePeerID: "überall", sequence: 1,
            causalTimestamp: Date(timeIntervalSinceReferenceDate: -0.1), payloadType: "TimerEvent",
            acknowledgedSequence: .max)
    }

    private static func announcing(_ formats: [UInt8]) -> WireHello {
        var hello = WireHello(peer: peer, codecs: [1, 2])
        hello.compressionFormats = formats
        return hello
    }

    static let conversation: [WireMessage] = {
        var messages: [WireMessage] = [.hello(WireHello(peer: peer, codecs: [1, 2, 3]))]
        for second in 0..<12 as Range<UInt64> {
            var metadata = Sample.metadata(
                sequence: 42 + second / 2, source: second % 2 == 0 ? Sample.phone : Sample.watch,
                advancedMilliseconds: second * 950)
            if second == 5 {
                metadata.stamp = HybridTimestamp(milliseconds: Sample.milliseconds - 60_000, counter: 900)
            }
            if second == 6 { metadata.monotonicTimestamp = nil }
            if second > 8 { metadata.causalTimestamp = Date(timeIntervalSinceReferenceDate: -1e9) }
            if second == 10 { metadata.monotonicTimestamp = -1 }
            messages.append(envelope(metadata))
        }
        messages.append(snapshot(laps: 40, checkpoint: nil))
        messages.append(snapshot(laps: 41, checkpoint: [7]))
        messages.append(.snapshotRequest(WireSnapshotRequest(sessionID: Sample.session)))
        messages.append(.goodbye(WireGoodbye(.closing, detail: "done")))
        return messages
    }()

    static func stream(
        _ messages: [WireMessage], _ compression: CompressionPolicy, interning: Bool = true
    ) throws -> [UInt8] {
        try Sample.stream(messages, compression: compression, interning: interning)
    }

    /// An envelope of a later version with two more metadata fields.
    private static func laterFields() -> [UInt8] {
        var writer = WireWriter()
        writer.write(Sample.metadata(), tableOf: 0)
        var body = writer.array()
        body[0] |= 1 << 4
        body += [7, 1, 2, 0xAA, 0xBB, 0x90, 0x01, 0]
        return Sample.frame(kind: 2, body: body + Array("{}".utf8))
    }
}
