import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

/// The faults of WatchConnectivitySwift that an app meets at the connection. Each rule is a check that returns a complaint or
/// nil. It must find the fault in a model of that library's own rule.
@MainActor
@Suite("Faults of the reference, at the connection")
struct FaultTests {
    // MARK: W20

    private func wrongAfterFailures(_ health: SessionHealth) -> String? {
        health.suggestion == .restartWatch ? "a closed app leads to a suggested restart of the watch" : nil
    }

    @Test func `W20 sends to a closed app don't suggest restarting the watch`() async throws {
        let bench = Bench(PreviewWCSession.disconnected)
        for _ in 1...6 {
            _ = await bench.failure { try await bench.connection.send(Add(left: 1, right: 1), delivery: .immediate) }
        }
        await bench.run { !bench.connection.sessionHealth.isHealthy }
        #expect(wrongAfterFailures(bench.connection.sessionHealth) == nil)
        #expect(bench.connection.sessionHealth.suggestion == .openCompanionApp)
        #expect(
            bench.events.all.contains(.healthChanged(from: .healthy, to: .unhealthy(suggestion: .openCompanionApp))))

        let faulty = CountingHealth()
        for _ in 1...6 { faulty.failed(.notReachable, isReachable: false) }
        #expect(wrongAfterFailures(faulty.current) != nil)
    }

    // MARK: W21

    private func wrongAboutStuckSession(_ outcome: DiagnosticEvent?) -> String? {
        outcome == .recoverySucceeded ? "nothing comes back, but recovery reports success" : nil
    }

    @Test func `W21 recovery of a session that returns nothing doesn't report success`() async throws {
        let session = MockWCSession()
        session.autoReply = false
        let bench = Bench(session)
        let activations = session.activateCallCount
        try await bench.finish { await bench.connection.attemptRecovery() }
        await bench.run { bench.events.all.contains(where: \.isRecoveryOutcome) }
        #expect(bench.events.all.contains(.recoveryAttempted))
        #expect(session.activateCallCount == activations + 1)
        #expect(wrongAboutStuckSession(bench.events.all.last(where: \.isRecoveryOutcome)) == nil)
        // The session works again, and the app gets proof of it.
        session.autoReply = true
        try await bench.finish { await bench.connection.attemptRecovery() }
        await bench.run { bench.events.all.contains(.recoverySucceeded) }

        session.autoReply = false
        #expect(wrongAboutStuckSession(HopefulRecovery(session: session).attempt()) != nil)
    }

    // MARK: W24

    private func wrongAboutReachability(_ seen: [Bool], _ reported: [Bool]) -> String? {
        seen == reported ? nil : "reported \(reported), observed \(seen)"
    }

    @Test func `W24 the reachability of any session is observed`() async throws {
        let bench = Bench(PreviewWCSession.connected)
        let faulty = PickyObserver(bench.session)
        var (seen, faultySeen) = ([Bool](), [Bool]())
        for isReachable in [false, true, false] {
            bench.session.simulateReachabilityChange(isReachable)
            await bench.run()
            faulty.look()
            seen.append(bench.connection.isReachable)
            faultySeen.append(faulty.isReachable.withLock { $0 })
        }
        #expect(wrongAboutReachability(seen, [false, true, false]) == nil)
        #expect(wrongAboutReachability(faultySeen, [false, true, false]) != nil)
        let changes = bench.events.all.compactMap {
            if case .reachabilityChanged(let isReachable) = $0 { isReachable } else { nil }
        }
        #expect(changes == [false, true, false])
        bench.session.isPaired = false
        await bench.run { !bench.connection.isPaired }
    }

    // MARK: W26

    private func wrongAboutStream(waiting: Int, hasEnded: Bool) -> String? {
        if waiting > 256 { return "\(waiting) elements wait for a subscriber that doesn't read" }
        return hasEnded ? nil : "the end is never reported"
    }

    @Test func `W26 a stalled subscriber holds little, and streams end with the connection`() async throws {
        let session = MockWCSession()
        var connection: WatchConnection? = Bench(session).connection
        let stalled = try #require(connection).receivedApplicationContexts
        let reader = try #require(connection).receivedApplicationContexts
        let read = Recorder(reader)
        let events = Recorder(try #require(connection).diagnosticEvents)
        let files = Recorder(try #require(connection).receivedFiles)
        for number in 1...600 {
            session.simulateReceivedApplicationContext(["n": number])
            if number % 50 == 0 { await turns() }
        }
        for _ in 0..<2000 where (read.all.last?["n"] as? Int) != 600 { await turns() }
        #expect(read.all.last?["n"] as? Int == 600)
        await connection?.close()
        for _ in 0..<500 where !(read.isOver && events.isOver && files.isOver) { await turns() }
        #expect(events.isOver && files.isOver)
        let late = Recorder(stalled)
        for _ in 0..<2000 where !late.isOver { await turns() }
        #expect(wrongAboutStream(waiting: late.all.count, hasEnded: late.isOver && read.isOver) == nil)
        #expect(late.all.last?["n"] as? Int == 600)
        connection = nil

        let faulty = EndlessStream<Int>()
        let unread = faulty.subscribe()
        for number in 1...600 { faulty.publish(number) }
        #expect(wrongAboutStream(waiting: faulty.waitingCount, hasEnded: faulty.hasEnded) != nil)
        _ = unread
    }

    @Test func `W26 nothing that a connection starts keeps it alive`() async throws {
        let session = MockWCSession()
        weak var connection: WatchConnection?
        let recorder: Recorder<DiagnosticEvent>
        do {
            let made = WatchConnection(session: session)
            connection = made
            recorder = Recorder(made.diagnosticEvents)
            let state = SharedState(initialValue: Counter(), connection: made)
            try state.update(Counter(count: 1))
        }
        for _ in 0..<200 where connection != nil || !recorder.isOver { await turns() }
        #expect(connection == nil)
        #expect(recorder.isOver)
    }

    // MARK: W27

    private func wrongAboutTooMuch(_ error: WatchConnectionError?) -> String? {
        if case .payloadTooLarge(let bytes, let limit, _) = error, bytes > limit { return nil }
        return "what no lane can hold ends in \(error.map { "\($0)" } ?? "silence")"
    }

    struct Large: WatchRequest {
        typealias Response = Int
        let text: String
    }

    @Test func `W27 a message too large for every lane is rejected before it is sent`() async throws {
        let session = MockWCSession()
        let bench = Bench(session)
        let large = Large(text: String(repeating: "x", count: 70_000))
        #expect(wrongAboutTooMuch(await bench.failure { try await bench.connection.send(large) }) == nil)
        #expect(session.sendMessageDataCallCount == 0)
        #expect(try wrongAboutTooMuch(TrustingSender(session: session).send(large)) != nil)
    }

    @Test func `W27 a state that doesn't fit an old counterpart's context is reported, and the next one is sent`()
        async throws
    {
        let bench = Bench(MockWCSession())
        // The activation triggers another attempt, and another report.
        await bench.run { bench.events.all.contains(.sessionActivated) }
        let state = SharedState(initialValue: Title(), connection: bench.connection)
        try state.update(Title(name: String(repeating: "x", count: 300_000)))
        await bench.run { bench.events.all.contains { $0.refusal != nil } }
        let refusals = bench.events.all.compactMap(\.refusal)
        #expect(refusals.count == 1)
        #expect(wrongAboutTooMuch(refusals.first) == nil)
        #expect(bench.session.updateApplicationContextCallCount == 0)
        try state.update(Title(name: "short"))
        await bench.run { bench.session.lastUpdatedApplicationContext?["WatchConnectivitySwift.Title"] != nil }
    }
}

extension DiagnosticEvent {
    fileprivate var refusal: WatchConnectionError? {
        if case .deliveryFailed(_, let error, willRetry: false) = self { error } else { nil }
    }

    fileprivate var isRecoveryOutcome: Bool {
        switch self {
        case .recoverySucceeded, .recoveryFailed: true
        default: false
        }
    }
}
