import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

@MainActor
@Suite("A phone and a watch, whatever happens to them")
struct SeededTests {
    /// The first seeds, and those that have found a fault.
    private nonisolated static let seeds: [UInt64] = Array(1...120) + [151, 230, 313, 377, 429, 479, 580]

    @Test(arguments: seeds)
    func `no message is lost and no handler runs twice`(seed: UInt64) async throws {
        #expect(try await wrong(seed: seed) == nil, "seed \(seed)")
    }

    @Test func `apps that forget their sent messages at each launch are detected`() async throws {
        var found = 0
        for seed in 1...12 as ClosedRange<UInt64> where try await wrong(seed: seed, remembers: false) != nil {
            found += 1
        }
        #expect(found > 0)
    }

    /// Runs twelve random actions or events, then ends all disturbances. By then everything accepted on the durable lane must
    /// have run, nothing may have run twice, and the states must be equal.
    private func wrong(seed: UInt64, remembers: Bool = true) async throws -> String? {
        let pair = try PhoneAndWatch(seed: seed, remembers: remembers)
        var random = SplitMix64(seed: seed)
        var line = 0
        await pair.runFast(for: .seconds(2))
        for _ in 1...12 {
            let (from, to) = Bool.random(using: &random) ? (pair.phone, pair.watch) : (pair.watch, pair.phone)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3:
                line += 1
                let isKept = Bool.random(using: &random)
                if await isAccepted(line, from, pair, isKept ? .userInfoOnly : .messageWithUserInfoFallback), isKept {
                    to.expected.insert(line)
                }
            case 4, 5: try from.counter?.update(Counter(count: Int.random(in: 1...1000, using: &random)))
            case 6: pair.launch(from)
            case 7: pair.watch.device.isInRange.toggle()
            case 8: from.device.claimedReachability = [nil, true, false].randomElement(using: &random) ?? nil
            default:
                switch Int.random(in: 0..<3, using: &random) {
                case 0: from.device.enterBackground()
                case 1: from.device.suspend()
                default: from.device.enterForeground()
                }
            }
            await pair.runFast(for: .milliseconds(Int.random(in: 0...3000, using: &random)))
        }
        pair.watch.device.isInRange = true
        for app in pair.apps {
            app.device.claimedReachability = nil
            app.device.launch()
        }
        for _ in 0..<(remembers ? 3000 : 300) where !pair.isSettled { await pair.runFast(for: .milliseconds(100)) }
        return pair.complaint
    }

    private func isAccepted(
        _ line: Int, _ from: PhoneAndWatch.App, _ pair: PhoneAndWatch, _ strategy: DeliveryStrategy
    ) async -> Bool {
        guard let connection = from.connection else { return false }
        let isAccepted = Locked(false)
        Task {
            await connection.send(Note(line: line), strategy: strategy)
            isAccepted.withLock { $0 = true }
        }
        await pair.runFast(for: .milliseconds(300))
        return isAccepted.withLock { $0 }
    }
}

extension PhoneAndWatch {
    fileprivate var apps: [App] { [phone, watch] }

    fileprivate var isSettled: Bool {
        phone.counter != nil && phone.counter?.value == watch.counter?.value
            && apps.allSatisfy { app in app.expected.isSubset(of: app.lines.withLock { Set($0) }) }
    }

    /// The first violation, or nil.
    fileprivate var complaint: String? {
        for app in apps {
            let lines = app.lines.withLock { $0 }
            let lost = app.expected.subtracting(lines)
            if !lost.isEmpty { return "the \(app.peer.id) has never seen \(lost.sorted())" }
            if Set(lines).count < lines.count { return "the \(app.peer.id) ran some twice: \(lines)" }
        }
        if phone.counter?.value == watch.counter?.value { return nil }
        return "the phone has \(phone.counter?.value.count ?? -1), the watch \(watch.counter?.value.count ?? -1)"
    }
}

extension PairBench {
    /// Advances the time in longer steps.
    fileprivate func runFast(for duration: Duration) async {
        let end = pair.elapsed + duration
        while pair.elapsed < end {
            pair.advance(by: .milliseconds(50))
            for _ in 0..<4 {
                await Task.yield()
                await Task.detached {}.value
            }
        }
    }
}
