import Foundation
import MeshBase
import MeshIdentity
import MeshTransport
import Testing

@Suite struct TransportInboxTests {
    static let session = UUID()

    static func metadata(
        _ sequence: UInt64, feature: String = "workout", from peer: String = "phone", stamp: HybridTimestamp = .zero,
        causal: TimeInterval = 1000, incarnation: UInt32 = 0
    ) -> SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: session, featureID: feature, sourcePeerID: peer, sequence: sequence,
            causalTimestamp: Date(timeIntervalSince1970: causal), payloadType: "text", stamp: stamp,
            incarnation: incarnation)
    }

    static func snapshot(_ revision: UInt64, _ metadata: SessionSyncMetadata) throws -> AnySessionSyncSnapshot {
        try AnySessionSyncSnapshot(
            SessionSyncSnapshot(metadata: metadata, revision: revision, state: "state", peerSequenceVector: [:]))
    }

    static func envelope(_ sequence: UInt64) throws -> AnySessionSyncEnvelope {
        try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata(sequence), payload: "event"))
    }

    @Test func `Each stream delivers its own kind to every subscriber, and closing ends them`() async throws {
        let inbox = TransportInbox()
        let envelopes = [inbox.receiveEnvelopes(), inbox.receiveEnvelopes()]
        let snapshots = [inbox.receiveSnapshots(), inbox.receiveSnapshots()]
        let requests = inbox.receiveSnapshotRequests()
        let reachability = inbox.reachabilityChanges()
        inbox.deliver(try Self.envelope(1))
        inbox.deliver(try Self.snapshot(1, Self.metadata(1)))
        inbox.deliver(SessionSnapshotRequest(sessionID: Self.session))
        inbox.deliver(SessionPeerReachability(true))
        inbox.close()
        inbox.close()
        inbox.deliver(try Self.envelope(2))
        for stream in envelopes { #expect(await drain(stream).map(\.metadata.sequence) == [1]) }
        for stream in snapshots { #expect(await drain(stream).map(\.revision) == [1]) }
        #expect(await drain(requests) == [SessionSnapshotRequest(sessionID: Self.session)])
        #expect(await drain(reachability) == [SessionPeerReachability(true)])
        #expect(await drain(inbox.receiveEnvelopes()).isEmpty)
    }

    @Test func `A late subscriber starts with each feature's newest snapshot and gets later ones`() async throws {
        let inbox = TransportInbox()
        for (revision, feature) in [(1, "a"), (5, "b"), (2, "a"), (4, "b")] as [(UInt64, String)] {
            inbox.deliver(try Self.snapshot(revision, Self.metadata(revision, feature: feature)))
        }
        let late = inbox.receiveSnapshots()
        inbox.deliver(try Self.snapshot(3, Self.metadata(3, feature: "a")))
        #expect(inbox.latestSnapshot(featureID: "a")?.revision == 3)
        #expect(inbox.latestSnapshot(featureID: "b")?.revision == 5)
        #expect(inbox.latestSnapshot(featureID: "c") == nil)
        inbox.close()
        #expect(await drain(late).map(\.revision) == [5, 2, 3])
    }

    @Test func `Beyond the limit the longest silent feature is forgotten`() async throws {
        let inbox = TransportInbox(featureLimit: 2)
        for (revision, feature) in [(1, "a"), (1, "b"), (2, "a"), (1, "c")] as [(UInt64, String)] {
            inbox.deliver(try Self.snapshot(revision, Self.metadata(revision, feature: feature)))
        }
        #expect(inbox.latestSnapshot(featureID: "a")?.revision == 2)
        #expect(inbox.latestSnapshot(featureID: "b") == nil)
        #expect(inbox.latestSnapshot(featureID: "c")?.revision == 1)
    }

    @Test func `A subscriber that is too far behind loses the newest envelopes and the oldest of the rest`()
        async throws
    {
        let inbox = TransportInbox(bufferLimit: 2)
        let envelopes = inbox.receiveEnvelopes()
        let snapshots = inbox.receiveSnapshots()
        for number in 1...5 as ClosedRange<UInt64> {
            inbox.deliver(try Self.envelope(number))
            inbox.deliver(try Self.snapshot(number, Self.metadata(number)))
        }
        inbox.close()
        #expect(await drain(envelopes).map(\.metadata.sequence) == [1, 2])
        #expect(await drain(snapshots).map(\.revision) == [4, 5])
        #expect(inbox.droppedCount == 6)
    }

    @Test func `A source's revision decides which snapshot is newer, else the stamp, else the sender's clock`() throws {
        func snapshot(_ revision: UInt64, _ metadata: SessionSyncMetadata) throws -> AnySessionSyncSnapshot {
            try Self.snapshot(revision, metadata)
        }
        let later = HybridTimestamp(milliseconds: 2)
        let earlier = HybridTimestamp(milliseconds: 1)
        let pairs = [
            // One source, whose clock may have jumped back.
            (try snapshot(2, Self.metadata(1, causal: 5)), try snapshot(1, Self.metadata(1, causal: 9))),
            (
                try snapshot(1, Self.metadata(1, stamp: later, causal: 5)),
                try snapshot(9, Self.metadata(1, from: "watch", stamp: earlier, causal: 9))
            ),
            (try snapshot(1, Self.metadata(1, causal: 9)), try snapshot(9, Self.metadata(1, from: "watch", causal: 5))),
            // One of them has no stamp.
            (
                try snapshot(1, Self.metadata(1, causal: 9)),
                try snapshot(9, Self.metadata(1, from: "watch", stamp: later, causal: 5))
            ),
            // A new store of the same peer restarts its numbers.
            (
                try snapshot(1, Self.metadata(1, stamp: later, incarnation: 2)),
                try snapshot(9, Self.metadata(1, stamp: earlier, incarnation: 1))
            ),
        ]
        for (index, (newer, older)) in pairs.enumerated() {
            #expect(newer.isNewer(than: older), "pair \(index)")
            #expect(!older.isNewer(than: newer), "pair \(index)")
            #expect(!newer.isNewer(than: newer), "pair \(index)")
        }
    }

    @Test func `Envelopes arrive in batches for batch subscribers, and singly for others`() async throws {
        let inbox = TransportInbox()
        let (alone, batches) = (inbox.receiveEnvelopes(), inbox.envelopeBatches { _ in true })
        inbox.deliver(try (1...300).map(Self.envelope))
        inbox.deliver(try Self.envelope(301))
        inbox.close()
        #expect(await drain(alone).map(\.metadata.sequence) == Array(1...301))
        var received: [[AnySessionSyncEnvelope]] = []
        while let batch = await batches.next() { received.append(batch) }
        #expect(received.flatMap(\.self).map(\.metadata.sequence) == Array(1...301))
        #expect(received.map(\.count).max() == 256)
    }

    @Test func `Durable envelopes aren't lost between subscriptions, others are`() async throws {
        let inbox = TransportInbox(durableLimit: 4)
        #expect(inbox.durableRoom == 4)
        inbox.deliver([try Self.envelope(1)])
        inbox.deliver([try Self.envelope(2), try Self.envelope(3)], isDurable: true)
        #expect(inbox.durableRoom == 2)
        do {
            let first = inbox.envelopeBatches { _ in true }
            #expect(await first.next()?.map(\.metadata.sequence) == [2, 3])
            inbox.deliver([try Self.envelope(4)], isDurable: true)
            inbox.deliver([try Self.envelope(5)])
        }
        let second = inbox.receiveEnvelopes()
        inbox.close()
        #expect(await drain(second).map(\.metadata.sequence) == [4])
    }

    @Test func `A stream that drops elements is reported with their number`() throws {
        let drops = Locked<[String]>([])
        let inbox = TransportInbox(bufferLimit: 1, durableLimit: 1) { stream, count in
            drops.withLock { $0.append("\(stream.rawValue) \(count)") }
        }
        inbox.deliver(try (1...3).map(Self.envelope), isDurable: true)
        let streams = (
            inbox.receiveEnvelopes(), inbox.receiveSnapshots(), inbox.receiveSnapshotRequests(),
            inbox.reachabilityChanges()
        )
        for number in 1...2 as ClosedRange<UInt64> {
            inbox.deliver(try Self.envelope(number))
            inbox.deliver(try Self.snapshot(number, Self.metadata(number)))
            inbox.deliver(SessionSnapshotRequest(sessionID: Self.session))
            inbox.deliver(SessionPeerReachability(true))
        }
        #expect(
            drops.withLock { $0 } == [
                "envelopes 2", "envelopes 3", "envelopes 4", "snapshots 1", "requests 1", "reachability 1",
            ])
        withExtendedLifetime(streams) {}
    }

    @Test func `Space for durable envelopes returns once a subscriber has read`() async throws {
        let inbox = TransportInbox(bufferLimit: 2)
        let batches = inbox.envelopeBatches { _ in true }
        inbox.deliver([try Self.envelope(1), try Self.envelope(2)], isDurable: true)
        let isThere = Locked(false)
        inbox.whenDurableRoom { isThere.withLock { $0 = true } }
        #expect(inbox.durableRoom == 0)
        #expect(!isThere.withLock { $0 })
        #expect(await batches.next()?.count == 2)
        #expect(inbox.durableRoom == 2)
        #expect(isThere.withLock { $0 })
    }

    private func drain<Element: Sendable>(_ stream: AsyncStream<Element>) async -> [Element] {
        var elements: [Element] = []
        for await element in stream { elements.append(element) }
        return elements
    }
}
