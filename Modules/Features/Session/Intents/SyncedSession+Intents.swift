import Foundation
import MeshEngine
import MeshIdentity

extension SyncedSession
where
    State: SessionIntentState, Event: SessionIntentEvent, State.Intent == Event.Intent, State.Answer == Event.Answer
{
    /// Does what is asked of this device, one after another, as long as the result is held. Of the devices that serve one is the
    /// owner: the first in the order to say so, until another takes over or the group goes on without it.
    ///
    /// - Parameter handler: runs at most once for an intent, on the main actor. What it throws reaches the asker as
    ///   `SessionIntentError.failed`.
    public func serve(
        _ handler: @escaping @MainActor (SessionIntent<State.Intent, State.Answer>) async throws -> State.Answer
    ) -> SessionIntentService<State, Event, Reducer, ConflictPolicy> {
        SessionIntentService(self, handler)
    }

    /// Asks the owner, whichever device that is now, perhaps this one, and waits for its answer.
    ///
    /// The owner begins as soon as it hears of the intent and not after `age`, by the session's clock. Where no beginning has
    /// been heard of two seconds after that, it is withdrawn and `lapsed` is thrown. Should the owner have begun all the same,
    /// out of reach, then the state's entry tells so once it is heard again. An owner that has begun is waited for as long as it
    /// is in the group. Cancelling withdraws what has not been begun.
    ///
    /// - Throws: `SessionIntentError`, `CancellationError`, `SessionSyncError.sessionClosed`, and what `submit` throws.
    public func ask(_ intent: State.Intent, lapsesAfter age: Duration = .seconds(10)) async throws -> State.Answer {
        guard let owner = state.intents.owner, isPresent(owner) else { throw SessionIntentError.nobodyServes }
        guard state.intents.openCount(of: source.peerID) < SessionIntents<State.Intent, State.Answer>.openOfPeerMax
        else { throw SessionIntentError.refused }
        let moment = now
        let lapsesAt = moment.addingTimeInterval(age / .seconds(1))
        let envelope = try submit(.intents(.ask(intent, of: owner, lapsesAt: lapsesAt)), at: moment)
        let id = envelope.metadata.eventID
        let lapse = Task { [weak self, wait = configuration.wait] in
            try? await wait(age + Self.lapsePatience)
            if !Task.isCancelled { self?.withdraw(id, .lapsed) }
        }
        defer { lapse.cancel() }
        for await _ in changes() {
            guard showsEverything else { continue }
            if let answer = try answer(to: id) { return answer }
            if !isPresent(owner) { withdraw(id, .interrupted) }
        }
        if Task.isCancelled {
            withdraw(id, .lapsed)
            throw CancellationError()
        }
        throw SessionSyncError.sessionClosed
    }

    /// The way of the last beginning, and of the word of it.
    private static var lapsePatience: Duration { .seconds(2) }

    /// - Returns: nil while it is open.
    private func answer(to id: UUID) throws -> State.Answer? {
        guard let entry = state.intents[id] else { throw SessionIntentError.refused }
        guard case .settled(let outcome) = entry.progress else { return nil }
        switch outcome {
        case .answered(let answer): return answer
        case .failed(let text): throw SessionIntentError.failed(text)
        case .interrupted: throw SessionIntentError.interrupted
        case .lapsed: throw SessionIntentError.lapsed
        }
    }

    /// What has begun does not lapse: the state decides.
    private func withdraw(_ id: UUID, _ outcome: SessionIntentOutcome<State.Answer>) {
        guard phase != .closed, state.intents[id]?.isOpen == true else { return }
        _ = try? submit(.intents(.settle(id: id, outcome)))
    }
}

extension SyncedSession {
    /// Whether the state is that of all events that are held here.
    var showsEverything: Bool { !isProvisional && !core.engine.isBehind }

    /// Whether that device, in that life, may still be heard: it is in the group, or there is none yet.
    func isPresent(_ source: SessionSource) -> Bool {
        !isMember || core.engine.membership.open.contains { $0.source == source }
    }

    /// Says that the state or a peer's status has changed, and at once; of several words that wait one is kept. Ends with the
    /// session.
    func changes() -> AsyncStream<Void> {
        let (states, statuses) = (states(), statuses())
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let tasks = [
            Task {
                for await _ in states { continuation.yield() }
                continuation.finish()
            },
            Task { for await _ in statuses { continuation.yield() } },
        ]
        continuation.onTermination = { _ in for task in tasks { task.cancel() } }
        return stream
    }
}
