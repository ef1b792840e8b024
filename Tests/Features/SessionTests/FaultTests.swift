import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTimerAnchor
import MeshTransport
import Testing

/// The faults of the references that a session has to fix. Each scenario also runs against a small model of the reference's
/// rule, and must fail there.
@MainActor @Suite struct FaultTests {
    private func expect(_ ours: Bool, _ reference: Bool) {
        #expect(ours)
        #expect(!reference, "the scenario doesn't trigger the fault")
    }

    /// The reference's adapter: it applies events on arrival, sends each once, and replaces the state by revision.
    private struct ReferenceAdapter {
        var amounts: [Int] = []
        var phase = "ready"
        var anchor: SessionTimerAnchor?
        var outbox: [Int] = []

        mutating func tap(_ amount: Int) -> Int {
            amounts.append(amount)
            return amount
        }

        mutating func hear(_ amount: Int) { amounts.append(amount) }
    }

    @Test func `M1 concurrent taps on two sessions end in one order`() async throws {
        let world = VirtualWorld(seed: 1)
        let (here, there) = await world.pair()
        for tap in 1...5 {
            try here.submit(.add(tap), at: world.now)
            try there.submit(.add(-tap), at: world.now)
        }
        await world.settle(until: { here.confirmedCount == 10 && there.confirmedCount == 10 })

        var (phone, watch) = (ReferenceAdapter(), ReferenceAdapter())
        for tap in 1...5 {
            let (fromPhone, fromWatch) = (phone.tap(tap), watch.tap(-tap))
            phone.hear(fromWatch)
            watch.hear(fromPhone)
        }
        expect(here.state.amounts == there.state.amounts, phone.amounts == watch.amounts)
    }

    @Test func `M6 pause works after the watch app was relaunched, with its store and without`() async throws {
        for keepsStore in [true, false] {
            let world = VirtualWorld(seed: 2)
            let store = MemoryStore()
            let here = world.session(world.transport(phone), incarnation: 1)
            let there = try await world.opened(world.transport(watch), incarnation: 2, store: store)
            here.start()
            there.start()
            await world.settle(until: { here.isMember && there.isMember })
            try there.submit(.add(1), at: world.now)
            await world.settle(until: { here.state.total == 1 && there.confirmedCount == 1 })
            there.stop()
            let again = try await world.opened(world.transport(watch), incarnation: 3, store: keepsStore ? store : nil)
            again.start()
            try again.submit(.end, at: world.now)
            await world.settle(until: { here.state.isOver })
            #expect(here.state.amounts == [1])
        }
        // In the reference the sequence restarts, and the peer has already seen its numbers.
        var seen = Set<UInt64>()
        let isTaken = [UInt64(1), 1].map { seen.insert($0).inserted }
        #expect(isTaken == [true, false], "the scenario doesn't trigger the fault")
    }

    @Test func `M10 the timer does not jump when the other device pauses it`() async throws {
        let world = VirtualWorld(seed: 3)
        let (here, there) = await world.pair(clockAhead: 180)
        await world.settle(until: { there.clock.errorSeconds != nil })
        var anchor = SessionTimerAnchor.start(at: here.now)
        var reference = SessionTimerAnchor.start(at: world.now)
        await world.run(.seconds(20))
        let before = here.reading(of: anchor).elapsed
        anchor.pause(at: there.now)
        reference.pause(at: world.now.addingTimeInterval(180))
        let error = try #require(there.clock.errorSeconds)
        let jump = abs(here.reading(of: anchor).elapsed - before)
        let referenceJump = abs(reference.elapsed(at: world.now) - before)
        expect(jump <= error + 1e-6, referenceJump <= error + 1e-6)
    }

    @Test func `M11 an event whose send failed arrives, and reports its progress until then`() async throws {
        let world = VirtualWorld(seed: 4)
        let (here, there) = await world.pair { $0.isHighRate = { _ in true } }
        world.network.partition([phone], [watch])
        await world.settle(until: { here.reachablePeerIDs.isEmpty })
        let id = try here.submit(.add(1), at: world.now).metadata.eventID
        await world.settle(until: { here.statistics.sendFailures > 0 })
        #expect(here.delivery(of: id).step == .accepted)
        world.network.heal()
        await world.settle(until: { there.state.total == 1 })
        await world.settle(until: { here.delivery(of: id).step == .confirmed })

        var (phone, watch) = (ReferenceAdapter(), ReferenceAdapter())
        // The send throws, and the event isn't kept.
        _ = phone.tap(1)
        for amount in phone.outbox { watch.hear(amount) }
        expect(there.state.amounts == here.state.amounts, watch.amounts == phone.amounts)
    }

