import Foundation
import MeshEngine
import MeshIdentity

extension SyncedSession
where
    State: SessionIntentState, Event: SessionIntentEvent, State.Intent == Event.Intent, State.Answer == Event.Answer
{
    /// Carries out intents asked of this device, one after another, while you hold the result. The serving device whose
    /// claim is first in the order is the owner, until another takes over or the owner leaves the group.
    ///
    /// - Parameter handler: runs at most once per intent, on the main actor. If it throws, the peer that asked gets
    ///   `SessionIntentError.failed` with the error's text, or `interrupted` after a `CancellationError`.
    public func serve(
        _ handler: @escaping @MainActor (SessionIntent<State.Intent, State.Answer>) async throws -> State.Answer
    ) -> SessionIntentService<State, Event, Reducer, ConflictPolicy> {
        SessionIntentService(self, handler)
    }

    /// Asks the current owner, which may be this device, and waits for its answer.
    ///
    /// The owner begins as soon as it hears of the intent, but not later than `age` after this call, by the session's
    /// clock. If this device hasn't heard two seconds later that the owner has begun, it withdraws the intent, and this
    /// call throws `lapsed`. The owner may have begun out of reach; the state's entry shows the outcome once the owner
    /// is heard again. After the owner has begun, this call waits as long as the owner is in the group. Cancelling
    /// withdraws an intent that hasn't begun.
    ///
    /// - Throws: `SessionIntentError`, `CancellationError`, `SessionSyncError.sessionClosed`, the errors of `submit`.
    public func ask(_ intent: State.Intent, lapsesAfter age: Duration = .seconds(10)) async throws -> State.Answer {
        guard let owner = state.intents.owner, isPresent(owner) else { throw SessionIntentError.noServingDevice }
        guard state.intents.openCount(of: source.peerID) < SessionIntents<State.Intent, State.Answer>.openOfPeerMax
        else { throw SessionIntentError.refused }
        let moment = now
        let lapsesAt = moment.addingTimeInterval(age / .seconds(1))
        let envelope = try submit(.intents(.ask(intent, of: owner, lapsesAt: lapsesAt)), at: moment)
        let id = envelope.metadata.eventID
        let lapse = Task { [weak self, wait = configuration.wait] in
            try? await wait(age + Self.withdrawalDelay)
            if !Task.isCancelled { self?.withdraw(id, .lapsed) }
        }
        defer { lapse.cancel() }
        for await _ in changes() {
            guard showsEverything else { continue }
            if let answer = try answer(to: id, of: owner) { return answer }
            if !isPresent(owner) { withdraw(id, .interrupted) }
        }
        if Task.isCancelled {
            withdraw(id, .lapsed)
            throw CancellationError()
        }
        throw SessionSyncError.sessionClosed
    }

    /// Time to wait for the news that the owner began at the last moment.
    private static var withdrawalDelay: Duration { .seconds(2) }

    /// Returns the answer, or nil while the intent is open.
    private func answer(to id: UUID, of owner: SessionSource) throws -> State.Answer? {
        // Another device may have asked under this ID before, of a device that answers for it.
        guard let entry = state.intents[id], entry.designated == owner else { throw SessionIntentError.refused }
        guard case .settled(let outcome) = entry.progress else { return nil }
        switch outcome {
        case .answered(let answer): return answer
        case .failed(let text): throw SessionIntentError.failed(text)
        case .interrupted: throw SessionIntentError.interrupted
        case .lapsed: throw SessionIntentError.lapsed
        }
    }

    /// Submits a withdrawal. The state may ignore it: a begun intent can't lapse, but can be given up as interrupted.
    private func withdraw(_ id: UUID, _ outcome: SessionIntentOutcome<State.Answer>) {
        guard phase != .closed, state.intents[id]?.isOpen == true else { return }
        _ = try? submit(.intents(.settle(id: id, outcome)))
    }
}

extension SyncedSession {
    /// True if the state includes all events that are held here.
    var showsEverything: Bool { !isProvisional && !core.engine.isBehind }

    /// Returns true if that source may still answer: it is in the group, or there is no group yet.
    func isPresent(_ source: SessionSource) -> Bool {
        !isMember || core.engine.membership.open.contains { $0.source == source }
    }

    /// Returns a stream that signals changes of the state or of a peer's status. Waiting signals are merged. Ends with
    /// the session.
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
