import Foundation
import MeshIdentity
public import MeshSession

/// Plays one device's part of a plan over its session.
///
/// - Taking turns: own samples are submitted as they come, and a tap once everything that the plan has before it is
///   applied here. So no two taps are concurrent, both devices end with the plan's final state, and every run has the
///   same digest.
/// - Concurrent: from where the watch has joined, both devices make every tap at the same moment, and neither waits for
///   the other's: the watch taps as soon as it has the sample at which the plan taps. What the two of them make of it
///   differs from run to run, and never between them.
///
/// Lives on the main actor, like the session.
@MainActor
public final class ReplayRunner {
    private let plan: ReplayPlan
    private let actor: ReplayPlan.Actor
    private let session: WorkoutSession
    private let pace: ReplayPace
    private let isConcurrent: Bool
    private let joinsLate: Bool
    private let peerIDs: [ReplayPlan.Actor: String]
    private let onProgress: (Int) -> Void
    private let changes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - session: started by the caller.
    ///   - isConcurrent: both devices tap at the same moments.
    ///   - joinsLate: the session is under way, and this device may have been part of it before: it waits for what has
    ///     happened, and leaves out what has been done.
    ///   - peerIDs: of the devices; by default their names in the plan.
    ///   - onProgress: called with the number of steps that are known here, each time it is seen to have changed.
    public init(
        plan: ReplayPlan, actor: ReplayPlan.Actor, session: WorkoutSession, pace: ReplayPace = .asFastAsPossible,
        isConcurrent: Bool = false, joinsLate: Bool = false, peerIDs: [ReplayPlan.Actor: String] = [:],
        onProgress: @escaping (Int) -> Void = { _ in }
    ) {
        self.plan = plan
        self.actor = actor
        self.session = session
        self.pace = pace
        self.isConcurrent = isConcurrent
        self.joinsLate = joinsLate
        self.peerIDs = peerIDs
        self.onProgress = onProgress
    }

    /// Returns when every step of the plan is applied here; concurrently, when every event of both devices is held here.
    /// - Throws: `ReplayError`, what `submit` throws, or `CancellationError`.
    public func run() async throws {
        let listeners = listen()
        defer { for listener in listeners { listener.cancel() } }

        if isConcurrent { try await tapTogether() } else { try await takeTurns() }
    }

    private func takeTurns() async throws {
        var earlier: Date?
        if joinsLate { try await until { $0.isMember } }
        for (index, step) in plan.steps.enumerated() {
            let moment = step.event.moment
            if session.state.eventCount > index {
                // Taps wait for everything before them, so this one was made, here before a relaunch or by the other.
            } else if step.actor == actor {
                if step.event.isTap { try await reach(index) }
                try await wait(pace.wait(from: earlier ?? moment, to: moment))
                try await submit(step.event)
            } else if step.event.isTap {
                try await reach(index + 1)
            }
            earlier = moment
        }
        try await reach(plan.steps.count)
    }

    private func tapTogether() async throws {
        var earlier: Date?
        var samplesEnd = 0
        for (index, step) in plan.steps.enumerated() {
            if index == plan.watchJoinsAfter { try await until { $0.isMember } }
            if !step.event.isTap { samplesEnd = index + 1 }
            if actor == .phone || (step.event.isTap && index >= plan.watchJoinsAfter) {
                // The samples are the watch's clock.
                if actor == .watch { try await until { _ in self.held(of: .phone) >= samplesEnd } }
                try await wait(pace.wait(from: earlier ?? step.event.moment, to: step.event.moment))
                try await submit(step.event)
            }
            earlier = step.event.moment
        }
        let taps = plan.steps[plan.watchJoinsAfter...].count { $0.event.isTap }
        try await until { _ in self.held(of: .phone) >= self.plan.steps.count && self.held(of: .watch) >= taps }
    }

    private func submit(_ event: WorkoutEvent) async throws {
        while true {
            do {
                try session.submit(event, at: event.moment)
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

    private func wait(_ duration: Duration) async throws {
        if duration > .zero { try await Task.sleep(for: duration) }
    }

    /// How many steps of the plan are known here.
    private var steps: Int {
        isConcurrent ? Int(clamping: held(of: .phone)) : session.state.eventCount
    }

    private func held(of actor: ReplayPlan.Actor) -> UInt64 {
        session.heldSequence(of: peerIDs[actor] ?? actor.rawValue)
    }

    /// Waits until so many steps are applied here, in events or in a snapshot.
    private func reach(_ count: Int) async throws { try await until { $0.state.eventCount >= count } }

    private func until(_ condition: (WorkoutSession) -> Bool) async throws {
        var changed = changes.stream.makeAsyncIterator()
        while !condition(session) {
            guard await changed.next() != nil else {
                throw Task.isCancelled ? CancellationError() : ReplayError.sessionEnded(applied: steps)
            }
            onProgress(steps)
        }
    }

    private func listen() -> [Task<Void, Never>] {
        let states = session.states()
        let statuses = session.statuses()
        let changed = changes.continuation
        return [
            Task {
                for await _ in states { changed.yield() }
                changed.finish()
            },
            Task { for await _ in statuses { changed.yield() } },
        ]
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
