import Foundation
import MeshBase
import MeshBenchmarks
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTransport

/// The cost of reconnecting two devices after each has written alone: `plugins-tool bench merge`.
///
/// In an app each session runs on its own device's main actor. Here both share one. The network is in memory and calm, and its
/// time passes as fast as this machine's. `longestHold` is the longest time that other work waited for the main actor, and
/// `longestHoldCPU` the most CPU time that its thread used meanwhile. `bytes` are those of all packets, both ways.
enum MergeBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "merge", summary: "What two devices cost that come together after writing alone"
    ) { context in
        var rows: [BenchmarkRow] = []
        for count in [500, 2_000, 4_000, 16_000] {
            context.report("\(count) + \(count)")
            rows.append(try await measure(count, "\(count) + \(count)", MergedCount()))
        }
        context.report("500 + 500, 1 MB")
        rows.append(try await measure(500, "500 + 500, state of 1 MB", MergedBytes()))
        for count in [4_000, 16_000] {
            context.report("newcomer, \(count)")
            rows.append(try await measure(count, "newcomer to \(count)", MergedCount(), hasNewcomer: true))
        }
        return rows
    }

    private static func measure(
        _ count: Int, _ name: String, _ initialState: some MergedState, hasNewcomer: Bool = false
    ) async throws -> BenchmarkRow {
        let network = ScenarioNetwork(seed: 1, traceLimit: 1 << 20)
        let pair = try await MergingPair(network, count, initialState, hasNewcomer: hasNewcomer)
        let heart = Heart()
        let time = Task.detached {
            while !Task.isCancelled {
                network.advance(by: .milliseconds(2))
                try? await Task.sleep(for: .milliseconds(2))
            }
        }
        let beats = Task.detached { await heart.beat() }
        defer {
            time.cancel()
            beats.cancel()
        }
        let start = ContinuousClock.now
        await pair.start()
        while await !pair.isEqual {
            try await Task.sleep(for: .milliseconds(5))
            guard ContinuousClock.now - start < .seconds(120) else { throw NotApplied() }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        await pair.stop()
        return [
            "case": .text(name), "seconds": .number(seconds), "bytes": .integer(network.packetBytes),
            "longestHoldMilliseconds": .number(heart.longest / .milliseconds(1)),
            "longestHoldCPUMilliseconds": .number(heart.longestCPU / .milliseconds(1)),
        ]
    }
}

extension ScenarioNetwork {
    fileprivate var packetBytes: Int {
        trace.reduce(0) { if case .packet(_, let byteCount) = $1.subject { $0 + byteCount } else { $0 } }
    }
}

/// Requests the main actor repeatedly, to measure how long the sessions hold it.
private final class Heart: Sendable {
    private struct Longest {
        var wait = Duration.zero
        var cpu = Duration.zero
    }

    private let measured = Locked(Longest())

    var longest: Duration { measured.withLock { $0.wait } }
    var longestCPU: Duration { measured.withLock { $0.cpu } }

    func beat() async {
        var last: (thread: ObjectIdentifier, cpu: Duration)?
        while !Task.isCancelled {
            let asked = ContinuousClock.now
            // Taken on the main actor: the return from it may wait for a thread that the sessions' other work uses.
            let (wait, thread, cpu) = await MainActor.run {
                (ContinuousClock.now - asked, ObjectIdentifier(Thread.current), ThreadTime.now())
            }
            // Another thread may serve the main actor next.
            let used = last.flatMap { $0.thread == thread ? cpu - $0.cpu : nil } ?? .zero
            last = (thread, cpu)
            measured.withLock { longest in
                longest = Longest(wait: max(longest.wait, wait), cpu: max(longest.cpu, used))
            }
            try? await Task.sleep(for: .microseconds(200))
        }
    }
}

private protocol MergedState: Codable, Sendable, Equatable {
    mutating func take(_ number: Int)
}

private struct MergedCount: MergedState {
    var sum = 0

    mutating func take(_ number: Int) { sum &+= number }
}

/// A state of 1 MiB, which each change may copy.
private struct MergedBytes: MergedState {
    var bytes = [UInt8](repeating: 0, count: 1 << 20)

    mutating func take(_ number: Int) { bytes[number * 131 % bytes.count] &+= 1 }
}

private struct MergedReducer<State: MergedState>: SessionSyncReducer {
    func reduce(state: inout State, event: Int, context: SessionEventContext) { state.take(event) }
}

/// A phone and a watch that each have `count` events unknown to the other; or only the phone has events and the watch joins.
@MainActor private final class MergingPair<State: MergedState> {
    private typealias Session = SyncedSession<
        State, Int, MergedReducer<State>, AcceptingConflictPolicy<State, Int>
    >

    private let sessions: [Session]
    private let hasNewcomer: Bool

    init(_ network: ScenarioNetwork, _ count: Int, _ initialState: State, hasNewcomer: Bool) throws {
        self.hasNewcomer = hasNewcomer
        let names = ["phone", "watch"]
        let members = names.map { SessionSource(peerID: $0, incarnation: 1) }
        sessions = names.map { name in
            var configuration = SyncedSessionConfiguration<State, Int>()
            configuration.incarnation = 1
            if !hasNewcomer { configuration.members = members }
            configuration.outgoingMax = count + 1
            // High enough that no events are thinned out.
            configuration.engine.ownUnconfirmedMax = 4 * count
            configuration.engine.ownUnconfirmedBytesMax = .max
            configuration.engine.samplesReducer = false
            configuration.isHighRate = { _ in true }
            let peer = SessionPeer(id: name, deviceClass: .unknown, appInstanceID: name, topology: .pairedCompanion)
            return Session(
                sessionID: UUID(uuid: (1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16)),
                featureID: "merge", transport: network.makeTransport(localPeer: peer), initialState: initialState,
                reducer: MergedReducer(), conflictPolicy: AcceptingConflictPolicy(),
                configuration: configuration)
        }
        let noon = Date(timeIntervalSince1970: 1_767_225_600)
        for number in 0..<count {
            for (index, session) in sessions.enumerated() where index == 0 || !hasNewcomer {
                try session.submit(number, at: noon.addingTimeInterval(Double(number) + Double(index) / 2))
            }
        }
    }

    func start() { for session in sessions { session.start() } }
    func stop() { for session in sessions { session.stop() } }

    var isEqual: Bool {
        let (one, other) = (sessions[0], sessions[1])
        return one.confirmedCount > 0 && one.state == other.state
            && one.confirmedCount == other.confirmedCount
            && (hasNewcomer
                ? one.confirmedCount == one.statistics.submitted
                : one.statistics.applied == one.statistics.submitted
                    && other.statistics.applied == other.statistics.submitted)
    }
}
