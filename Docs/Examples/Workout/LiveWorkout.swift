public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshSession
public import MeshStorage
import MeshTimerAnchor
public import MeshTransport

/// A user's action in a workout.
public enum WorkoutTap: String, CaseIterable, Hashable, Sendable, Codable {
    case start, pause, resume, lap, finish

    /// - Parameter distance: Metres so far.
    func event(at moment: Date, _ distance: Double) -> WorkoutEvent {
        switch self {
        case .start: .start(at: moment)
        case .pause: .pause(at: moment)
        case .resume: .resume(at: moment)
        case .lap: .lap(at: moment, distance: distance)
        case .finish: .finish(at: moment, distance: distance)
        }
    }
}

/// The workout that all devices within reach share. Any device can start it, and the next one after it. Wraps a
/// `SessionLobby` and adds what is specific to workouts.
@MainActor
public final class LiveWorkout {
    public typealias Part = SessionPart
    public typealias Lobby = SessionLobby<WorkoutState, WorkoutEvent, WorkoutReducer, WorkoutPolicy>

    public let lobby: Lobby
    /// The stream of changes, for one reader. Keeps the newest 256 unread ones.
    public let changes: AsyncStream<LiveWorkoutChange>

    private let continuation: AsyncStream<LiveWorkoutChange>.Continuation
    private let now: @Sendable () -> Date
    private var listeners: [Task<Void, Never>] = []

