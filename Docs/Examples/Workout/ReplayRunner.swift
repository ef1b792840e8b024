public import Foundation
public import MeshIdentity
import MeshSeries
public import MeshSession

/// Plays one device's part of a plan over its session.
///
/// - Taking turns: the runner records samples when they are due. It makes a tap once this device has every earlier step of the
///   plan. So no two taps are concurrent, both devices end with the plan's final state, and every run has the same digest.
/// - Concurrent: once the watch has joined, both devices make every tap at the same moment. Each waits for the other's
///   previous tap, but not for the other's tap of that moment. Results differ between runs, but not between the two devices.
/// - Disconnected for a range of steps: as when taking turns, but within the range neither device waits for the other's taps
///   and samples. So both can tap while they are out of reach. Afterwards each sees the other's taps.
///
/// In every mode both devices end with every sample. Heart rates are also shown as they are measured.
///
/// Lives on the main actor, like the session.
@MainActor
public final class ReplayRunner {
    private let plan: ReplayPlan
    private let actor: ReplayPlan.Actor
    private let session: WorkoutSession
    private let pace: ReplayPace
    private let isConcurrent: Bool
    private let stepsApart: Range<Int>
    private let joinsLate: Bool
    private let peerIDs: [ReplayPlan.Actor: String]
    private let sleep: (Duration) async throws -> Void
    private let onProgress: (Int) -> Void
    private let onTap: (SessionSyncEnvelope<WorkoutEvent>) -> Void
    private let changes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The moment of the recording that this device has reached; nil before its first step.
    public private(set) var moment: Date?
    /// True within the steps in which this device doesn't wait for the other.
    public private(set) var isApart = false

