import Foundation
import MeshIdentity
import Testing

@Suite struct EnvelopeTests {
    struct Lap: Codable, Hashable, Sendable { var number: Int }
    /// A type of equal shape under another name, as another version of the app may have it.
    struct Round: Codable, Hashable, Sendable { var number: Int }

    @Test func `A payload is returned unchanged, without being encoded`() throws {
        let envelope = SessionSyncEnvelope(metadata: MetadataTests.metadata(), payload: Unencodable())
        let erased = try AnySessionSyncEnvelope(envelope)
        #expect(erased.metadata == envelope.metadata)
        _ = try erased.decodePayload(as: Unencodable.self)
    }

    @Test func `A payload of the same shape decodes as another type`() throws {
        let erased = try AnySessionSyncEnvelope(
            SessionSyncEnvelope(metadata: MetadataTests.metadata(), payload: Lap(number: 3)))
        #expect(try erased.decodePayload(as: Round.self) == Round(number: 3))
    }

    @Test func `A payload that does not decode is a typed error that names its type`() throws {
        let value = try AnySessionSyncEnvelope(
            SessionSyncEnvelope(metadata: MetadataTests.metadata(), payload: Lap(number: 3)))
        let bytes = AnySessionSyncEnvelope(
            metadata: MetadataTests.metadata(), payload: EncodedPayload(bytes: [0xFF], codec: JSONTestCodec()))
        for envelope in [value, bytes] {
            let error = #expect(throws: SessionSyncError.self) { try envelope.decodePayload(as: [String].self) }
            guard case .payloadDecodingFailed("workout.event", _)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }

    @Test func `A payload that cannot be encoded is a typed error that names its type`() throws {
        let envelope = try AnySessionSyncEnvelope(
            SessionSyncEnvelope(metadata: MetadataTests.metadata(), payload: Unencodable()))
        let snapshot = try AnySessionSyncSnapshot(
            SessionSyncSnapshot(
                metadata: MetadataTests.metadata(), revision: 1, state: Unencodable(), peerSequenceVector: [:]))
        for encode in [
            { try envelope.encodedPayload(with: JSONTestCodec()) },
            { try snapshot.encodedState(with: JSONTestCodec()) },
        ] {
            let error = #expect(throws: SessionSyncError.self) { _ = try encode() }
            guard case .payloadEncodingFailed("workout.event", _)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }

    @Test func `Received bytes are forwarded in their own codec`() throws {
        let arrived = EncodedPayload(bytes: Array("{\"number\":5}".utf8), codec: JSONTestCodec(number: 1))
        let envelope = AnySessionSyncEnvelope(metadata: MetadataTests.metadata(), payload: arrived)
        let passedOn = try envelope.encodedPayload(with: JSONTestCodec(number: 2))
        #expect(passedOn.bytes == arrived.bytes)
        #expect(passedOn.codec.id.number == 1)
        #expect(try envelope.decodePayload(as: Lap.self) == Lap(number: 5))
    }

    @Test func `A snapshot keeps its revision, vector and state`() throws {
        let snapshot = SessionSyncSnapshot(
            metadata: MetadataTests.metadata(), revision: 4, state: Lap(number: 9),
            peerSequenceVector: ["phone": 6, "watch": 2])
        let erased = try AnySessionSyncSnapshot(snapshot)
        #expect(erased.revision == 4)
        #expect(erased.peerSequenceVector == ["phone": 6, "watch": 2])
        #expect(erased.checkpoint == nil)
        #expect(try erased.decodeState(as: Lap.self) == Lap(number: 9))
        #expect(
            try JSONDecoder().decode(
                SessionSyncSnapshot<Lap>.self, from: JSONEncoder().encode(snapshot)) == snapshot)
    }

    @Test func `Codecs are distinguished by number alone`() {
        #expect(PayloadCodecID(number: 1, name: "json") == PayloadCodecID(number: 1, name: "JSON"))
        #expect(PayloadCodecID(number: 1, name: "json") != PayloadCodecID(number: 2, name: "json"))
        #expect(Set([PayloadCodecID(number: 1, name: "a"), PayloadCodecID(number: 1, name: "b")]).count == 1)
    }
}

@Suite struct PeerTests {
    @Test func `A peer survives JSON, unknown kinds included`() throws {
        let peer = SessionPeer(
            id: "a", deviceClass: SessionPeerDeviceClass(rawValue: "spaceship"), appInstanceID: "1", userID: "u",
            topology: SessionPeerTopology(rawValue: "wormhole"))
        let data = try JSONEncoder().encode(peer)
        #expect(try JSONDecoder().decode(SessionPeer.self, from: data) == peer)
        #expect(String(decoding: data, as: UTF8.self).contains("\"spaceship\""))
    }

    @Test func `Every error has its own description`() {
        let errors: [SessionSyncError] = [
            .sessionMismatch, .featureMismatch, .payloadTypeMismatch,
            .unsupportedProtocolVersion(received: 2, supported: 1), .unsupportedDeliveryMode,
            .payloadTooLarge(bytes: 9, limit: 8, limitID: "x"),
            .payloadEncodingFailed(payloadType: "t", description: "d"),
            .payloadDecodingFailed(payloadType: "t", description: "d"), .unknownPeer(id: "p"), .notReachable,
            .queueFull(limit: 3), .sessionClosed, .closed,
        ]
        #expect(Set(errors.map(\.description)).count == errors.count)
        #expect("\(errors[5])" == "9 bytes exceed the limit of 8 (x)")
    }
}

private struct JSONTestCodec: PayloadCodec {
    let id: PayloadCodecID

    init(number: UInt8 = 200) { id = PayloadCodecID(number: number, name: "test-\(number)") }

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { Array(try JSONEncoder().encode(value)) }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}

private struct Unencodable: Codable, Sendable {
    struct Refused: Error {}

    init() {}
    init(from decoder: any Decoder) throws { throw Refused() }
    func encode(to encoder: any Encoder) throws { throw Refused() }
}
