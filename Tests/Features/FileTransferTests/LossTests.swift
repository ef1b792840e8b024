import Foundation
import MeshBus
import MeshConnection
import MeshScenarioTransport
import Testing

@testable import MeshFileTransfer

/// Any network, relaunches of either side: every file arrives whole and is imported once, or its transfer has an error.
@MainActor @Suite struct LossTests {
    /// More by hand: FILE_SEEDS=0..<500.
    private nonisolated static let seeds: [UInt64] = {
        let bounds = ProcessInfo.processInfo.environment["FILE_SEEDS"]?.components(separatedBy: "..<").compactMap(
            UInt64.init)
        return bounds?.count == 2 ? Array(bounds![0]..<bounds![1]) : Array(0..<10)
    }()

    @Test(arguments: seeds) func `Files survive whatever happens to them`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let conditions = ScenarioConditions(
            latency: .uniform(.milliseconds(1), .milliseconds(1 + Int64(random.next() % 60))),
            lossRate: Double(random.next() % 25) / 100, duplicationRate: Double(random.next() % 20) / 100,
            reorderingRate: Double(random.next() % 35) / 100)
        let lanes = [ScenarioLanes.network, ScenarioLanes.datagrams, ScenarioLanes.streams][Int(random.next() % 3)]
        let pair = try TestPair(seed: seed, conditions, lanes: lanes)
        try pair.phone.launch()
        try pair.watch.launch()
        var expected: [String: Data] = [:]
        var cancelled: Set<String> = []
        let count = 1 + Int(random.next() % 3)
        for number in 0..<count {
            let bytes = Int(random.next() % 120_000)
            let url = try pair.makeFile("\(number)", bytes: bytes, seed: seed &* 31 &+ UInt64(number))
            expected["\(number)"] = try Data(contentsOf: url)
            let transfer = try await pair.begin(url)
            if random.chance(0.1) {
                transfer.cancel()
                cancelled.insert("\(number)")
            }
            await disturb(pair, &random)
        }
        pair.network.heal()
        pair.network.conditions = .ideal
        await pair.settle(steps: 1500, step: .milliseconds(50)) {
            pair.phone.storedNames.isEmpty && pair.phone.files?.outstandingFileTransfers.isEmpty == true
        }
        #expect(pair.phone.storedNames.isEmpty, "seed \(seed)")
        #expect(
            pair.phone.diagnostics.allSatisfy { event in
                if case .fileTransferFailed(_, let error) = event { error == .cancelled } else { true }
            }, "seed \(seed)")
        for (name, content) in expected {
            let imports = pair.watch.imports[name] ?? 0
            #expect(cancelled.contains(name) ? imports <= 1 : imports == 1, "seed \(seed), file \(name): \(imports)")
            if imports > 0 { #expect(pair.watch.contents[name] == content, "seed \(seed), file \(name)") }
        }
    }

    private func disturb(_ pair: TestPair, _ random: inout SplitMix64) async {
        for _ in 0..<random.next() % 4 {
            switch random.next() % 5 {
            case 0: pair.network.partition([pair.phone.peer], [pair.watch.peer])
            case 1: pair.network.heal()
            case 2:
                await pair.phone.crash()
                _ = try? pair.phone.launch()
            case 3:
                await pair.watch.crash()
                _ = try? pair.watch.launch()
            default: pair.network.partition(from: pair.watch.peer, to: pair.phone.peer)
            }
            await pair.settle(steps: 5 + Int(random.next() % 60), step: .milliseconds(Int64(1 + random.next() % 10)))
        }
    }
}
