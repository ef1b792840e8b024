import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@Suite struct ScenarioFaultTests {
    let a = Party.peer("a")
    let b = Party.peer("b")
    let c = Party.peer("c")

    /// Three peers talk in every mode over a bad network with partitions and lies.
    func run(seed: UInt64) async throws -> [ScenarioTraceEntry] {
        let network = ScenarioNetwork(seed: seed, conditions: .rough)
        let transports = [a, b, c].map { network.makeTransport(localPeer: $0) }
        for step in 1...40 as ClosedRange<UInt64> {
            if step == 10 { network.partition([a, c], [b]) }
            if step == 15 { network.setReachable(true, of: b, seenBy: a) }
            if step == 20 { network.heal() }
            if step == 30 { network.partition(from: c, to: a) }
            for transport in transports {
                try? await transport.send(step, .realtimeBestEffort)
                try? await transport.send(step, feature: "other", .reliableEventually)
                try? await transport.publish(step, feature: "state")
                try? await transport.requestSnapshot(sessionID: Party.session)
            }
            network.advance(by: .milliseconds(25))
        }
        network.heal()
        network.runUntilIdle()
        return network.trace
    }

    @Test("One seed gives one trace, and another seed another", arguments: 0..<10 as Range<UInt64>)
    func replays(seed: UInt64) async throws {
        let first = try await run(seed: seed)
        #expect(first.count > 500)
        #expect(try await run(seed: seed) == first, "seed \(seed)")
        #expect(try await run(seed: seed + 1000) != first, "seed \(seed)")
    }

    @Test func `The trace of a seed is the same on every system`() async throws {
        let network = ScenarioNetwork(seed: 42, conditions: .rough)
        let phone = network.makeTransport(localPeer: a)
        _ = network.makeTransport(localPeer: b)
        for sequence in 1...4 as ClosedRange<UInt64> { try await phone.send(sequence, .realtimeBestEffort) }
        network.runUntilIdle()
        #expect(network.trace.map(\.description) == Self.golden)
    }

    @Test func `What one link does is independent of what others carry`() async throws {
        func deliveries(noise: Bool) async throws -> [ScenarioTraceEntry] {
            let network = ScenarioNetwork(seed: 5, conditions: .rough)
            let (phone, watch) = (network.makeTransport(localPeer: a), network.makeTransport(localPeer: b))
            for sequence in 1...50 as ClosedRange<UInt64> {
                if noise { try await watch.send(sequence, .realtimeBestEffort) }
                try await phone.send(sequence, .realtimeBestEffort)
            }
            network.runUntilIdle()
            return network.trace.filter { $0.receiverID == "b" && $0.senderID == "a" }
        }
        #expect(try await deliveries(noise: true) == deliveries(noise: false))
    }

    @Test func `Loss, duplication and reordering happen about as often as they are asked for`() async throws {
        let network = ScenarioNetwork(
            seed: 3, conditions: ScenarioConditions(lossRate: 0.25, duplicationRate: 0.1, reorderingRate: 0.2))
        let phone = network.makeTransport(localPeer: a)
        _ = network.makeTransport(localPeer: b)
        for sequence in 1...2000 as ClosedRange<UInt64> {
            try await phone.send(sequence, .realtimeBestEffort)
            network.advance(by: .milliseconds(10))
        }
        network.runUntilIdle()
        let delivered = network.delivered(to: "b")
        let distinct = Set(delivered).count
        #expect((1400...1600).contains(distinct))
        #expect((100...200).contains(delivered.count - distinct))
        #expect(zip(delivered, delivered.dropFirst()).contains { $0 > $1 })
    }

    @Test func `Without reordering a jittery link keeps its order`() async throws {
        let network = ScenarioNetwork(seed: 3, conditions: ScenarioConditions(lossRate: 0.1))
        let phone = network.makeTransport(localPeer: a)
        _ = network.makeTransport(localPeer: b)
        for sequence in 1...200 as ClosedRange<UInt64> { try await phone.send(sequence, .realtimeBestEffort) }
        network.runUntilIdle()
        let delivered = network.delivered(to: "b")
        #expect(delivered == delivered.sorted())
        #expect(delivered.count < 200)
    }

    @Test func `Best effort is lost in a partition, then refused, and never delivered later`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        _ = network.makeTransport(localPeer: b)
        network.runUntilIdle()
        try await phone.send(1, .realtimeBestEffort)
        network.partition([a], [b])
        try await phone.send(2, .realtimeBestEffort)
        network.runUntilIdle()
        await #expect(throws: SessionSyncError.notReachable) { try await phone.send(3, .realtimeBestEffort) }
        await #expect(throws: SessionSyncError.notReachable) {
            try await phone.requestSnapshot(sessionID: Party.session)
        }
        network.heal()
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [])
        try await phone.send(4, .realtimeBestEffort)
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [4])
        #expect(network.told("a", of: "b") == [true, false, true])
        #expect(network.told("b", of: "a") == [true, false, true])
    }

    @Test func `A partition in one direction lets the other pass`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let (phone, watch) = (network.makeTransport(localPeer: a), network.makeTransport(localPeer: b))
        network.partition(from: a, to: b)
        try await phone.send(1, .reliableEventually)
        try await watch.send(2, .reliableEventually)
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [])
        #expect(network.delivered(to: "a") == [2])
        network.heal()
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [1])
    }

    @Test func `Groups are cut from each other and whole within`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        _ = (network.makeTransport(localPeer: b), network.makeTransport(localPeer: c))
        network.partition([a, b], [c])
        try await phone.send(1, .reliableEventually)
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [1])
        #expect(network.delivered(to: "c") == [])
    }

    @Test func `Reachability may lie both ways, and then tells the truth again`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        _ = network.makeTransport(localPeer: b)
        network.runUntilIdle()

        network.setReachable(false, of: b, seenBy: a)
        await #expect(throws: SessionSyncError.notReachable) { try await phone.send(1, .realtimeBestEffort) }
        try await phone.send(2, .reliableEventually)
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [2])

        network.partition([a], [b])
        network.setReachable(true, of: b, seenBy: a)
        network.runUntilIdle()
        try await phone.send(3, .realtimeBestEffort)
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [2])

        network.setReachable(nil, of: b, seenBy: a)
        network.runUntilIdle()
        #expect(network.told("a", of: "b") == [true, false, true, false])
    }

    @Test func `A link of its own conditions does not change the others`() async throws {
        let network = ScenarioNetwork(seed: 1, conditions: .ideal)
        let phone = network.makeTransport(localPeer: a)
        _ = (network.makeTransport(localPeer: b), network.makeTransport(localPeer: c))
        network.setConditions(ScenarioConditions(latency: .fixed(.seconds(9))), from: a, to: b)
        try await phone.send(1, .realtimeBestEffort)
        network.advance(by: .seconds(1))
        #expect(network.delivered(to: "b") == [])
        #expect(network.delivered(to: "c") == [1])
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [1])
        #expect(network.elapsed == .seconds(9))
    }

    @Test func `The trace keeps the newest entries up to its limit`() async throws {
        let network = ScenarioNetwork(seed: 1, traceLimit: 3)
        let phone = network.makeTransport(localPeer: a)
        _ = network.makeTransport(localPeer: b)
        for sequence in 1...10 as ClosedRange<UInt64> { try await phone.send(sequence, .reliableEventually) }
        network.runUntilIdle()
        #expect(network.trace.count == 3)
        #expect(network.delivered(to: "b").last == 10)
    }

    @Test func `Absurd durations and rates neither trap nor hang`() async throws {
        let network = ScenarioNetwork(
            seed: 1,
            conditions: ScenarioConditions(
                latency: .uniform(.seconds(Int64.max), .seconds(-5)), lossRate: 1, duplicationRate: 7,
                reorderingRate: .nan))
        let phone = network.makeTransport(localPeer: a)
        _ = network.makeTransport(localPeer: b)
        try await phone.send(1, .realtimeBestEffort)
        try await phone.send(2, .reliableEventually)
        network.advance(by: .seconds(-1))
        #expect(network.elapsed == .zero)
        network.runUntilIdle()
        for _ in 0..<200 { network.advance(by: .seconds(Int64.max)) }
        #expect(network.delivered(to: "b") == [2])
    }

    static let golden = [
        "0.0 seconds a → b: workout #2 lost",
        "0.005198846 seconds a → b: workout #3 delivered",
        "0.010134105 seconds a → b: reachable delivered",
        "0.020171684 seconds a → b: workout #4 delivered",
        "0.051963248 seconds a → b: workout #1 delivered",
        "0.072682307 seconds b → a: reachable delivered",
        "0.125476982 seconds a → b: workout #1 delivered",
    ]
}
