public import MeshFoundation

extension SessionTimerAnchor {
    /// A timer that starts running at that moment.
    /// - Parameter duration: seconds until the expected end, if there is one.
    public static func start(at moment: Date, duration: TimeInterval? = nil) -> SessionTimerAnchor {
        SessionTimerAnchor(
            startedAt: moment, accumulatedElapsedBeforeAnchor: 0, pauseStartedAt: nil, isPaused: false,
            expectedEndAt: duration.map(moment.addingTimeInterval), stepStartedAt: nil)
    }

    /// Stops the timer from counting. A second pause changes nothing.
    public mutating func pause(at moment: Date) {
        guard !isPaused else { return }
        accumulatedElapsedBeforeAnchor = elapsed(at: moment)
        pauseStartedAt = moment
        isPaused = true
    }

    /// Counts again from that moment; the step goes on where it was and the expected end moves by the pause.
    /// Changes nothing while running or after the finish.
    public mutating func resume(at moment: Date) {
        guard isPaused, finishedAt == nil else { return }
        if let pauseStartedAt {
            let pause = max(0, moment.timeIntervalSince(pauseStartedAt))
            let stepElapsedBeforePause = stepElapsed(at: pauseStartedAt)
            stepStartedAt = stepElapsedBeforePause.map { moment.addingTimeInterval(-$0) }
            expectedEndAt?.addTimeInterval(pause)
        }
        startedAt = moment
        pauseStartedAt = nil
        isPaused = false
    }

    /// Begins a step: a lap, an interval, a set. While paused it begins at the pause, so that it has lasted nothing.
    public mutating func step(at moment: Date) {
        guard finishedAt == nil else { return }
        stepStartedAt = isPaused ? pauseStartedAt ?? moment : moment
    }

    /// Freezes the timer for good. A second finish changes nothing.
    public mutating func finish(at moment: Date) {
        guard finishedAt == nil else { return }
        let frozenAt = isPaused ? pauseStartedAt ?? moment : moment
        pause(at: moment)
        finishedAt = frozenAt
    }

    /// Derived from the anchors at read time, so that it cannot contradict them.
    public var phase: SessionTimerPhase {
        if finishedAt != nil { return .finished }
        return isPaused ? .paused : .running
    }
}

/// The phase of a timer, derived from its anchor.
public enum SessionTimerPhase: String, Sendable, Hashable, Codable {
    /// Counting; paused, and to be resumed; finished for good.
    case running, paused, finished
}
