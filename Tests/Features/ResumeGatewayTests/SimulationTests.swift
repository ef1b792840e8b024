import MeshBus
import Testing

@testable import MeshResume
@testable import MeshResumeGateway

/// Whole lives of clients, gateways and a buffer, from seeds.
@Suite struct SimulationTests {
    /// - Returns: the first seed that fails, with what is wrong.
    private func firstFailure(_ seeds: Range<UInt64>, _ faults: GatewayWorld.Faults) -> (seed: UInt64, String)? {
        for seed in seeds {
            var world = GatewayWorld(seed: seed, faults)
            if let complaint = world.run() { return (seed, complaint) }
        }
        return nil
    }

    @Test(arguments: 0..<15)
    func `Every client sees every event once and in order, whatever breaks`(part: UInt64) {
        let seeds = part * 20..<(part + 1) * 20
        if let (seed, complaint) = firstFailure(seeds, .init()) {
            Issue.record("\(complaint); replay: GatewayWorld(seed: \(seed), .init())")
        }
    }

    @Test(arguments: 0..<5)
    func `Without a loss of the buffer nobody ever begins anew`(part: UInt64) {
        let seeds = 1000 + part * 20..<1000 + (part + 1) * 20
        if let (seed, complaint) = firstFailure(seeds, .init(losesBuffer: false)) {
            Issue.record("\(complaint); replay: GatewayWorld(seed: \(seed), .init(losesBuffer: false))")
        }
    }

    @Test func `The same seed lives the same life`() {
        func lived() -> [Int] {
            var world = GatewayWorld(seed: 7, .init())
            _ = world.run()
            return world.clients.map(\.seenCount) + [world.keyCount, world.lossCount]
        }
        #expect(lived() == lived())
    }

    @Test func `K20 a buffer that counts from 1 again under its old epoch is found out`() {
        let failure = firstFailure(0..<40, .init(keepsEpoch: true))
        #expect(failure?.1.contains("sees event") == true, "\(failure as Any)")
    }

    @Test(.enabled(if: ResumeMutations.areCompiledIn), arguments: [ResumeMutation.skipsGaps, .replayMovesNothing])
    func `K1 and K22 a client that skips gaps, or whose replays move nothing, is found out`(mutation: ResumeMutation) {
        let failure = firstFailure(0..<40, .init(clientMutations: [mutation]))
        #expect(failure?.1.contains("sees event") == true, "\(failure as Any)")
    }
}
