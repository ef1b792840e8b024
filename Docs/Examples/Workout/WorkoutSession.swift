public import Foundation
import MeshIdentity
public import MeshSession
public import MeshStorage
public import MeshTimerAnchor
public import MeshTransport

/// The workout on one device: everything that an app needs beside its screens.
public typealias WorkoutSession = SyncedSession<WorkoutState, WorkoutEvent, WorkoutReducer, WorkoutPolicy>

extension SyncedSession
where
    State == WorkoutState, Event == WorkoutEvent, Reducer == WorkoutReducer, ConflictPolicy == WorkoutPolicy
{
    /// Names the feature in every message.
    public nonisolated static var workoutFeatureID: String { "workout" }

    /// - Parameters:
    ///   - sessionID: one for each workout; the next one is a new UUID.
    ///   - configure: what else is to be set, such as a store, or `onConfirmed` to keep a finished workout once.
    public static func workout(
        sessionID: UUID, over transport: any SessionSyncTransport,
        configure: (inout SyncedSessionConfiguration<WorkoutState, WorkoutEvent>) -> Void = { _ in }
    ) -> WorkoutSession {
        WorkoutSession(
            sessionID: sessionID, featureID: workoutFeatureID, transport: transport, initialState: WorkoutState(),
            reducer: WorkoutReducer(), conflictPolicy: WorkoutPolicy(), configuration: configuration(configure))
    }

    /// The same, as the store has it; a new one where it has none.
    /// - Throws: what `SyncedSession.open` throws.
    public static func openWorkout(
        sessionID: UUID, over transport: any SessionSyncTransport, store: (any SessionStore)? = nil,
        configure: (inout SyncedSessionConfiguration<WorkoutState, WorkoutEvent>) -> Void = { _ in }
    ) async throws -> WorkoutSession {
        try await open(
            sessionID: sessionID, featureID: workoutFeatureID, transport: transport, store: store,
            initialState: WorkoutState(), reducer: WorkoutReducer(), conflictPolicy: WorkoutPolicy(),
            configuration: configuration(configure))
    }

    private static func configuration(
        _ configure: (inout SyncedSessionConfiguration<WorkoutState, WorkoutEvent>) -> Void
    ) -> SyncedSessionConfiguration<WorkoutState, WorkoutEvent> {
        var configuration = SyncedSessionConfiguration<WorkoutState, WorkoutEvent>()
        // All paired devices are one person's: those that come later watch.
        configuration.audience = .everyPeer
        configuration.isIdle = { $0.phase == .ready }
        configure(&configuration)
        return configuration
    }
}

extension SyncedSession
where
    State == WorkoutState, Event == WorkoutEvent, Reducer == WorkoutReducer, ConflictPolicy == WorkoutPolicy
{
    /// The timer as every device shows it now; nil before the start.
    public var timer: SessionTimerReading? { state.timer.map { reading(of: $0) } }
}

extension WorkoutState {
    /// 32 hexadecimal digits that two devices compare to see that they agree.
    public var digest: String { jsonDigest(of: self) }
}

extension [WorkoutSample] {
    /// The same of a track.
    public var digest: String { jsonDigest(of: self) }
}

private func jsonDigest(of value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // Finite numbers, dates and text always encode.
    guard let bytes = try? encoder.encode(value) else { return "unencodable" }
    return StableHash(Array(bytes)).description
}
