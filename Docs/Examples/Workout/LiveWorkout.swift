public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshSession
public import MeshStorage
import MeshTimerAnchor
public import MeshTransport

/// What a person can do in a workout.
public enum WorkoutTap: String, CaseIterable, Hashable, Sendable, Codable {
    case start, pause, resume, lap, finish

    /// - Parameter distance: metres so far.
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

/// The workout that all devices within reach share, whoever of them begins it, one after another: a `SessionLobby`, and
/// what is a workout's about it.
///
/// Lives on the main actor.
@MainActor
public final class LiveWorkout {
    public typealias Part = SessionPart
    public typealias Lobby = SessionLobby<WorkoutState, WorkoutEvent, WorkoutReducer, WorkoutPolicy>

    public let lobby: Lobby
    /// What has happened: the newest 256. For one reader.
    public let changes: AsyncStream<LiveWorkoutChange>

    private let continuation: AsyncStream<LiveWorkoutChange>.Continuation
    private let now: @Sendable () -> Date
    private var listeners: [Task<Void, Never>] = []

    /// - Parameters:
    ///   - transport: not started yet, so that nothing is missed.
    ///   - membersMax: devices of one workout, 2 where not every device reaches every other.
    ///   - store: keeps the workout through a relaunch.
    ///   - configure: the same as for a `WorkoutSession`.
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

    /// Begins to listen, and goes on with the workout that the store has.
    public func start() async { await lobby.start() }

    public var name: String { lobby.name }
    public var transport: any SessionSyncTransport { lobby.transport }
    /// The workout that this device goes with; nil before the first.
    public var invitation: SessionInvitation? { lobby.invitation }
    /// nil for a spectator, and before the first workout.
    public var session: WorkoutSession? { lobby.session }
    public var part: Part { lobby.part }
    /// Why the workout could not be opened or kept; nil where nothing went wrong.
    public var storeError: (any Error)? { lobby.storeError }

    /// The workout as this device sees it.
    public var state: WorkoutState { session?.state ?? watched }

    private var watched: WorkoutState { lobby.observed?.state ?? WorkoutState() }

    /// Seconds without pauses, alike on every device.
    public var elapsed: TimeInterval { session?.timer?.elapsed ?? watched.elapsed(at: now()) }

    /// Devices that are here or have been here, in the order of their ids.
    public var companions: [WorkoutCompanion] {
        lobby.devices.map { device in
            WorkoutCompanion(
                peerID: device.peerID, name: device.name, isReachable: device.isReachable,
                hasLeft: device.hasLeft, isMember: device.isMember,
                sync: session?.status(of: device.peerID)?.sync,
                heartRate: session?.latestValue(of: .heartRate, by: device.peerID)?.value)
        }
    }

    /// Does what was tapped, here at once and on the others when they can be reached. A start opens a workout where there
    /// is none, or only a finished one.
    /// - Throws: `LiveWorkoutError`; what `WorkoutSession.submit` throws.
    public func tap(_ tap: WorkoutTap) async throws {
        await lobby.settled()
        if tap == .start, invitation == nil || state.phase == .finished { await lobby.open() }
        guard let session else { throw part == .none ? LiveWorkoutError.notBegun : .spectates }
        let moment = session.now
        let event = tap.event(at: moment, session.totals.distance)
        guard session.state.accepts(event) else { throw LiveWorkoutError.pointless(tap, session.state.phase) }
        try session.submit(event, at: moment)
    }

    /// Waits no longer for the members that cannot be reached: what the others tapped counts without them, and they come back
    /// when they can.
    /// - Throws: `LiveWorkoutError.nobodyIsAway`.
    public func goOn() throws {
        let reachable = Set(lobby.devices.filter(\.isReachable).map(\.peerID))
        let absent = session?.memberIDs.filter { $0 != transport.localPeer.id && !reachable.contains($0) } ?? []
        guard !absent.isEmpty else { throw LiveWorkoutError.nobodyIsAway }
        for peerID in absent { session?.removeMember(peerID) }
    }

    /// What a sensor measures now, in beats a minute: the others see the newest at once, and while the workout runs it is kept.
    /// - Throws: what `SyncedSession.show` and `record` throw.
    public func measure(heartRate: Int) throws {
        try session?.show(heartRate, as: .heartRate)
        if state.phase == .running { try session?.measure(WorkoutSample(heartRate: heartRate)) }
    }

    /// What was measured, by the device that has come furthest.
    public var totals: WorkoutTotals { session?.totals ?? WorkoutTotals() }

    /// Waits until the others have what was tapped here, at most two seconds, and ends. The transport stays open.
    public func stop() async {
        await lobby.stop()
        for listener in listeners { listener.cancel() }
        continuation.finish()
    }

    private func tell(_ change: SessionLobbyChange) {
        switch change {
        case .devices, .sighted: continuation.yield(.status)
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

    /// To the session that is here now, if one is.
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
    /// As it calls itself, made fit for a screen.
    public let name: String
    public let isReachable: Bool
    /// Its app was closed, as it has said itself.
    public let hasLeft: Bool
    /// Whether it takes part in the workout that is under way.
    public let isMember: Bool
    /// nil while this device is no member, or knows nothing of the other's engine.
    public let sync: SessionPeerSync?
    /// What it measures now, in beats a minute.
    public let heartRate: Int?
}

extension EphemeralKey<Int> {
    /// Beats a minute, now.
    public static let heartRate = EphemeralKey("heartRate")
}

public enum LiveWorkoutChange: Sendable {
    /// Something that is shown: the state, a device, how far it is.
    case status
    case opened, joined, watching
    /// Another device's workout takes the place of the one that was under way here.
    case superseded
    case tapped(WorkoutEvent, by: String)
    case alarm(SessionAlarm)
    case storeFailed(any Error)
}

public enum LiveWorkoutError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nobody has tapped start.
    case notBegun
    /// This device came after the workout had begun.
    case spectates
    /// Every member can be reached.
    case nobodyIsAway
    /// What was tapped changes nothing now.
    case pointless(WorkoutTap, WorkoutPhase)

    public var description: String {
        switch self {
        case .notBegun: "there is no workout yet: start one"
        case .spectates: "this device has no place in the workout and only shows it; it can take part in the next one"
        case .nobodyIsAway: "all devices of the workout are here"
        case .pointless(.lap, .running): "no lap: the last one has only just ended"
        case .pointless(let tap, let phase): "\(tap.rawValue) changes nothing: the workout is \(phase.rawValue)"
        }
    }
}
