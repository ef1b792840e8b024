import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshSession

private typealias Update = SessionUpdate<Counter, Tap>

/// Everything that happens in a session, in one order.
@MainActor @Suite struct UpdateTests {
    private let world = VirtualWorld(seed: 51)

    private func closed(_ session: CounterSession) async throws {
        let closing = Task { try await session.close() }
        await world.settle(until: { session.phase == .closed })
        try await closing.value
    }

    @Test func `a reader that keeps up gets each step`() async throws {
        let (here, there) = await world.pair()
        let record = Record(here.updates())
        try here.submit(.add(1))
        await world.settle(until: { here.confirmedCount == 1 })
        try there.submit(.add(2))
        await world.settle(until: { here.confirmedCount == 2 })
        try await closed(here)
        await record.ended()
        #expect(
            record.lines == [
                "first [] missed 0", "applied [1] → [1]", "confirmed [1]", "applied [2] → [1, 2]", "confirmed [2]",
            ])
    }

    @Test func `A late event is reported as reordered, with the final state`() async throws {
        let (here, there) = await world.pair()
        world.network.partition([phone], [watch])
        try there.submit(.add(1))
        await world.run(.seconds(1))
        let record = Record(here.updates())
        try here.submit(.add(2))
        try here.submit(.add(3))
        world.network.heal()
        await world.settle(until: { here.confirmedCount == 3 })
        await world.settle()
        #expect(record.lines.filter { $0.hasPrefix("reordered") } == ["reordered [1] → [1, 2, 3]"])
        #expect(record.lines.filter { $0.hasPrefix("confirmed") }.joined(separator: " ").contains("1"))
        #expect(record.replayedCounts.contains(2))
        #expect(record.state == here.state)
    }

    @Test func `an adopted copy is one step`() async throws {
        let here = world.session(world.transport(phone), incarnation: 1)
        here.start()
        for tap in 1...5 { try here.submit(.add(tap)) }
        await world.run(.seconds(1))
        let there = world.session(world.transport(watch), incarnation: 2)
        let record = Record(there.updates())
        await world.meet()
        there.start()
        await world.settle(until: { there.isMember && there.state.total == 15 })
        await world.settle()
        #expect(record.lines.contains("adopted phone [1, 2, 3, 4, 5] missed 0"))
        #expect(record.state == here.state)
        try here.submit(.add(6))
        await world.settle(until: { record.lines.contains("applied [6] → [1, 2, 3, 4, 5, 6]") })
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `whatever a reader does with each step, it ends with the session's state`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let (here, there) = await world.pair()
        let records = [Record(here.updates()), Record(there.updates()), Record(there.updates(bufferLimit: 3))]
        for round in 1...40 {
            try here.submit(.add(round))
            try there.submit(.add(-round))
            if round.isMultiple(of: 10) { world.network.partition([phone], [watch]) }
            await world.run(.milliseconds(50))
            if round.isMultiple(of: 10) { world.network.heal() }
        }
        await world.settle(until: { here.confirmedCount == 80 && there.confirmedCount == 80 })
        await world.settle()
        #expect(records.allSatisfy { $0.state == here.state }, "seed \(seed)")
        for record in records[..<2] {
            #expect(record.applied.count == 80 && record.confirmed == here.state.amounts, "seed \(seed)")
            #expect(record.isConfirmedAfterApplied, "seed \(seed)")
        }
    }

    @Test func `a reader that doesn't read gets a snapshot and the steps since`() async throws {
        let (here, there) = await world.pair()
        let slow = here.updates(bufferLimit: 10)
        for tap in 1...100 { try here.submit(.add(tap)) }
        await world.settle(until: { here.confirmedCount == 100 && there.confirmedCount == 100 })
        try await closed(here)
        var (waiting, told) = ([Update](), 0)
        for await update in slow {
            waiting.append(update)
            switch update {
            case .snapshot(_, let reason, let missed):
                #expect(reason == .skipped)
                told += missed
            case .applied(let events, _), .reordered(let events, _): told += events.count
            case .confirmed(let events): told += events.count
            }
        }
        #expect(waiting.count <= 3, "a snapshot, events and confirmations")
        #expect(told == 200, "missed updates are counted")
        let states = waiting.compactMap { update -> Counter? in
            switch update {
            case .snapshot(let state, _, _), .applied(_, let state), .reordered(_, let state): state
            case .confirmed: nil
            }
        }
        #expect(states.last == here.state)
    }

    @Test func `Unread updates are merged, within the event limit`() {
        var unread = UnreadUpdates<Counter, Tap>(Counter(), limit: 4)
        let core = world.session(world.transport(phone)).core
        var engine = core.engine
        func apply(_ amount: Int) throws {
            _ = try engine.submitLocal(.add(amount), at: world.now)
            unread.append(.applied(engine.takeApplied(), engine.state))
        }
        #expect(throws: Never.self) { for amount in 1...4 { try apply(amount) } }
        #expect(Record.line(unread.popFirst()) == "first [] missed 0")
        #expect(Record.line(unread.popFirst()) == "applied [1, 2, 3, 4] → [1, 2, 3, 4]")
        #expect(unread.isEmpty)
        #expect(throws: Never.self) { for amount in 5...9 { try apply(amount) } }
        #expect(Record.line(unread.popFirst()) == "skipped [1, 2, 3, 4, 5, 6, 7, 8, 9] missed 5")
        #expect(unread.isEmpty)
    }

    @Test func `A log that is behind reports events by a snapshot of the state`() {
        var journal = UpdateJournal<Counter, Tap>()
        var engine = world.session(world.transport(phone)).core.engine
        #expect(throws: Never.self) {
            for amount in 0..<3000 {
                _ = try engine.submitLocal(.add(amount), at: world.now)
                journal.record(engine.takeApplied())
            }
        }
        #expect(journal.take(engine.state, showsState: true, isBehind: false, localPeerID: "phone").isEmpty)
        journal.begin(isBehind: true)
        _ = try? engine.submitLocal(.add(1), at: world.now)
        journal.record(engine.takeApplied())
        let behind = journal.take(engine.state, showsState: true, isBehind: true, localPeerID: "watch")
        #expect(behind.map { Record.line($0).prefix(7) } == ["renewed"])
        let after = journal.take(engine.state, showsState: true, isBehind: false, localPeerID: "watch")
        #expect(after.map { Record.line($0).prefix(7) } == ["skipped"], "it started before the first subscriber")
    }

    @Test func `a cancelled or released reader is freed`() async throws {
        let (here, there) = await world.pair()
        defer { there.stop() }
        let task = Task { for await _ in here.updates() {} }
        var dropped: AsyncStream<Update>? = here.updates()
        await world.run(.milliseconds(50))
        #expect(!here.updateConsumers.isEmpty && here.core.updates.isKept)
        task.cancel()
        await task.value
        _ = dropped
        dropped = nil
        try here.submit(.add(1))
        #expect(here.updateConsumers.isEmpty)
        #expect(!here.core.updates.isKept, "nobody listens")
    }

    @Test func `a stream ends when its session is released`() async throws {
        var session: CounterSession? = world.session(world.transport(phone))
        session?.start()
        let record = Record(try #require(session?.updates()))
        await world.run(.milliseconds(50))
        session = nil
        await record.ended()
        #expect(record.lines == ["first [] missed 0"])
    }

    @Test func `a stream ends with its session, and a closed session's stream ends at once`() async throws {
        let (here, there) = await world.pair()
        defer { there.stop() }
        let record = Record(here.updates())
        try await closed(here)
        await record.ended()
        var late = here.updates().makeAsyncIterator()
        #expect(Record.line(await late.next()) == "first [] missed 0")
        #expect(await late.next() == nil)
    }
}