    /// - Parameters:
    ///   - transport: Must not be started yet, so that no message is missed.
    ///   - membersMax: Maximum number of devices in a workout. Use 2 if not every device reaches every other.
    ///   - store: Keeps the workout through a relaunch.
    ///   - configure: Changes the session's configuration, as for a `WorkoutSession`.
    public init(
        name: String, transport: any SessionSyncTransport, store: (any SessionStore)? = nil,
        membersMax: Int = SessionInvitation.membersMax,
        configure: @escaping (inout SyncedSessionConfiguration<WorkoutState, WorkoutEvent>) -> Void = { _ in }
    ) {
        var base = Lobby.Configuration()
        configure(&base)
        now = base.now
        (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
        lobby = Lobby(
            featureID: WorkoutSession.workoutFeatureID, name: name, over: transport, store: store,
            membersMax: membersMax, configuration: base, isOver: \.isFinished
        ) { sessionID, follow in
            try await WorkoutSession.openWorkout(sessionID: sessionID, over: transport, store: store) {
                configure(&$0)
                follow(&$0)
            }
        }
        lobby.onChange = { [weak self] in self?.tell($0) }
    }

    /// Starts to listen, and continues the stored workout if there is one.
    public func start() async { await lobby.start() }

    public var name: String { lobby.name }
    public var transport: any SessionSyncTransport { lobby.transport }
    /// The invitation to this device's current workout; nil before the first.
    public var invitation: SessionInvitation? { lobby.invitation }
    /// The session of the workout; nil for a spectator, and before the first workout.
    public var session: WorkoutSession? { lobby.session }
    public var part: Part { lobby.part }
    /// The reason that the workout could not be opened or kept; nil if there is no error.
    public var storeError: (any Error)? { lobby.storeError }

    /// The workout's state on this device.
    public var state: WorkoutState { session?.state ?? watched }

    private var watched: WorkoutState { lobby.observed?.state ?? WorkoutState() }

    /// Elapsed seconds without pauses. The same on every device.
    public var elapsed: TimeInterval { session?.timer?.elapsed ?? watched.elapsed(at: now()) }

    /// The devices that are or were within reach, in the order of their IDs.
    public var companions: [WorkoutCompanion] {
        lobby.devices.map { device in
            WorkoutCompanion(
                peerID: device.peerID, name: device.name, isReachable: device.isReachable,
                hasLeft: device.hasLeft, isMember: device.isMember,
                sync: session?.status(of: device.peerID)?.sync,
                heartRate: session?.latestValue(of: .heartRate, by: device.peerID)?.value)
        }
    }

    /// Applies a tap here at once, and on the other devices when they can be reached. A start opens a workout if there is none
    /// or only a finished one.
    /// - Throws: `LiveWorkoutError`, or an error of `WorkoutSession.submit`.
    public func tap(_ tap: WorkoutTap) async throws {
        await lobby.settled()
        if tap == .start, invitation == nil || state.phase == .finished { await lobby.open() }
        guard let session else { throw part == .none ? LiveWorkoutError.notBegun : .spectates }
        let moment = session.now
        let event = tap.event(at: moment, session.totals.distance)
        guard session.state.accepts(event) else { throw LiveWorkoutError.pointless(tap, session.state.phase) }
        try session.submit(event, at: moment)
    }

    /// Removes the members that can't be reached, so the other members' taps are confirmed without them. A removed member can
    /// rejoin.
    /// - Throws: `LiveWorkoutError.noMemberIsAway`.
    public func removeAbsentMembers() throws {
        let reachable = Set(lobby.devices.filter(\.isReachable).map(\.peerID))
        let absent = session?.memberIDs.filter { $0 != transport.localPeer.id && !reachable.contains($0) } ?? []
        guard !absent.isEmpty else { throw LiveWorkoutError.noMemberIsAway }
        for peerID in absent { session?.removeMember(peerID) }
    }

    /// Shows the other devices a heart rate in beats a minute, and records it while the workout runs.
    /// - Throws: An error of `SyncedSession.show` or `record`.
    public func measure(heartRate: Int) throws {
        try session?.show(heartRate, as: .heartRate)
        if state.phase == .running { try session?.measure(WorkoutSample(heartRate: heartRate)) }
    }

    /// The sample totals of the device that has measured the longest distance.
    public var totals: WorkoutTotals { session?.totals ?? WorkoutTotals() }

    /// Waits at most two seconds for the others to receive this device's taps, then ends. The transport stays open.
    public func stop() async {
        await lobby.stop()
        for listener in listeners { listener.cancel() }
        continuation.finish()
    }

    private func tell(_ change: SessionLobbyChange) {
        switch change {
        case .devices, .observed: continuation.yield(.status)
        case .superseded: continuation.yield(.superseded)
        case .opened, .joined:
            listen()
            continuation.yield(change == .opened ? .opened : .joined)
        case .watching:
            listen()
            continuation.yield(.watching)
        case .storeFailed: if let storeError { continuation.yield(.storeFailed(storeError)) }
        }
    }

    /// Follows the current session, if there is one.
    private func listen() {
        for listener in listeners { listener.cancel() }
        listeners = []
        guard let session else { return }
        let (states, statuses) = (session.states(), session.statuses())
        let (events, alarms) = (session.remoteEvents(), session.alarms())
        let heartRates = session.valueUpdates(of: .heartRate)
        let changed = continuation
        listeners = [
            Task { for await _ in states { changed.yield(.status) } },
            Task { for await _ in statuses { changed.yield(.status) } },
            Task {
                for await event in events { changed.yield(.tapped(event.payload, by: event.metadata.sourcePeerID)) }
            },
            Task { for await alarm in alarms { changed.yield(.alarm(alarm)) } },
            Task { for await _ in heartRates { changed.yield(.status) } },
        ]
    }
}

extension WorkoutState {
    fileprivate var isFinished: Bool { phase == .finished }
}

/// Another device that runs the same feature.
public struct WorkoutCompanion: Hashable, Sendable {
    public let peerID: String
    /// The device's own name for itself, made safe for a screen.
    public let name: String
    public let isReachable: Bool
    /// True if the device has announced that its app was closed.
    public let hasLeft: Bool
    /// True if the device takes part in the current workout.
    public let isMember: Bool
    /// The device's progress; nil while this device isn't a member or knows nothing of the other's engine.
    public let sync: SessionPeerSync?
    /// Current heart rate in beats a minute.
    public let heartRate: Int?
}

extension EphemeralKey<Int> {
    /// Current heart rate in beats a minute.
    public static let heartRate = EphemeralKey("heartRate")
}

public enum LiveWorkoutChange: Sendable {
    /// Something on the screen changed: the state, a device or its progress.
    case status
    case opened, joined, watching
    /// Another device's workout replaced the one on this device.
    case superseded
    case tapped(WorkoutEvent, by: String)
    case alarm(SessionAlarm)
    case storeFailed(any Error)
}

public enum LiveWorkoutError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No workout has been started.
    case notBegun
    /// This device joined after the workout had begun.
    case spectates
    /// Every member can be reached.
    case noMemberIsAway
    /// The tap would change nothing now.
    case pointless(WorkoutTap, WorkoutPhase)

    public var description: String {
        switch self {
        case .notBegun: "there is no workout yet: start one"
        case .spectates: "this device has no place in the workout and only shows it; it can take part in the next one"
        case .noMemberIsAway: "all devices of the workout are here"
        case .pointless(.lap, .running): "no lap: the last one has only just ended"
        case .pointless(let tap, let phase): "\(tap.rawValue) changes nothing: the workout is \(phase.rawValue)"
        }
    }
}
