import Foundation
import MeshBase
import MeshIdentity
import MeshTransport
import Testing

/// An inbox also bounds its bytes. A sender that floods it loses only its own messages.
@Suite struct InboxBudgetTests {
    private static let piece = 1 << 20
    private let payload = EncodedPayload(bytes: [UInt8](repeating: 1, count: piece), codec: NoCodec())

    private func envelope(_ sequence: UInt64) -> AnySessionSyncEnvelope {
        AnySessionSyncEnvelope(metadata: TransportInboxTests.metadata(sequence), payload: payload)
    }

    private func snapshot(_ number: Int, from peer: String = "phone") -> AnySessionSyncSnapshot {
        AnySessionSyncSnapshot(
            metadata: TransportInboxTests.metadata(1, feature: "\(peer) \(number)", from: peer), revision: 1,
            peerSequenceVector: [:], state: payload)
    }

    @Test func `Unread best-effort messages fill at most their bytes, and the newest are dropped`() async {
        let inbox = TransportInbox()
        let stream = inbox.receiveEnvelopes()
        for sequence in 1...200 as ClosedRange<UInt64> { inbox.deliver(envelope(sequence)) }
        inbox.close()
        let kept = await sequences(stream)
        #expect(kept == Array(1...UInt64(TransportInbox.waitingBytesMax / Self.piece)))
    }

    @Test(
        "Durable messages fit up to the bytes, and again once read", arguments: [false, true])
    func durable(hasSubscriber: Bool) async {
        let inbox = TransportInbox()
        let early = hasSubscriber ? inbox.receiveEnvelopes() : nil
        var sequence: UInt64 = 0
        while inbox.durableRoom > 0 {
            sequence += 1
            inbox.deliver([envelope(sequence)], isDurable: true)
        }
        #expect(sequence == UInt64(TransportInbox.waitingBytesMax / Self.piece))
        let hasRoom = Locked(false)
        let stream = early ?? inbox.receiveEnvelopes()
        inbox.whenDurableRoom { hasRoom.withLock { $0 = true } }
        #expect(!hasRoom.withLock { $0 })
        var iterator = stream.makeAsyncIterator()
        for expected in 1...sequence / 2 { #expect(await iterator.next()?.metadata.sequence == expected) }
        #expect(hasRoom.withLock { $0 })
        #expect(inbox.durableRoom > 0)
    }

    @Test func `A subscriber full by bytes is waited for no longer than one full by number`() async {
        let inbox = TransportInbox()
        let (quick, slow) = (inbox.receiveEnvelopes(), inbox.receiveEnvelopes())
        while inbox.durableRoom > 0 { inbox.deliver([envelope(1)], isDurable: true) }
        var iterator = quick.makeAsyncIterator()
        for _ in 0..<40 { _ = await iterator.next() }
        #expect(inbox.durableRoom == 0)
        inbox.abandonFullSubscribers()
        #expect(inbox.durableRoom > 0)
        withExtendedLifetime(slow) {}
    }

    @Test func `Unread snapshots fill at most their bytes, and the oldest are dropped`() async {
        let inbox = TransportInbox()
        let stream = inbox.receiveSnapshots()
        for number in 1...200 { inbox.deliver(snapshot(number)) }
        inbox.close()
        var features: [String] = []
        for await snapshot in stream { features.append(snapshot.metadata.featureID) }
        let count = TransportInbox.waitingBytesMax / Self.piece
        #expect(features == (201 - count...200).map { "phone \($0)" })
    }

    @Test func `The newest snapshots of many features share their bytes, and the largest sender loses most`() {
        let inbox = TransportInbox()
        for number in 1...3 { inbox.deliver(snapshot(number, from: "watch")) }
        for number in 1...500 { inbox.deliver(snapshot(number)) }
        let count = (1...500).count { inbox.latestSnapshot(featureID: "phone \($0)") != nil }
        #expect(count == TransportInbox.keptBytesMax / Self.piece - 3)
        for number in 1...3 { #expect(inbox.latestSnapshot(featureID: "watch \(number)") != nil) }
        // Small snapshots are bounded by their number, in the same way.
        let few = TransportInbox(featureLimit: 10)
        few.deliver(snapshot(1, from: "watch"))
        for number in 1...50 { few.deliver(snapshot(number)) }
        #expect(few.latestSnapshot(featureID: "watch 1") != nil)
        #expect((1...50).count { few.latestSnapshot(featureID: "phone \($0)") != nil } == 9)
    }

    private func sequences(_ stream: AsyncStream<AnySessionSyncEnvelope>) async -> [UInt64] {
        var sequences: [UInt64] = []
        for await envelope in stream { sequences.append(envelope.metadata.sequence) }
        return sequences
    }
}

/// A codec for payloads that are never encoded or decoded.
struct NoCodec: PayloadCodec {
    struct Unread: Error {}

    let id = PayloadCodecID(number: 201, name: "none")
    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { throw Unread() }
    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        throw Unread()
    }
}
