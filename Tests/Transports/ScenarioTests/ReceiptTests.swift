import MeshBase
import MeshDelivery
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

/// A receipt means that the peer has a message, not that a feature has handled it.
@Suite struct ReceiptTests {
    private let a = Party.peer("a")
    private let b = Party.peer("b")

    @Test func `A feature that doesn't read blocks no other feature's receipts`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let (sender, receiver) = (network.makeTransport(localPeer: a), network.makeTransport(localPeer: b))
        let idle = receiver.envelopeBatches { $0.featureID == "idle" }
        let busy = receiver.envelopeBatches { $0.featureID == "busy" }
        network.runUntilIdle()
        try await sender.send(1, feature: "idle", .reliableEventually)
        let envelope = Party.envelope(2, from: "a", feature: "busy")
        try await sender.send(envelope, mode: .reliableEventually, to: nil)
        network.advance(by: .seconds(1))
        #expect(await busy.next()?.count == 1)
        network.advance(by: .seconds(60))
        #expect(!sender.isWaiting(eventID: envelope.metadata.eventID, featureID: "busy"))
        withExtendedLifetime(idle) {}
    }

    @Test func `Nothing is sent twice to a slow receiver`() async throws {
        let (prompt, slow) = (try await bytesSent(isRead: true), try await bytesSent(isRead: false))
        #expect(slow == prompt, "in a minute, for 64 messages over datagrams")
    }

    /// The bytes that the sender of 64 messages sends in a minute, over lossless datagrams.
    private func bytesSent(isRead: Bool) async throws -> Int {
        let network = ScenarioNetwork(seed: 1)
        let transports = try [a, b].map {
            try network.makeTransport(
                localPeer: $0, lanes: ScenarioLanes.datagrams, configuration: DeliveryConfiguration())
        }
        let envelopes = transports[1].receiveEnvelopes()
        let heard = isRead ? Listener(envelopes) : nil
        network.runUntilIdle()
        for sequence in 1...64 as ClosedRange<UInt64> {
            try await transports[0].send(sequence, .reliableEventually)
        }
        for _ in 0..<600 {
            network.advance(by: .milliseconds(100))
            await Task.yield()
        }
        withExtendedLifetime((heard, envelopes)) {}
        return network.trace.reduce(0) { sum, entry in
            guard entry.senderID == "a", case .packet(_, let byteCount) = entry.subject else { return sum }
            return sum + byteCount
        }
    }
}