    @Test func `M15 a late subscriber sees the state`() async throws {
        let world = VirtualWorld(seed: 5)
        let (here, there) = await world.pair()
        try here.submit(.add(1), at: world.now)
        await world.settle(until: { there.state.total == 1 })
        var states = there.states().makeAsyncIterator()
        let first = await states.next()

        // The reference has one stream of changes, and the last change has passed.
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(0))
        continuation.yield(1)
        continuation.finish()
        var changes = stream.makeAsyncIterator()
        let late = await changes.next()
        expect(first?.total == 1, late == 1)
    }

    @Test func `M18 an acknowledgement means that the peer has it`() async throws {
        let world = VirtualWorld(seed: 6)
        let (here, there) = await world.pair { $0.isHighRate = { _ in true } }
        world.network.setConditions(ScenarioConditions(lossRate: 1), from: phone, to: watch)
        let id = try here.submit(.add(1), at: world.now).metadata.eventID
        await world.settle(until: { here.delivery(of: id).step == .sent })
        await world.settle()
        let isHeldTooEarly = here.delivery(of: id).step != .sent
        #expect(there.state.total == 0 && !isHeldTooEarly)
        // The reference only knows that a send didn't throw.
        let referenceSaysDelivered = here.statistics.sendFailures == 0
        world.network.setConditions(nil, from: phone, to: watch)
        await world.settle(until: { here.delivery(of: id).step == .confirmed })
        expect(!isHeldTooEarly, !referenceSaysDelivered)
        #expect(there.state.total == 1)
    }

    @Test func `M19 a phase can't contradict the time read with it`() async throws {
        struct Timer: Codable, Sendable, Equatable {
            var anchor: SessionTimerAnchor?
        }
        struct TimerReducer: SessionSyncReducer {
            func reduce(state: inout Timer, event: TimerTap, context: SessionEventContext) {
                switch event {
                case .start(let at): state.anchor = .start(at: at)
                case .pause(let at): state.anchor?.pause(at: at)
                case .resume(let at): state.anchor?.resume(at: at)
                }
            }
        }
        let world = VirtualWorld(seed: 7)
        func device(_ peer: SessionPeer, _ incarnation: UInt32)
            -> SyncedSession<Timer, TimerTap, TimerReducer, AcceptingConflictPolicy<Timer, TimerTap>>
        {
            var configuration = SyncedSessionConfiguration<Timer, TimerTap>()
            configuration.incarnation = incarnation
            configuration.now = { [network = world.network] in network.now }
            configuration.uptime = { [network = world.network] in network.elapsed }
            configuration.wait = { try await world.sleep($0) }
            return SyncedSession(
                sessionID: sessionID, featureID: "timer", transport: world.transport(peer), initialState: Timer(),
                reducer: TimerReducer(), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
        }
        let (here, there) = (device(phone, 1), device(watch, 2))
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        // Both users tap at once, again and again. The reference stores the phase of the last message.
        var stored = (phase: "running", anchor: SessionTimerAnchor.start(at: world.now))
        var hasContradicted = false
        try here.submit(.start(at: here.now))
        for _ in 0..<10 {
            let moment = here.now
            try here.submit(.pause(at: moment))
            try there.submit(.resume(at: moment.addingTimeInterval(-0.01)))
            stored.phase = "paused"
            stored.anchor.pause(at: moment)
            // Arrives later, but was tapped before.
            stored.phase = "running"
            if moment.addingTimeInterval(-0.01) >= stored.anchor.pauseStartedAt ?? moment {
                stored.anchor.resume(at: moment)
            }
            hasContradicted = hasContradicted || (stored.phase == "running") == stored.anchor.isPaused
            await world.run(.milliseconds(70))
            for session in [here, there] {
                guard let anchor = session.state.anchor else { continue }
                let reading = session.reading(of: anchor)
                #expect((reading.phase == .running) == !anchor.isPaused)
                await world.run(.milliseconds(200))
                let later = session.reading(of: anchor)
                #expect((later.elapsed > reading.elapsed) == (reading.phase == .running))
            }
        }
        await world.settle(until: { here.confirmedCount == 21 && there.confirmedCount == 21 })
        expect(here.state == there.state, !hasContradicted)
    }
}

enum TimerTap: Codable, Sendable {
    case start(at: Date)
    case pause(at: Date)
    case resume(at: Date)
}
