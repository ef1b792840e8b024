import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSession
import MeshStorage
import MeshTransport
import MeshWire
import Testing

@MainActor @Suite struct EncodingTests {
    @Test func `a tap is encoded once, for the screen, the store and the peer`() async throws {
        let world = VirtualWorld(seed: 1)
        let transport = EncodingTransport(wrapped: world.transport(phone))
        var configuration = SyncedSessionConfiguration<Int, CountedTap>()
        world.adapt(&configuration, incarnation: 1)
        let session = try await SyncedSession.open(
            sessionID: sessionID, featureID: "counted", transport: transport,
            store: MemoryStore(), initialState: 0, reducer: CountedReducer(), conflictPolicy: AcceptingConflictPolicy(),
            configuration: configuration)
        session.start()
        await world.meet()
        let before = CountedTap.encodings.withLock { $0 }
        for _ in 1...5 { try session.submit(CountedTap()) }
        await world.settle { transport.payloads.withLock { $0.count } == 5 }
        #expect(CountedTap.encodings.withLock { $0 } - before == 5)
        #expect(session.state == 5)
    }
}

private struct CountedTap: Codable, Sendable {
    static let encodings = Locked(0)

    init() {}
    init(from decoder: any Decoder) throws { _ = try decoder.singleValueContainer().decode(Int.self) }

    func encode(to encoder: any Encoder) throws {
        Self.encodings.withLock { $0 += 1 }
        var container = encoder.singleValueContainer()
        try container.encode(1)
    }
}

private struct CountedReducer: SessionSyncReducer {
    func reduce(state: inout Int, event: CountedTap, context: SessionEventContext) { state += 1 }
}

/// Requests the bytes of each event, as a transport that writes them does.
private final class EncodingTransport: TransportWrapper {
    let wrapped: any SessionSyncTransport
    let payloads = Locked<[EncodedPayload]>([])

    init(wrapped: any SessionSyncTransport) { self.wrapped = wrapped }

    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        let events = envelopes.filter { $0.metadata.payloadType == "counted.event" }
        let encoded = try events.map { try $0.encodedPayload(with: CompactCodec()) }
        payloads.withLock { $0 += encoded }
        try await wrapped.send(envelopes, mode: mode, to: peer, isolation: isolation)
    }
}
