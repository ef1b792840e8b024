import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

/// A transport that forges some of an honest app's messages: the payload, and the numbers in metadata and snapshots.
final class LyingTransport: TransportWrapper {
    let wrapped: any SessionSyncTransport
    private let forger: Locked<MessageForger>
    private let random: Locked<SplitMix64>
    private let sent = Locked<[String: Int]>([:])
    private let lies = Locked<[String: Int]>([:])
    /// The share of messages that are forged.
    private let rate: Double

    /// Number of messages of each type that are always forged, each of them this many times. Some types are sent so
    /// rarely that chance alone wouldn't forge them often enough.
    private static let firstCount = 12

    init(_ wrapped: any SessionSyncTransport, rate: Double, seed: UInt64) {
        self.wrapped = wrapped
        self.rate = rate
        var seeds = SplitMix64(seed: seed)
        forger = Locked(MessageForger(seed: seeds.next()))
        random = Locked(SplitMix64(seed: seeds.next()))
    }

    /// The number of forged messages by payload type.
    var liesByType: [String: Int] { lies.withLock { $0 } }

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        for lie in lies(for: envelope) { try? await wrapped.send(lie, mode: mode, to: peer) }
        if isTold() { try await wrapped.send(envelope, mode: mode, to: peer) }
    }

    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        let told = envelopes.flatMap { lies(for: $0) + (isTold() ? [$0] : []) }
        guard !told.isEmpty else { return }
        try await wrapped.send(told, mode: mode, to: peer, isolation: isolation)
    }

    func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        for lie in lies(for: snapshot) { try? await wrapped.sendSnapshot(lie, mode: mode, to: peer) }
        if isTold() { try await wrapped.sendSnapshot(snapshot, mode: mode, to: peer) }
    }

    /// True if the original message is sent, too. False at random: then only the forged messages are sent.
    private func isTold() -> Bool { !random.withLock { $0.happens(rate: rate / 4) } }

    private func lieCount(_ payloadType: String) -> Int {
        let number = sent.withLock { sent in
            sent[payloadType, default: 0] += 1
            return sent[payloadType] ?? 0
        }
        let count = number <= Self.firstCount ? Self.firstCount : random.withLock { $0.happens(rate: rate) ? 1 : 0 }
        lies.withLock { $0[payloadType, default: 0] += count }
        return count
    }

    private func lies(for envelope: AnySessionSyncEnvelope) -> [AnySessionSyncEnvelope] {
        guard let payload = try? envelope.encodedPayload(with: JSONCodec()) else { return [] }
        return (0..<lieCount(envelope.metadata.payloadType)).map { _ in
            AnySessionSyncEnvelope(
                metadata: forged(envelope.metadata, rate: 0.3), payload: forged(payload, rate: 0.8))
        }
    }

    private func lies(for snapshot: AnySessionSyncSnapshot) -> [AnySessionSyncSnapshot] {
        guard let state = try? snapshot.encodedState(with: JSONCodec()) else { return [] }
        return (0..<lieCount(snapshot.metadata.payloadType)).map { _ in
            AnySessionSyncSnapshot(
                metadata: forged(snapshot.metadata, rate: 0.3), revision: forged(snapshot.revision, rate: 0.3),
                peerSequenceVector: forged(snapshot.peerSequenceVector, rate: 0.3), state: forged(state, rate: 0.3),
                checkpoint: snapshot.checkpoint.map(forged))
        }
    }

    private func forged<Value: Codable>(_ value: Value, rate: Double) -> Value {
        guard random.withLock({ $0.happens(rate: rate) }), let bytes = try? JSONCodec().encode(value),
            let forged = forger.withLock({ $0.forged(bytes) })
        else { return value }
        return (try? forged.withUnsafeBytes { try JSONCodec().decode(Value.self, from: $0) }) ?? value
    }

    private func forged(_ payload: EncodedPayload, rate: Double) -> EncodedPayload {
        guard random.withLock({ $0.happens(rate: rate) }) else { return payload }
        if let bytes = forger.withLock({ $0.forged(payload.bytes) }) {
            return EncodedPayload(bytes: bytes, codec: payload.codec)
        }
        return EncodedPayload(bytes: forged(payload.bytes), codec: payload.codec)
    }

    /// Changes a byte, and sometimes cuts the end: for payloads that aren't JSON.
    private func forged(_ bytes: [UInt8]) -> [UInt8] {
        guard !bytes.isEmpty else { return bytes }
        return random.withLock { random in
            var forged = bytes
            forged[random.below(forged.count)] = UInt8(truncatingIfNeeded: random.next())
            if random.happens(rate: 0.2) { forged.removeLast(random.below(forged.count)) }
            return forged
        }
    }
}
