import MeshBase

/// A coordinator's events for any number of subscribers, each of which begins with the current state.
final class SessionEventStream: Sendable {
    private let topic = Topic<SessionEvent>(bufferLimit: 256, overflow: .dropOldest)
    /// Held while an event goes to the subscribers, so that nobody misses a state between the first and the next.
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
