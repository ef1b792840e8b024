import MeshBase
import MeshIdentity
import MeshTransport

extension TransportConformance {
    /// Rules about the extras that a transport claims in `SessionTransportCapabilities.extras`.
    static let extrasRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule(
            "transport.several.at-once", "Several messages that needn't wait are sent without suspending the caller"
        ) { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let envelopes = try (1...20).map { try bench.envelope($0) }
            let hasSuspended = try await Caller().send(envelopes, by: bench.first)
            try await bench.wait(for: "20 envelopes") { received.count >= 20 }
            try requireEqual(received.sequences(), (1...20).map { UInt64($0) }, "the order of arrival")
            try require(!hasSuspended, "another task of the caller's actor ran in the middle of the send")
        }.needs(.extra(.sendsAtOnce, "sends each of several by itself")),
        ConformanceRule("transport.next.together", "A message that is accepted for the next send arrives with it") {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let isAccepted = bench.first.sendWithNext([try bench.envelope(1)], to: nil)
            try await bench.first.send(try bench.envelope(2), mode: .realtimeBestEffort, to: nil)
            try await bench.wait(for: "what was accepted") { received.count >= (isAccepted ? 2 : 1) }
            await bench.settle()
            try requireEqual(received.sequences().sorted(), isAccepted ? [1, 2] : [2], "the envelopes that arrived")
        },
        ConformanceRule(
            "transport.unread.waits",
            "Unread messages, and those before the first subscriber, wait for the next subscriber"
        ) { bench in
            try await bench.connect()
            for number in 1...3 {
                for feature in ["score", "timer"] {
                    let envelope = try bench.envelope(UInt64(number), feature: feature)
                    try await bench.first.send(envelope, mode: .reliableEventually, to: nil)
                }
            }
            await bench.settle()
            _ = bench.second.envelopeBatches { $0.featureID == "score" }
            for feature in ["score", "timer"] {
                let batches = BatchRecorder(bench.second.envelopeBatches { $0.featureID == feature })
                try await bench.wait(for: "three envelopes of '\(feature)'") { batches.sequences.count >= 3 }
                try requireEqual(batches.sequences, [1, 2, 3], "the envelopes of '\(feature)'")
            }
        }.needs(.extra(.keepsUnread, "keeps nothing for a later subscriber")),
        ConformanceRule("transport.unread.together", "Waiting messages arrive together in one batch") { bench in
            try await bench.connect()
            let batches = bench.second.envelopeBatches { _ in true }
            let witness = bench.record(bench.second.receiveEnvelopes())
            let envelopes = try (1...50).map { try bench.envelope($0) }
            try await bench.first.send(envelopes, mode: .reliableEventually, to: nil)
            try await bench.wait(for: "50 envelopes") { witness.count >= 50 }
            try requireEqual(await batches.next()?.count ?? 0, 50, "the envelopes of one turn")
        }.needs(.extra(.keepsUnread, "keeps nothing for a later subscriber")),
        ConformanceRule("transport.withdrawal", "A waiting message can be withdrawn, and then doesn't arrive") {
            bench in
            let received = bench.record(bench.second.receiveEnvelopes())
            let envelopes = try (1...3).map { try bench.envelope($0) }
            for envelope in envelopes { try await bench.first.send(envelope, mode: .reliableEventually, to: nil) }
            let ids = envelopes.map(\.metadata.eventID)
            func waits(_ index: Int) -> Bool { bench.first.isWaiting(eventID: ids[index], featureID: "workout") }
            func cancels(_ index: Int) -> Bool { bench.first.cancel(eventID: ids[index], featureID: "workout") }
            try require(waits(1), "isWaiting denies what waits for a peer")
            try require(!bench.first.isWaiting(eventID: ids[1], featureID: "other"), "it waits in another feature too")
            try require(cancels(1), "cancel withdraws nothing of what waits for a peer")
            try require(!waits(1), "what was withdrawn still waits")
            try require(!cancels(1), "it was withdrawn twice")
            try await bench.connect()
            try await bench.wait(for: "two envelopes") { received.count >= 2 }
            await bench.settle()
            try requireEqual(received.sequences(), [1, 3], "the envelopes that arrived")
            try await bench.wait(for: "receipts") { !waits(0) && !waits(2) }
        }.needs(.otherPeer, .extra(.withdrawal, "withdraws nothing")),
    ]
}

/// An actor that sends, and detects whether another of its tasks ran during the send.
private actor Caller {
    private var wasFree = false

    /// - Returns: true if the send suspended.
    func send(_ envelopes: [AnySessionSyncEnvelope], by transport: any SessionSyncTransport) async throws -> Bool {
        let other = Task { wasFree = true }
        try await transport.send(envelopes, mode: .realtimeBestEffort, to: nil)
        let hasSuspended = wasFree
        await other.value
        return hasSuspended
    }
}

/// Reads batches until it is released.
private final class BatchRecorder: Sendable {
    private let received = Locked<[AnySessionSyncEnvelope]>([])
    private let task: Task<Void, Never>

    init(_ batches: EnvelopeBatches) {
        task = Task { [received] in
            while let batch = await batches.next() { received.withLock { $0 += batch } }
        }
    }

    deinit { task.cancel() }

    var sequences: [UInt64] { received.withLock { $0.map(\.metadata.sequence) } }
}
