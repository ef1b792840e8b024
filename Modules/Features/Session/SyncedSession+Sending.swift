public import Foundation
public import MeshBase
import MeshEngine
public import MeshIdentity
public import MeshTransport

// For callers that don't catch errors.
extension SyncedSession {
    /// Submits an event now. A refused event is one of the `problems` until the next one is accepted.
    ///
    /// Intended for buttons; use `submit` to handle errors yourself.
    ///
    /// - Parameter urgency: `wake` also wakes a suspended watch app, within the daily budget (`remainingWakes`).
    /// - Returns: the event with its identity, for `delivery(of:)`; nil if it wasn't accepted.
    @discardableResult
    public func send(_ event: Event, urgency: SessionUrgency = .normal) -> SessionSyncEnvelope<Event>? {
        send(urgency: urgency) { _ in event }
    }

    /// Submits an event that carries the moment of its tap: `session.send { .pause(at: $0) }`.
    ///
    /// - Parameter urgency: `wake` also wakes a suspended watch app, within the daily budget (`remainingWakes`).
    /// - Returns: the event with its identity, for `delivery(of:)`; nil if it wasn't accepted.
    @discardableResult
    public func send(
        urgency: SessionUrgency = .normal, _ event: (Date) -> Event
    ) -> SessionSyncEnvelope<Event>? {
        send(at: now, urgency, event)
    }

    /// The number of times that this device may still wake its watch's app today. nil if the transport never can, as on
    /// a watch.
    public var remainingWakes: Int? { transport.remainingWakes }

    @discardableResult
    func send(
        at moment: Date, _ urgency: SessionUrgency, _ event: (Date) -> Event
    ) -> SessionSyncEnvelope<Event>? {
        do {
            let envelope = try submit(event(moment), at: moment, urgency: urgency)
            board.solve(.eventRefused)
            return envelope
        } catch {
            board.report(.eventRefused(featureID, error.shownText))
            return nil
        }
    }

    /// Waits for a state: `try await session.state { $0.home == 1 }`.
    ///
    /// - Parameters:
    ///   - limit: the maximum wait, by `configuration.wait`.
    ///   - isWanted: called with the present state, then with the newest one after each change.
    /// - Throws: `SessionStateTimeout`; `SessionSyncError.sessionClosed` if the session closes; `CancellationError`.
    @discardableResult
    public func state(
        within limit: Duration = .seconds(10), where isWanted: @escaping @MainActor (State) -> Bool
    ) async throws -> State {
        let states = states()
        let reading = Task { () -> State? in
            for await state in states where isWanted(state) { return state }
            return nil
        }
        let timer = Task { [wait = configuration.wait] in
            try await wait(limit)
            reading.cancel()
        }
        defer { timer.cancel() }
        let found = await withTaskCancellationHandler {
            await reading.value
        } onCancel: {
            reading.cancel()
        }
        if let found { return found }
        try Task.checkCancellation()
        if phase == .closed { throw SessionSyncError.sessionClosed }
        throw SessionStateTimeout(featureID: featureID, limit: limit, state: "\(state)")
    }
}

/// The session didn't reach the wanted state in time.
public struct SessionStateTimeout: ExplainedError, Hashable {
    /// The feature whose session waited.
    public let featureID: String
    /// The maximum wait that the caller set.
    public let limit: Duration
    /// The last state, as text.
    public let state: String

    public var description: String {
        "'\(featureID)' didn't reach the expected state in \(limit.seconds) seconds; its state is \(state.prefix(200))"
    }
    public var advice: String { "Check the session's problems and peers, or allow more time." }
}

extension SessionProblem.Code {
    /// The session, or the queue before it opens, refused an event.
    public static let eventRefused = Self("eventRefused")
    /// A `SharedSession` couldn't open its session.
    public static let openingFailed = Self("openingFailed")
}

extension SessionProblem {
    static func eventRefused(_ featureID: String, _ reason: String, advice: String = "") -> Self {
        Self(.eventRefused, of: featureID, "'\(featureID)' refused an event: \(reason)", advice: advice)
    }
}
