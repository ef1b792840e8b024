public import MeshFoundation

extension SessionTimerAnchor {
    /// Returns a timer that starts at that moment.
    /// - Parameter duration: seconds until the expected end, if there is one.
    public static func start(at moment: Date, duration: TimeInterval? = nil) -> SessionTimerAnchor {
        SessionTimerAnchor(
            startedAt: moment, accumulatedElapsedBeforeAnchor: 0, pauseStartedAt: nil, isPaused: false,
            expectedEndAt: duration.map(moment.addingTimeInterval), stepStartedAt: nil)
    }

    /// Pauses the timer at that moment. A second pause changes nothing.
    public mutating func pause(at moment: Date) {
        guard !isPaused else { return }
        accumulatedElapsedBeforeAnchor = elapsed(at: moment)
        pauseStartedAt = moment
        isPaused = true
    }

    /// Continues counting from that moment. The step continues where it was, and the expected end moves by the pause.
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

    /// Starts a step, such as a lap, an interval or a set. In a pause, it starts when the pause did, at 0 seconds.
    public mutating func step(at moment: Date) {
        guard finishedAt == nil else { return }
        stepStartedAt = isPaused ? pauseStartedAt ?? moment : moment
    }

    /// Stops the timer for good; if it is paused, at the start of the pause. A second finish changes nothing.
    public mutating func finish(at moment: Date) {
        guard finishedAt == nil else { return }
        let frozenAt = isPaused ? pauseStartedAt ?? moment : moment
        pause(at: moment)
        finishedAt = frozenAt
    }

    /// The phase, derived from the anchor's fields, so it can't contradict them.
    public var phase: SessionTimerPhase {
        if finishedAt != nil { return .finished }
        return isPaused ? .paused : .running
    }
}

/// The phase of a timer, derived from its anchor.
public enum SessionTimerPhase: String, Sendable, Hashable, Codable {
    /// Running; paused, so it can resume; finished for good.
    case running, paused, finished
}
