import MeshBase
import MeshIdentity
import MeshTransport

extension TransportConformance {
    /// Rules about full links, concurrent senders, and payloads of all sizes.
    static let pressureRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule(
            "transport.backpressure.reliable",
            "While a link is full, sends wait after a bounded number of messages, and none is lost"
        ) { bench in
            try await underPressure(bench, mode: .reliableEventually)
        }.needs(.otherPeer, .faults, .liveLane),
        ConformanceRule(
            "transport.backpressure.realtime",
            "While a link is full, best-effort sends wait after a bounded number of messages"
        ) { bench in
            try await underPressure(bench, mode: .realtimeBestEffort)
        }.needs(.otherPeer, .faults, .liveLane),
        ConformanceRule(
            "transport.backpressure.cancelled", "A waiting send can be cancelled at once, and then sends nothing"
        ) { bench in
            let faults = try bench.faults()
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            faults.holdTime(true)
            faults.setRoom(0)
            let (sending, accepted) = flood(bench, mode: .reliableEventually)
            try await waitUntilStill(accepted)
            sending.cancel()
            try require(
                try await Patience.sleep { accepted.hasEnded }, "the cancelled send didn't throw at once")
            let count = accepted.count
            faults.setRoom(nil)
            faults.holdTime(false)
            try await bench.wait(for: "\(count) envelopes") { received.count >= count }
            await bench.settle()
            try requireEqual(received.count, count, "the number of envelopes that arrived")
        }.needs(.otherPeer, .faults, .liveLane),
        ConformanceRule("transport.close.full-link", "Closing returns even if the link is full, and ends waiting sends")
        {
            bench in
            let faults = try bench.faults()
            try await bench.connect()
            faults.holdTime(true)
            faults.setRoom(0)
            // On a busy machine the peer may count as gone before `close` is called. A send then finds the queue full
            // instead of waiting, and has to be repeated.
            let (sending, accepted) = flood(bench, mode: .reliableEventually, insists: true)
            try await waitUntilStill(accepted)
            faults.holdTime(false)
            guard await withDeadline(Patience.closing, { await bench.first.close() }) != nil else {
                throw ConformanceFailure("close didn't return within \(Patience.closing)")
            }
            try await bench.wait(for: "the send that waits to end") { accepted.hasEnded }
            try requireClosed(await sending.result, "the send that waited")
        }.needs(.otherPeer, .faults, .liveLane),
        ConformanceRule(
            "transport.close.while-sending",
            "If the transport closes while a task sends, each send throws closed or arrives"
        ) { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let (sending, accepted) = flood(
                bench, mode: .reliableEventually, limit: 50_000, insists: !bench.hasLiveLane)
            try await bench.wait(for: "a first send") { accepted.count > 0 }
            await bench.first.close()
            try requireClosed(await sending.result, "a send after close")
            let count = accepted.count
            try await bench.wait(for: "\(count) envelopes") { received.count >= count }
            try requireEqual(received.sequences(), (0..<received.count).map { UInt64($0) + 1 }, "the order of arrival")
        }.needs(.otherPeer),
        ConformanceRule("transport.close.twice", "Two concurrent calls of close both return") { bench in
            try await bench.connect()
            let closed: Void? = await withDeadline(Patience.closing) {
                async let one: Void = bench.first.close()
                async let other: Void = bench.first.close()
                _ = await (one, other)
            }
            try require(closed != nil, "close didn't return within \(Patience.closing)")
            try await requireThrows(.closed) {
                try await bench.first.send(bench.envelope(1), mode: .reliableEventually, to: nil)
            }
        },
        ConformanceRule("transport.close.unconnected", "A transport without peers closes at once") { bench in
            let received = bench.record(bench.first.receiveEnvelopes())
            let closed: Void? = await withDeadline(Patience.closing) { await bench.first.close() }
            try require(closed != nil, "close didn't return within \(Patience.closing)")
            try await bench.wait(for: "the stream to end") { received.hasEnded }
        },
        ConformanceRule(
            "transport.order.both-ways", "Both ends send at the same time, and each receives everything in order"
        ) {
            bench in
            try await bench.connect()
            let received = (bench.record(bench.first.receiveEnvelopes()), bench.record(bench.second.receiveEnvelopes()))
            async let there: Void = bench.send(1...200)
            async let back: Void = {
                for sequence in 1...200 as ClosedRange<UInt64> {
                    let envelope = try bench.envelope(sequence, from: bench.second.localPeer)
                    try await bench.second.send(envelope, mode: .reliableEventually, to: nil)
                }
            }()
            _ = try await (there, back)
            try await bench.wait(for: "200 envelopes at each end") {
                received.0.count >= 200 && received.1.count >= 200
            }
            await bench.settle()
            try requireEqual(received.0.sequences(), Array(1...200), "the order at the first end")
            try requireEqual(received.1.sequences(), Array(1...200), "the order at the second end")
        }.needs(.otherPeer),
        ConformanceRule("transport.order.concurrent", "Tasks that send at the same time keep the order of each feature")
        {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let features = (1...4).map { "feature-\($0)" }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for feature in features { group.addTask { try await bench.send(1...100, feature: feature) } }
                try await group.waitForAll()
            }
            try await bench.wait(for: "400 envelopes") { received.count >= 400 }
            await bench.settle()
            for feature in features {
                try requireEqual(received.sequences(feature: feature), Array(1...100), "the order of \(feature)")
            }
        },
        ConformanceRule(
            "transport.large.lets-pass", "A message after a large one needn't wait until that one has arrived"
        ) { bench in
            let faults = try bench.faults()
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let size = min(bench.pair.limit?.bytes ?? .max, 600_000) - 1000
            faults.setRoom(0)
            try await bench.first.send(
                bench.envelope(1, feature: "large", text: incompressible(size)), mode: .reliableEventually, to: nil)
            try await bench.first.send(bench.envelope(2), mode: .reliableEventually, to: nil)
            faults.setRoom(2)
            try await bench.wait(for: "the small message") {
                if received.count == 0 { faults.setRoom(1) }
                return received.count >= 1
            }
            try requireEqual(received.sequences(), [2], "what arrived first")
            faults.setRoom(nil)
            try await bench.wait(for: "the large message") { received.count >= 2 }
        }.needs(.otherPeer, .faults, .lane(.stream)),
        ConformanceRule("transport.payload.shapes", "Payloads of every size up to the limit arrive unchanged") {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let most = (bench.pair.limit?.bytes ?? 1_000_000) - 64
            let edges = [0, 1, 1100, 1200, 16_383, 16_384, 65_535, 65_536, 262_144, most]
            let sizes = (edges.flatMap { [$0 - 1, $0, $0 + 1] }).filter { (0...most).contains($0) }
            for (index, size) in sizes.enumerated() {
                try await bench.first.send(
                    bench.envelope(UInt64(index), text: incompressible(size)), mode: .reliableEventually, to: nil)
            }
            try await bench.wait(for: "\(sizes.count) envelopes") { received.count >= sizes.count }
            let found = try received.elements.map { try $0.decodePayload(as: [String].self)[0].utf8.count }
            try requireEqual(found, sizes, "the sizes that arrived")
            for (element, size) in zip(received.elements, sizes) {
                let text = try element.decodePayload(as: [String].self)[0]
                try require(text == incompressible(size), "a payload of \(size) bytes has changed")
            }
        },
        ConformanceRule("transport.features.names", "Features with any names are kept apart") { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let names = [
                "", "a", "A", "a/b", "größe", "\u{0}", " ", "0", "peer/1",
                String(repeating: "n", count: 200),
            ]
            for sequence in 1...3 as ClosedRange<UInt64> {
                for name in names { try await bench.send(sequence...sequence, feature: name) }
            }
            try await bench.wait(for: "\(3 * names.count) envelopes") { received.count >= 3 * names.count }
            for name in names {
                let sequences = received.elements.filter { Array($0.metadata.featureID.utf8) == Array(name.utf8) }
                    .map(\.metadata.sequence)
                try requireEqual(sequences, [1, 2, 3], "what arrived of the feature '\(name.debugDescription)'")
            }
        },
    ]

    private static func underPressure(_ bench: TransportBench, mode: SessionDeliveryMode) async throws {
        let faults = try bench.faults()
        try await bench.connect()
        let received = bench.record(bench.second.receiveEnvelopes())
        faults.holdTime(true)
        faults.setRoom(0)
        let (sending, accepted) = flood(bench, mode: mode)
        try await waitUntilStill(accepted)
        try require(!accepted.hasEnded, "a send threw instead of waiting")
        try require(accepted.count < floodLimit, "\(accepted.count) sends were accepted by a link that takes nothing")
        let count = accepted.count
        faults.setRoom(nil)
        faults.holdTime(false)
        try await bench.wait(for: "sends to go on") { accepted.count > count }
        sending.cancel()
        try await bench.wait(for: "the cancelled task to end") { accepted.hasEnded }
        if mode == .reliableEventually {
            try await bench.wait(for: "\(accepted.count) envelopes") { received.count >= accepted.count }
        }
        await bench.settle()
        let arrived = received.sequences()
        // Best-effort messages may be lost before they reach a subscriber, but aren't duplicated or reordered.
        let expected = mode == .reliableEventually ? Array(1...UInt64(accepted.count)) : Array(Set(arrived)).sorted()
        try require(!arrived.isEmpty, "none of \(count) accepted envelopes arrived")
        try requireEqual(arrived, expected, "what arrived")
    }

    static let floodLimit = 20_000

    private static func requireClosed(_ result: Result<Void, any Error>, _ what: String) throws {
        switch result {
        case .failure(SessionSyncError.closed): return
        case .failure(let error): throw ConformanceFailure("\(what) threw \(error) instead of closed")
        case .success: throw ConformanceFailure("\(what) did not throw")
        }
    }

    /// Sends until the task is cancelled or a send throws.
    /// - Parameter insists: true to send again if the queue is full.
    private static func flood(
        _ bench: TransportBench, mode: SessionDeliveryMode, limit: Int = floodLimit, insists: Bool = false
    ) -> (Task<Void, any Error>, Progress) {
        let progress = Progress()
        let task = Task {
            defer { progress.end() }
            var sequence: UInt64 = 1
            while sequence <= limit {
                do {
                    try await bench.first.send(bench.envelope(sequence), mode: mode, to: nil)
                    sequence += 1
                    progress.add()
                } catch SessionSyncError.queueFull where insists {
                    try await Task.sleep(for: .milliseconds(1))
                }
            }
        }
        return (task, progress)
    }

    /// Waits until no more sends are accepted. Hold the transports' time first. Otherwise they notice that the peer
    /// doesn't answer.
    private static func waitUntilStill(_ progress: Progress) async throws {
        var (last, stillCount) = (0, 0)
        for _ in 0..<10_000 where stillCount < 500 {
            let count = progress.count
            stillCount = count > 0 && count == last ? stillCount + 1 : 0
            last = count
            try await Task.sleep(for: .microseconds(200))
        }
    }

    /// Returns text that can't be compressed.
    static func incompressible(_ count: Int) -> String {
        var random = SplitMix64(seed: UInt64(count))
        // Characters that no codec escapes.
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        return String(decoding: (0..<count).map { _ in letters[Int(random.upTo(61))] }, as: UTF8.self)
    }
}

/// The progress of a sending task.
final class Progress: Sendable {
    private let state = Locked((count: 0, hasEnded: false))

    var count: Int { state.withLock { $0.count } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    func add() { state.withLock { $0.count += 1 } }
    func end() { state.withLock { $0.hasEnded = true } }
}
