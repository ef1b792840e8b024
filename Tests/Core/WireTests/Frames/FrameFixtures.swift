import Foundation
import MeshIdentity
import MeshWire

/// A codec for these tests only, so that they don't depend on a real one.
struct PlainCodec: PayloadCodec {
    var id = PayloadCodecID(number: 200, name: "plain")

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(value))
    }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}

enum Tap: Codable, Hashable, Sendable {
    case pause(at: Double)
    case lap(index: Int, note: String)
}

struct Board: Codable, Hashable, Sendable {
    var name: String
    var laps: [Double]
}

enum Sample {
    static let codec = PlainCodec()
    static var codecs: CodecTable { try! CodecTable([codec]) }
    static let session = UUID(uuidString: "7D9F2A64-3C1B-4E8F-9A55-0C6E1F2B3D4A")!
    static let phone = "2F1E4B7C-9D03-4A68-B5C2-71E8D4F6A090"
    static let watch = "5b0c6f1a-8e27-4d93-a1f4-3c9e7d2b8065"
    static let milliseconds: UInt64 = 1_760_000_000_123

    static func metadata(
        sequence: UInt64 = 42, source: String = phone, payloadType: String = "workout.event", eventID: UUID? = nil,
        advancedMilliseconds: UInt64 = 0
    ) -> SessionSyncMetadata {
        let stamp = HybridTimestamp(milliseconds: milliseconds + advancedMilliseconds, counter: 3)
        let seconds = Double(milliseconds + advancedMilliseconds) / 1000 + 0.000_417
        return SessionSyncMetadata(
            sessionID: session, featureID: "workout", sourcePeerID: source, eventID: eventID, sequence: sequence,
            causalTimestamp: Date(timeIntervalSince1970: seconds),
            monotonicTimestamp: 86_411.250_731 + Double(advancedMilliseconds) / 1000,
            payloadType: payloadType, stamp: stamp, incarnation: 0xC0FF_EE11, epoch: 1,
            promise: SequencePromise(sequence: sequence, stamp: stamp))
    }

    static func envelope(_ metadata: SessionSyncMetadata = metadata()) -> AnySessionSyncEnvelope {
        try! AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: Tap.pause(at: 12.5)))
    }

    static func snapshot(laps: Int = 3, checkpoint: [UInt8]? = nil) -> AnySessionSyncSnapshot {
        let state = Board(name: "Morning run", laps: (0..<laps).map { 300 + Double($0) / 4 })
        var snapshot = try! AnySessionSyncSnapshot(
            SessionSyncSnapshot(
                metadata: metadata(sequence: 43, payloadType: "workout.state"), revision: 7, state: state,
                peerSequenceVector: [phone: 42, watch: 17, "peer/3405691582": 9]))
        snapshot.checkpoint = checkpoint
        return snapshot
    }

    static let peer = SessionPeer(
        id: phone, deviceClass: .phone, appInstanceID: watch, userID: "anna", topology: .pairedCompanion)

    static let marks = [
        WireMark(outbox: 0xC0FF_EE11, sequence: 300, first: 299), WireMark(outbox: 0, sequence: 1, first: 1),
        WireMark(outbox: .max, sequence: .max, first: 1, expiresAt: .max),
        WireMark(outbox: 7, sequence: 9, first: 9, isLatest: true),
        WireMark(outbox: 7, sequence: .max, first: .max, isLatest: true, expiresAt: milliseconds),
    ]

    static let reports = [
        WireReport(),
        WireReport(
            probe: WireReport.Probe(number: 9, sentAt: milliseconds),
            echo: WireReport.Echo(probe: WireReport.Probe(number: .max, sentAt: .max), answeredAt: 0),
            receipts: [
                WireReport.Receipt(featureID: "workout", outbox: 0xC0FF_EE11, upTo: 300),
                WireReport.Receipt(featureID: "überall", outbox: 0, upTo: 0, beyond: [2...2, 4...300, 302...302]),
                WireReport.Receipt(
                    featureID: phone, outbox: .max, upTo: .max - 4, beyond: [(UInt64.max - 2)...(UInt64.max - 2)]),
                WireReport.Receipt(featureID: "", outbox: 1, upTo: .max - 2, beyond: [UInt64.max...UInt64.max]),
                WireReport.Receipt(featureID: "workout", outbox: 5, upTo: .max, isLatest: true),
            ],
            floors: [
                WireReport.Floor(featureID: "workout", outbox: 0xC0FF_EE11, first: 301),
                WireReport.Floor(featureID: watch, outbox: 0, first: .max),
            ]),
    ]

    static let messages: [WireMessage] = [
        .hello(WireHello(peer: peer, codecs: [1, 2, 200], dictionaries: [CompressionDictionary.builtIn.id])),
        .envelope(envelope()),
        .envelope(envelope(metadata(sequence: 43, advancedMilliseconds: 950))),
        .envelope(envelope(metadata(sequence: 9, source: watch, advancedMilliseconds: 1200))),
        .snapshot(snapshot()),
        .snapshot(snapshot(laps: 400, checkpoint: [1, 2, 3, 255])),
        .snapshotRequest(WireSnapshotRequest(sessionID: session, requester: peer)),
        .snapshotRequest(WireSnapshotRequest(sessionID: session)),
        .envelope(envelope(metadata(sequence: 0, eventID: session, advancedMilliseconds: 1300))),
        .report(reports[0]), .report(reports[1]),
        .goodbye(WireGoodbye(.closing, detail: "bis später")),
    ]
}

extension WireMessage {
    /// The complete content, in a form that can be compared.
    var essence: String {
        switch self {
        case .hello(let hello): return "\(hello)"
        case .snapshotRequest(let request): return "\(request)"
        case .report(let report): return "\(report)"
        case .goodbye(let goodbye): return "\(goodbye)"
        case .envelope(let envelope):
            let payload = try? envelope.encodedPayload(with: Sample.codec)
            return "\(envelope.metadata.essence) \(payload?.text ?? "?")"
        case .snapshot(let snapshot):
            let state = try? snapshot.encodedState(with: Sample.codec)
            let vector = snapshot.peerSequenceVector.sorted { $0.key < $1.key }
            return "\(snapshot.metadata.essence) \(snapshot.revision) \(vector) "
                + "\(snapshot.checkpoint.map { "\($0)" } ?? "-") \(state?.text ?? "?")"
        }
    }
}

extension EncodedPayload {
    var text: String { "\(codec.id.number):\(String(decoding: bytes, as: UTF8.self))" }
}

extension SessionSyncMetadata {
    /// All fields, with times as their bits.
    var essence: String {
        let causal = causalTimestamp.timeIntervalSinceReferenceDate.bitPattern
        return """
            \(protocolVersion) \(sessionID) \(featureID) \(sourcePeerID) \(sequence) \(causal) \
            \(monotonicTimestamp.map { "\($0.bitPattern)" } ?? "-") \(payloadType) \
            \(acknowledgedSequence.map { "\($0)" } ?? "-") \(stamp.rawValue) \(incarnation) \(epoch) \
            \(promise.map { "\($0.sequence)/\($0.stamp.rawValue)" } ?? "-") \
            \(explicitEventID.map { "\($0)" } ?? "-")
            """
    }
}