    /// - Parameters:
    ///   - session: Must be started by the caller.
    ///   - isConcurrent: True to let both devices tap at the same moments.
    ///   - stepsApart: Steps, all after `watchJoinsAfter`, in which neither device waits for the other. See
    ///     `ReplayPlan.stepsApart(at:)`.
    ///   - joinsLate: True if the session is in progress and this device may have been part of it before. It then waits for the
    ///     session's events, skips the taps already made, and records its samples again.
    ///   - peerIDs: IDs of the devices. By default their names in the plan.
    ///   - sleep: Lets time pass. Virtual time in tests.
    ///   - onProgress: Called with the number of steps known here whenever it has changed.
    ///   - onTap: Called with each tap made here.
    public init(
        plan: ReplayPlan, actor: ReplayPlan.Actor, session: WorkoutSession, pace: ReplayPace = .asFastAsPossible,
        isConcurrent: Bool = false, stepsApart: Range<Int> = 0..<0, joinsLate: Bool = false,
        peerIDs: [ReplayPlan.Actor: String] = [:],
        sleep: @escaping (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        onProgress: @escaping (Int) -> Void = { _ in },
        onTap: @escaping (SessionSyncEnvelope<WorkoutEvent>) -> Void = { _ in }
    ) {
        self.plan = plan
        self.actor = actor
        self.session = session
        self.pace = pace
        self.isConcurrent = isConcurrent
        self.stepsApart = stepsApart
        self.joinsLate = joinsLate
        self.peerIDs = peerIDs
        self.sleep = sleep
        self.onProgress = onProgress
        self.onTap = onTap
    }

    /// Plays the plan. Returns when this device has applied every tap and holds every sample; in concurrent mode, when it holds
    /// every event of both devices.
    /// - Throws: `ReplayError`, an error of `submit` or `record`, or `CancellationError`.
    public func run() async throws {
        let listeners = listen()
        defer { for listener in listeners { listener.cancel() } }

        if isConcurrent { try await tapTogether() } else { try await takeTurns() }
    }

    private func takeTurns() async throws {
        var earlier: Date?
        var (taps, measured) = (0, Date?.none)
        if joinsLate { try await until { $0.isMember } }
        for (index, step) in plan.steps.enumerated() {
            if index == stepsApart.lowerBound, !stepsApart.isEmpty {
                try await until { $0.state.eventCount >= taps && self.holdsTrack(to: measured) }
            }
            isApart = stepsApart.contains(index)
            // A tap waits for every step before it. So if the next tap exists, made here before a relaunch or by the other
            // device, this step is past.
            let isPast = session.state.eventCount > taps
            switch step {
            case .measure(let sample, let moment):
                if actor == step.actor {
                    try await measure(sample, at: moment, after: isPast ? nil : earlier)
                } else if isApart {
                    try await pass(moment, after: earlier)
                }
                measured = moment
            case .tap(let event, let tapper):
                if !isPast, tapper == actor {
                    if !isApart { try await until { $0.state.eventCount >= taps && self.holdsTrack(to: measured) } }
                    try await submit(event, after: earlier)
                } else if isApart {
                    try await pass(event.moment, after: earlier)
                } else {
                    try await until { $0.state.eventCount > taps }
                }
                taps += 1
            }
            earlier = step.moment
        }
        isApart = false
        try await untilWhole { $0.state.eventCount >= taps }
    }

    private func tapTogether() async throws {
        var earlier: Date?
        // The number of taps that phone and watch have made.
        var taps: (phone: UInt64, watch: UInt64) = (0, 0)
        for (index, step) in plan.steps.enumerated() {
            if index == plan.watchJoinsAfter { try await until { $0.isMember } }
            let isBoths = index >= plan.watchJoinsAfter
            switch step {
            case .measure(let sample, let moment) where actor == .phone:
                try await measure(sample, at: moment, after: earlier)
            case .measure(_, let moment):
                if isBoths { try await pass(moment, after: earlier) }
            case .tap(let event, _):
                if isBoths {
                    try await until { _ in self.held(of: .phone) >= taps.phone && self.held(of: .watch) >= taps.watch }
                }
                if actor == .phone || isBoths { try await submit(event, after: earlier) }
                taps.phone += 1
                if isBoths { taps.watch += 1 }
            }
            earlier = step.moment
        }
        try await untilWhole { _ in self.held(of: .phone) >= taps.phone && self.held(of: .watch) >= taps.watch }
    }

    /// - Parameter earlier: Moment of the previous step; nil to skip waiting.
    private func measure(_ sample: WorkoutSample, at moment: Date, after earlier: Date?) async throws {
        try await pass(moment, after: earlier)
        // The fastest pace may outrun the store.
        try await until { $0.unwrittenSampleCount < SeriesLimits.unwrittenMax / 2 }
        try session.measure(sample, at: moment)
        if let heartRate = sample.heartRate { try session.show(heartRate, as: .heartRate, at: moment) }
        onProgress(steps)
        await Task.yield()
    }

    private func submit(_ event: WorkoutEvent, after earlier: Date?) async throws {
        try await pass(event.moment, after: earlier)
        while true {
            do {
                // Submitted at the session's time. The event itself has the recording's moment.
                onTap(try session.submit(event))
                onProgress(steps)
                return await Task.yield()
            } catch SessionSyncError.queueFull {
                try await session.waitForRoom()
            } catch SessionSyncError.logFull {
                // The other device acknowledges more slowly than this one taps.
                try await session.waitForRoom()
            }
        }
    }

    /// Waits for the recorded time between the two moments, scaled by the pace. Then sets `moment`.
    private func pass(_ moment: Date, after earlier: Date?) async throws {
        try await wait(pace.wait(from: earlier ?? moment, to: moment))
        self.moment = moment
    }

    private func wait(_ duration: Duration) async throws {
        if duration > .zero { try await sleep(duration) }
    }

    /// Number of the plan's steps that are known here.
    private var steps: Int {
        let taps = isConcurrent ? Int(clamping: held(of: .phone)) : session.state.eventCount
        return min(taps + session.totals.sampleCount, plan.steps.count)
    }

    private func held(of actor: ReplayPlan.Actor) -> UInt64 {
        session.heldSequence(of: peerIDs[actor] ?? actor.rawValue)
    }

    /// True if this device holds every sample up to a moment. Tolerates 1 ms, because series store microseconds.
    private func holdsTrack(to moment: Date?) -> Bool {
        guard let moment else { return true }
        return session.totals.latest.map { moment.timeIntervalSince($0) < 0.001 } ?? false
    }

    /// Waits until a condition holds, this device holds the complete track, and reachable peers hold its samples.
    private func untilWhole(_ condition: (WorkoutSession) -> Bool) async throws {
        try await until { condition($0) && $0.areSamplesHeldByOthers }
        var changed = changes.stream.makeAsyncIterator()
        while try await session.track().count < plan.sampleCount {
            guard await changed.next() != nil else { throw ended }
        }
        onProgress(steps)
    }

    private func until(_ condition: (WorkoutSession) -> Bool) async throws {
        var changed = changes.stream.makeAsyncIterator()
        while !condition(session) {
            guard await changed.next() != nil else { throw ended }
            onProgress(steps)
        }
    }

    private var ended: any Error {
        Task.isCancelled ? CancellationError() : ReplayError.sessionEnded(applied: steps)
    }

    private func listen() -> [Task<Void, Never>] {
        let states = session.states()
        let statuses = session.statuses()
        let series = session.seriesUpdates()
        let changed = changes.continuation
        return [
            Task {
                for await _ in states { changed.yield() }
                changed.finish()
            },
            Task { for await _ in statuses { changed.yield() } },
            Task { for await _ in series { changed.yield() } },
        ]
    }
}

extension SyncedSession {
    fileprivate var unwrittenSampleCount: Int {
        seriesStatuses.lazy.filter(\.isOwn).map { $0.count - $0.storedCount }.max() ?? 0
    }

    /// True if every reachable peer holds all samples recorded here.
    fileprivate var areSamplesHeldByOthers: Bool {
        seriesStatuses.lazy.filter(\.isOwn).allSatisfy { series in
            reachablePeerIDs.allSatisfy { series.heldThrough[$0] ?? 0 >= series.end }
        }
    }
}

public enum ReplayError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The session was closed before the plan was finished.
    case sessionEnded(applied: Int)

    public var description: String {
        switch self {
        case .sessionEnded(let applied): "the session ended after \(applied) steps"
        }
    }
}
