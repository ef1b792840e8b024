public import Foundation
public import MeshIdentity
import MeshSeries
public import MeshSession

/// Plays one device's part of a plan over its session.
///
/// - Taking turns: samples are recorded as they come, and a tap is made once everything that the plan has before it is
///   here. So no two taps are concurrent, both devices end with the plan's final state, and every run has the same digest.
/// - Concurrent: from where the watch has joined, both devices make every tap at the same moment: each as soon as it has the
///   other's tap before, and neither waits for the other's of that moment. What the two of them make of it differs from run
///   to run, and never between them.
///
/// - Apart, for a range of steps: taking turns, but within the range neither device waits for the other's taps and samples.
///   So each can tap while they are out of each other's reach, and afterwards both see what the other has done.
///
/// Either way both end with every sample. Heart rates are shown as they are measured, too.
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
    /// Whether this device is within the steps in which it waits for nothing of the other's.
    public private(set) var isApart = false

    /// - Parameters:
    ///   - session: started by the caller.
    ///   - isConcurrent: both devices tap at the same moments.
    ///   - stepsApart: steps, all after `watchJoinsAfter`, in which neither device waits for the other; see
    ///     `ReplayPlan.stepsApart(at:)`.
    ///   - joinsLate: the session is under way, and this device may have been part of it before: it waits for what has
    ///     happened, leaves out the taps that have been made, and records its samples again.
    ///   - peerIDs: of the devices; by default their names in the plan.
    ///   - sleep: lets that much time pass. Virtual time in tests.
    ///   - onProgress: called with the number of steps that are known here, each time it is seen to have changed.
    ///   - onTap: called with each tap that was made here.
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

    /// Returns when every tap of the plan is applied and every sample held here; concurrently, when every event of both devices
    /// is held here.
    /// - Throws: `ReplayError`, what `submit` and `record` throw, or `CancellationError`.
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
            // Taps wait for everything before them: what comes before one that was made, here before a relaunch or by the
            // other, is past.
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
        // How many the phone and the watch have made.
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

    /// - Parameter earlier: of the step before; nil where nothing is to be waited for.
    private func measure(_ sample: WorkoutSample, at moment: Date, after earlier: Date?) async throws {
        try await pass(moment, after: earlier)
        // As fast as possible may be faster than the store.
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
                // By the session's clock, as taps are that follow none of the other's: the event itself has the recording's moment.
                onTap(try session.submit(event))
                onProgress(steps)
                return await Task.yield()
            } catch SessionSyncError.queueFull {
                try await session.waitForRoom()
            } catch SessionSyncError.logFull {
                // The other side acknowledges more slowly than this one taps.
                try await session.waitForRoom()
            }
        }
    }

    /// Waits as long as the recording did before that moment.
    private func pass(_ moment: Date, after earlier: Date?) async throws {
        try await wait(pace.wait(from: earlier ?? moment, to: moment))
        self.moment = moment
    }

    private func wait(_ duration: Duration) async throws {
        if duration > .zero { try await sleep(duration) }
    }

    /// How many steps of the plan are known here.
    private var steps: Int {
        let taps = isConcurrent ? Int(clamping: held(of: .phone)) : session.state.eventCount
        return min(taps + session.totals.sampleCount, plan.steps.count)
    }

    private func held(of actor: ReplayPlan.Actor) -> UInt64 {
        session.heldSequence(of: peerIDs[actor] ?? actor.rawValue)
    }

    /// Whether everything is held that was measured up to then; series have microseconds.
    private func holdsTrack(to moment: Date?) -> Bool {
        guard let moment else { return true }
        return session.totals.latest.map { moment.timeIntervalSince($0) < 0.001 } ?? false
    }

    /// Waits until a condition holds, and the whole track is held here and by the others.
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

    /// Whether every peer that can be reached has what was recorded here.
    fileprivate var areSamplesHeldByOthers: Bool {
        seriesStatuses.lazy.filter(\.isOwn).allSatisfy { series in
            reachablePeerIDs.allSatisfy { series.heldThrough[$0] ?? 0 >= series.end }
        }
    }
}

public enum ReplayError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The session was closed before the plan was done.
    case sessionEnded(applied: Int)

    public var description: String {
        switch self {
        case .sessionEnded(let applied): "the session ended after \(applied) steps"
        }
    }
}
