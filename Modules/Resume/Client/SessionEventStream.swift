import MeshBase

/// A coordinator's events for any number of subscribers. Each of them gets the current state first.
final class SessionEventStream: Sendable {
    private let topic = Topic<SessionEvent>(bufferLimit: 256, overflow: .dropOldest)
    /// Held while an event is queued, so that a new subscriber misses no state.
    private let state = Locked(SessionState.disconnected)

    func publish(_ event: SessionEvent) {
        let handover = state.withLock { state in
            if case .stateChanged(let next) = event { state = next }
            return topic.enqueue(event)
        }
        handover.complete()
    }

    func subscribe() -> AsyncStream<SessionEvent> {
        state.withLock { topic.subscribe(startingWith: [.stateChanged($0)]) }
    }

    func finish() { topic.finish() }
}