/// Records updates as they arrive.
@MainActor private final class Record {
    private(set) var lines: [String] = []
    private(set) var state = Counter()
    private(set) var applied: [Int] = []
    private(set) var confirmed: [Int] = []
    private(set) var replayedCounts: [Int] = []
    private(set) var isConfirmedAfterApplied = true
    private var task: Task<Void, Never>?

    init(_ updates: AsyncStream<Update>) {
        task = Task { [weak self] in for await update in updates { self?.take(update) } }
    }

    deinit { task?.cancel() }

    func ended() async { await task?.value }

    private func take(_ update: Update) {
        lines.append(Self.line(update))
        switch update {
        case .snapshot(let state, _, _): self.state = state
        case .applied(let events, let state), .reordered(let events, let state):
            self.state = state
            applied += events.compactMap { Self.amount($0.envelope.payload) }
            replayedCounts += events.map(\.replayedCount)
        case .confirmed(let events):
            let amounts = events.compactMap { Self.amount($0.envelope.payload) }
            isConfirmedAfterApplied = isConfirmedAfterApplied && amounts.allSatisfy(applied.contains)
            confirmed += amounts
        }
    }

    static func line(_ update: Update?) -> String {
        switch update {
        case .snapshot(let state, let reason, let missed): "\(name(reason)) \(state.amounts) missed \(missed)"
        case .applied(let events, let state): "applied \(amounts(events)) → \(state.amounts)"
        case .reordered(let events, let state): "reordered \(amounts(events)) → \(state.amounts)"
        case .confirmed(let events): "confirmed \(events.compactMap { amount($0.envelope.payload) })"
        case nil: "end"
        }
    }

    private static func name(_ reason: SessionSnapshotReason) -> String {
        switch reason {
        case .first: "first"
        case .adopted(let peerID): "adopted \(peerID)"
        case .shown(let peerID): "shown \(peerID)"
        case .renewed: "renewed"
        case .skipped: "skipped"
        }
    }

    private static func amounts(_ events: [SessionAppliedEvent<Tap>]) -> [Int] {
        events.compactMap { amount($0.envelope.payload) }
    }

    private static func amount(_ tap: Tap) -> Int? { if case .add(let amount) = tap { amount } else { nil } }
}
