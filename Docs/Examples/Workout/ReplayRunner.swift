import Foundation
public import SessionMesh

/// Plays one device's part of a plan over its session.
///
/// Own samples are submitted as they come. A tap waits until everything that the plan has before it is applied here, and
/// as the devices take turns with the taps, each tap waits until the other side has applied the one before it. So no two
/// events are concurrent, and both devices end with the plan's final state.
///
/// Lives on the main actor, like the session.
@MainActor
public final class ReplayRunner {
    private let plan: ReplayPlan
    private let actor: ReplayPlan.Actor
    private let session: WorkoutSession
    private let pace: ReplayPace
    private let onProgress: (Int) -> Void
    private let changes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - session: started by the caller.
    ///   - onProgress: called with the number of steps that are applied here, each time it is seen to have changed.
    public init(
        plan: ReplayPlan, actor: ReplayPlan.Actor, session: WorkoutSession, pace: ReplayPace = .asFastAsPossible,
        onProgress: @escaping (Int) -> Void = { _ in }
    ) {
        self.plan = plan
        self.actor = actor
        self.session = session
        self.pace = pace
        self.onProgress = onProgress
    }

    /// Returns when every step of the plan is applied here.
    /// - Throws: `ReplayError`, what `submit` throws, or `CancellationError`.
    public func run() async throws {
        let listeners = listen()
        defer { for listener in listeners { listener.cancel() } }

        var earlier: Date?
        for (index, step) in plan.steps.enumerated() {
            let moment = step.event.moment
            if step.actor == actor {
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

    private func submit(_ event: WorkoutEvent) async throws {
        while true {
            do {
                try session.submit(event, at: event.moment)
                onProgress(session.state.eventCount)
                return await Task.yield()
            } catch SessionSyncError.queueFull {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    private func wait(_ duration: Duration) async throws {
        if duration > .zero { try await Task.sleep(for: duration) }
    }

    /// Waits until so many steps are applied here, in events or in a snapshot.
    private func reach(_ count: Int) async throws {
        var changed = changes.stream.makeAsyncIterator()
        while session.state.eventCount < count {
            guard await changed.next() != nil else {
                throw Task.isCancelled
                    ? CancellationError() : ReplayError.sessionEnded(applied: session.state.eventCount)
            }
            onProgress(session.state.eventCount)
        }
    }

    private func listen() -> [Task<Void, Never>] {
        let events = session.remoteEvents()
        let snapshots = session.remoteSnapshots()
        let changed = changes.continuation
        return [
            Task {
                for await _ in events { changed.yield() }
                changed.finish()
            },
            Task { for await _ in snapshots { changed.yield() } },
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
