import MeshSimulation
import Testing

/// Devices that open sessions at once, take over, invite and end, over a bad network.
@Suite struct LobbySimulationTests {
    @Test(arguments: [2, 3, 5])
    func `In the end all devices follow one session, which has every tap of its members once`(devices: Int) {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let report = LobbySimulation(devices: devices).run(0..<20)
        for failure in report.failures {
            let replay = "plugins-tool simulate lobby --members \(devices) --seed \(failure.seed) --shrink"
            Issue.record("\(failure.reason); replay with: \(replay)")
        }
        // With two or three devices, all are usually admitted from the start, so invitations are rare.
        let kinds = ["open", "tap", "end", "crash", "relaunch", "partition"] + (devices == 5 ? ["invite"] : [])
        for kind in kinds { #expect(report.faults[kind] ?? 0 > 0, "\(kind)") }
    }

    @Test(
        .enabled(if: Simulation.canBreakRules),
        arguments: ["tieByArrival", "notPassedOn", "neverSuperseded", "leftRunning"])
    func `A broken lobby rule is detected`(name: String) {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let report = LobbySimulation(mutation: name).run(0..<60, stopsAtFailure: true)
        #expect(!report.failures.isEmpty, "\(name) is not noticed by seed 60")
    }

    @Test func `A seed always gives the same run, and a failing one is shrunk`() throws {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let (first, second) = (LobbySimulation().run(seed: 7), LobbySimulation().run(seed: 7))
        #expect(first.simulatedSeconds == second.simulatedSeconds)
        #expect(first.faults == second.faults)
        guard Simulation.canBreakRules else { return }
        let broken = LobbySimulation(mutation: "leftRunning")
        let failing = try #require(broken.run(0..<60, stopsAtFailure: true).failures.first)
        let smaller = try #require(broken.shrunk(broken.schedule(of: failing.seed)))
        #expect(broken.text(of: smaller).count < broken.text(of: broken.schedule(of: failing.seed)).count)
    }

    @Test func `Recorders around all transports change nothing`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        for failure in LobbySimulation(comparesRecorder: true).run(100..<110).failures {
            let replay = "plugins-tool simulate lobby --recorded --seed \(failure.seed)"
            Issue.record("\(failure.reason); replay with: \(replay)")
        }
    }
}
