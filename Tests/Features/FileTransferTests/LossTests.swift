import Foundation
import MeshBase
import MeshConnection
import MeshScenarioTransport
import Testing

@testable import MeshFileTransfer

/// Any network, disks that stall, and relaunches: every file is imported once and complete, or its transfer has an error.
@MainActor @Suite struct LossTests {
    /// The seeds. For more, set FILE_SEEDS=202611261530..<202611262030.
    private nonisolated static let seeds: [UInt64] = {
        let bounds = ProcessInfo.processInfo.environment["FILE_SEEDS"]?.components(separatedBy: "..<").compactMap(
            UInt64.init)
        return bounds?.count == 2 ? Array(bounds![0]..<bounds![1]) : Array(202_611_261_530..<202_611_261_540)
    }()

    @Test(arguments: seeds) func `Files survive whatever happens to them`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let conditions = ScenarioConditions(
            latency: .uniform(.milliseconds(1), .milliseconds(1 + Int64(random.next() % 60))),
            lossRate: Double(random.next() % 25) / 100, duplicationRate: Double(random.next() % 20) / 100,
            reorderingRate: Double(random.next() % 35) / 100)
        let lanes = [ScenarioLanes.network, ScenarioLanes.datagrams, ScenarioLanes.streams][Int(random.next() % 3)]
        let pair = try TestPair(seed: seed, conditions, lanes: lanes)
        let disks = SlowDisks(pair.network, perChunk: .microseconds(Int64(random.next() % 10_000)))
        disks.beginCounting()
        pair.phone.system = disks.sender
        pair.watch.system = disks.receiver
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
            await disturb(pair, disks, &random)
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

    private func disturb(_ pair: TestPair, _ disks: SlowDisks, _ random: inout SplitMix64) async {
        for _ in 0..<random.next() % 4 {
            switch random.next() % 7 {
            case 0: pair.network.partition([pair.phone.peer], [pair.watch.peer])
            case 1: pair.network.heal()
            case 2:
                await pair.phone.crash()
                _ = try? pair.phone.launch()
            case 3:
                await pair.watch.crash()
                _ = try? pair.watch.launch()
            case 4: disks.stopReader(.seconds(Int64(random.next() % 60)))
            case 5: disks.stopWriter(.seconds(Int64(random.next() % 60)))
            default: pair.network.partition(from: pair.watch.peer, to: pair.phone.peer)
            }
            await pair.settle(steps: 5 + Int(random.next() % 60), step: .milliseconds(Int64(1 + random.next() % 10)))
        }
    }
}
