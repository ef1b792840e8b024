import MeshBase
import MeshDelivery
import MeshIdentity
import MeshStorage
import MeshTransport
import Testing

/// One test for each fault of the reference libraries that delivery fixes. A scenario returns true if all is well.
/// It must do so with our rules, and not with the reference's.
@Suite struct FaultTests {
    private func expect(_ ours: Bool, _ reference: Bool) {
        #expect(ours)
        #expect(!reference, "the scenario doesn't trigger the fault")
    }

    @Test func `M11 a message that the link lost after the send returned still arrives`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        var reference = ReferenceCarrier()
        reference.connect()
        for sequence in 1...3 as ClosedRange<UInt64> {
            // A connection takes the second message, and breaks before it delivers it.
            if sequence == 2 { pair.wire.setRoom(0) }
            reference.linkIsBroken = sequence == 2
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
            reference.send(sequence)
            if sequence == 2 {
                pair.wire.disconnect()
                pair.wire.setRoom(nil)
                pair.wire.connect()
                pair.settle()
            }
        }
        pair.settle()
        expect(await log.sequences(3) == [1, 2, 3], reference.delivered == [1, 2, 3])
    }

    @Test func `M15 a late subscriber gets the newest snapshot of each feature`() async throws {
        let pair = try Pair()
        pair.wire.connect()
        pair.settle()
        var reference = ReferenceCarrier()
        reference.connect()
        for (revision, feature) in [(1, "workout"), (2, "workout"), (1, "timer")] as [(UInt64, String)] {
            try await pair.left.sendSnapshot(snapshot(revision, feature: feature), mode: .latestSnapshot, to: nil)
            reference.publish(revision)
            pair.settle()
        }
        let late = Log(pair.right.receiveSnapshots())
        let got = await late.atLeast(2).map { "\($0.metadata.featureID) \($0.revision)" }.sorted()
        expect(got == ["timer 1", "workout 2"], reference.subscribe().contains(2))
    }

    @Test func `M16 pending messages are bounded, throw when full, and survive the process`() async throws {
        let store = MemoryStore()
        let wire = MemoryWire()
        var accepted: [UInt64] = []
        var reference = ReferenceCarrier()
        let first = try Pair(wire, leftStore: store)
        for sequence in 1...250 as ClosedRange<UInt64> {
            do {
                try await first.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
                accepted.append(sequence)
            } catch SessionSyncError.queueFull(limit: 200) {
            }
            reference.send(sequence)
        }
        await first.left.close()
        await first.right.close()
        let second = try Pair(wire, leftStore: store)
        let log = Log(second.right.receiveEnvelopes())
        wire.connect()
        second.settle()
        reference.connect()
        // Callers of the reference only know that each of their sends returned.
        expect(
            await log.sequences(accepted.count) == accepted && accepted == Array(1...200),
            reference.delivered == Array(1...250))
    }

    @Test func `M16 only the newest of superseding messages waits, at its own place`() throws {
        var queue = PendingDeliveryQueue(envelopeLimit: 2)
        try queue.replaceLatest(snapshot(1))
        try queue.append(envelope(1))
        try queue.replaceLatest(snapshot(2))
        try queue.replaceLatest(snapshot(1))
        try queue.append(envelope(2), expiresAt: 10)
        #expect(throws: SessionSyncError.queueFull(limit: 2)) { try queue.append(envelope(3)) }
        #expect(queue.removeExpired(now: 10).count == 1)
        try queue.append(envelope(3))
        let order = queue.takeAll().map { waiting in
            switch waiting.element {
            case .envelope(let envelope, _): "envelope \(envelope.metadata.sequence)"
            case .snapshot(let snapshot, _, _): "snapshot \(snapshot.revision)"
            }
        }
        #expect(order == ["envelope 1", "snapshot 2", "envelope 3"])
        #expect(queue.isEmpty)
    }

    @Test func `M18 acknowledged means that the peer has the message, and an oversized one is rejected by name`()
        async throws
    {
        let pair = try Pair()
        let events = Log(pair.left.diagnosticEvents())
        pair.wire.connect()
        pair.settle()
        pair.wire.setRoom(0)
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
        var reference = ReferenceCarrier()
        reference.connect()
        reference.linkIsBroken = true
        reference.send(1)
        func isAcknowledged(_ event: SessionDiagnosticEvent) -> Bool {
            guard case .acknowledged(let metadata, "right") = event else { return false }
            return metadata.sequence == 1
        }
        let isTooEarly = events.all.contains(where: isAcknowledged)
        pair.wire.setRoom(nil)
        pair.settle()
        _ = await events.atLeast(4)
        let isKnown = events.all.contains(where: isAcknowledged)
        expect(!isTooEarly && isKnown, reference.saidDelivered == reference.delivered)

        let limit = try #require(pair.left.payloadLimit)
        let large = String(repeating: "x", count: limit.bytes + 1)
        await #expect {
            try await pair.left.send(envelope(2, text: large), mode: .reliableEventually, to: nil)
        } throws: { error in
            guard case SessionSyncError.payloadTooLarge(let bytes, limit.bytes, limit.id) = error else { return false }
            return bytes > limit.bytes
        }
    }

    @Test func `M20 best effort is never stored: it throws if no peer is connected`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        pair.wire.disconnect()
        await #expect(throws: SessionSyncError.notReachable) {
            try await pair.left.send(envelope(1), mode: .realtimeBestEffort, to: nil)
        }
        var reference = ReferenceCarrier()
        reference.sendBestEffort(1)
        pair.wire.connect()
        pair.settle()
        reference.connect()
        try await pair.left.send(envelope(2), mode: .realtimeBestEffort, to: nil)
        reference.sendBestEffort(2)
        expect(await log.sequences(1) == [2], reference.delivered == [2])
    }
}

/// The rules of the reference library, with its faults. Its queue is bounded and in memory, and silently drops the oldest
/// message. Best effort falls back to a lasting queue. A send that the link lost isn't repeated. Snapshots reach only the
/// current subscribers.
private struct ReferenceCarrier {
    var linkIsBroken = false
    private(set) var delivered: [UInt64] = []
    /// The messages that its caller assumes are delivered: every send that returned.
    private(set) var saidDelivered: [UInt64] = []
    private var isConnected = false
    private var pending: [UInt64] = []
    private var subscribers: [[UInt64]] = []

    mutating func connect() {
        isConnected = true
        delivered += pending
        pending = []
    }

    mutating func send(_ sequence: UInt64) {
        saidDelivered.append(sequence)
        guard isConnected else {
            pending.append(sequence)
            if pending.count > 200 { pending.removeFirst() }
            return
        }
        if !linkIsBroken { delivered.append(sequence) }
    }

    mutating func sendBestEffort(_ sequence: UInt64) { send(sequence) }

    mutating func publish(_ revision: UInt64) {
        for index in subscribers.indices { subscribers[index].append(revision) }
    }

    /// Adds a subscriber and returns the snapshots that it receives at once.
    mutating func subscribe() -> [UInt64] {
        subscribers.append([])
        return subscribers[subscribers.count - 1]
    }
}
