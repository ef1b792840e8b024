import MeshScenarioTransport
import MeshSimulation
import MeshTransport
import Testing

/// Complete transports over a network that loses three datagrams in ten.
@Suite struct DeliverySimulationTests {
    @Test("Ten thousand envelopes arrive once and in order", arguments: 0..<3 as Range<UInt64>)
    func lossy(seed: UInt64) {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let report = DeliverySimulation(envelopes: 10_000).run(seed: seed)
        #expect(report.failure == nil, "seed \(seed)")
        #expect(report.counts["delivered"] == 10_000)
    }

    @Test(
        "They still do so through partitions, false reports, sender crashes, restored stores and receiver relaunches",
        arguments: 0..<3 as Range<UInt64>)
    func faulty(seed: UInt64) {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        var simulation = DeliverySimulation(envelopes: 10_000, hasFaults: true)
        simulation.lanes = [ScenarioLanes.datagrams, ScenarioLanes.network, ScenarioLanes.streams][Int(seed % 3)]
        let report = simulation.run(seed: seed)
        #expect(report.failure == nil, "seed \(seed)")
        #expect(!report.faults.isEmpty, "seed \(seed): nothing went wrong")
    }

    @Test("A third peer that lies and floods has no effect", arguments: 0..<3 as Range<UInt64>)
    func liar(seed: UInt64) {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        var simulation = DeliverySimulation(envelopes: 300)
        simulation.hasLiar = true
        simulation.lanes = [ScenarioLanes.datagrams, ScenarioLanes.network, ScenarioLanes.streams][Int(seed % 3)]
        let report = simulation.run(seed: seed)
        #expect(report.failure == nil, "seed \(seed)")
        #expect(report.counts["delivered"] == 300)
    }

    @Test("Recorders around both ends change nothing", arguments: 0..<3 as Range<UInt64>)
    func recorded(seed: UInt64) {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        var simulation = DeliverySimulation(envelopes: 1_000, hasFaults: true)
        let plain = simulation.run(seed: seed)
        simulation.isRecorded = true
        let recorded = simulation.run(seed: seed)
        #expect(recorded.failure == plain.failure, "seed \(seed)")
        #expect(recorded.simulatedSeconds == plain.simulatedSeconds, "seed \(seed)")
        #expect(recorded.faults == plain.faults, "seed \(seed)")
    }

    @Test func `A seed always gives the same run`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let simulation = DeliverySimulation(envelopes: 2_000, hasFaults: true)
        let (first, second) = (simulation.run(seed: 7), simulation.run(seed: 7))
        #expect(first.simulatedSeconds == second.simulatedSeconds)
        #expect(first.faults == second.faults)
    }
}
