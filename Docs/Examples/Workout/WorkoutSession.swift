public import Foundation
import MeshIdentity
public import MeshSession
public import MeshStorage
public import MeshTimerAnchor
public import MeshTransport

/// The workout on one device: everything an app needs except its screens.
public typealias WorkoutSession = SyncedSession<WorkoutState, WorkoutEvent, WorkoutReducer, WorkoutPolicy>

extension SyncedSession
where
    State == WorkoutState, Event == WorkoutEvent, Reducer == WorkoutReducer, ConflictPolicy == WorkoutPolicy
{
    /// The feature's ID in every message.
    public nonisolated static var workoutFeatureID: String { "workout" }

    /// - Parameters:
    ///   - sessionID: A new UUID for each workout.
    ///   - configure: Changes the configuration, for example the store, or `onConfirmed` to keep a finished workout once.
    public static func workout(
        sessionID: UUID, over transport: any SessionSyncTransport,
        configure: (inout SyncedSessionConfiguration<WorkoutState, WorkoutEvent>) -> Void = { _ in }
    ) -> WorkoutSession {
        WorkoutSession(
            sessionID: sessionID, featureID: workoutFeatureID, transport: transport, initialState: WorkoutState(),
            reducer: WorkoutReducer(), conflictPolicy: WorkoutPolicy(), configuration: configuration(configure))
    }

    /// Opens the workout in the store, or a new one if the store has none.
    /// - Throws: An error of `SyncedSession.open`.
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
        // All paired devices belong to one person. Devices that join later watch.
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
    /// The timer's current reading, the same on every device; nil before the start.
    public var timer: SessionTimerReading? { state.timer.map { reading(of: $0) } }
}

extension WorkoutState {
    /// A digest of 32 hexadecimal digits. Equal on devices that agree.
    public var digest: String { jsonDigest(of: self) }
}

extension [WorkoutSample] {
    /// A digest of the track, 32 hexadecimal digits. Equal on devices that agree.
    public var digest: String { jsonDigest(of: self) }
}

private func jsonDigest(of value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // Finite numbers, dates and text always encode.
    guard let bytes = try? encoder.encode(value) else { return "unencodable" }
    return StableHash(Array(bytes)).description
}
