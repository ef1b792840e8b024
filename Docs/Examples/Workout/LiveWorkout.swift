public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshSession
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

/// The workout that all devices within reach share, whoever of them begins it, one after another.
///
/// Every device tells its name and the invitation that it goes with (`WorkoutInvitation`). Who taps start first opens a
/// session and invites the devices that are connected then; each that hears of it joins. Who comes later watches: it shows
/// the workout and takes no taps, unless the opener was alone until then. Where two have begun, one workout goes on and
/// the other is left.
///
/// Lives on the main actor.
@MainActor
public final class LiveWorkout {
    public enum Part: String, Hashable, Sendable, Codable { case none, member, spectator }

    public let name: String
    public let transport: any SessionSyncTransport
    /// The workout that this device goes with; nil before the first.
    public internal(set) var invitation: WorkoutInvitation?
    /// nil for a spectator, and before the first workout.
    public internal(set) var session: WorkoutSession?
    public internal(set) var part = Part.none
    /// Why the workout could not be opened or kept; nil where nothing went wrong.
    public internal(set) var storeError: (any Error)?
    /// What has happened: the newest 256. For one reader.
    public let changes: AsyncStream<LiveWorkoutChange>

    let configure: (inout SyncedSessionConfiguration<WorkoutState, WorkoutEvent>) -> Void
    let base: SyncedSessionConfiguration<WorkoutState, WorkoutEvent>
    let incarnation: UInt32
    let membersMax: Int
    let continuation: AsyncStream<LiveWorkoutChange>.Continuation
    var notices: [String: WorkoutNotice] = [:]
    var reachable: Set<String> = []
    var watched = WorkoutState()
    /// What `session` and `part` are of.
    var followed: WorkoutInvitation?
    var openedHere: WorkoutInvitation?
    var following: Task<Void, Never>?
    var listeners: [Task<Void, Never>] = []
    var sessionListeners: [Task<Void, Never>] = []
    var revision: UInt64 = 0
    var isPublishing = false
    var mustPublish = false

    /// - Parameters:
    ///   - transport: not started yet, so that nothing is missed.
    ///   - membersMax: devices of one workout, 2 where not every device reaches every other.
    ///   - configure: the same as for a `WorkoutSession`; a store keeps the workout through a relaunch.
    public init(
        name: String, transport: any SessionSyncTransport, membersMax: Int = WorkoutInvitation.membersMax,
        configure: @escaping (inout SyncedSessionConfiguration<WorkoutState, WorkoutEvent>) -> Void = { _ in }
    ) {
        self.name = name
        self.transport = transport
        self.membersMax = max(2, min(membersMax, WorkoutInvitation.membersMax))
        self.configure = configure
        var base = SyncedSessionConfiguration<WorkoutState, WorkoutEvent>()
        configure(&base)
        self.base = base
        incarnation = base.incarnation ?? .random(in: 1 ... .max)
        (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    /// Begins to listen, and goes on with the workout that the store has.
    public func start() async {
        listen()
        if let kept = await keptInvitation() { consider(kept) }
        publish()
        await following?.value
    }

    /// The workout as this device sees it.
    public var state: WorkoutState { session?.state ?? watched }

    /// Seconds without pauses, alike on every device.
    public var elapsed: TimeInterval { session?.timer?.elapsed ?? watched.elapsed(at: base.now()) }

    /// Devices that are here or have been here, in the order of their ids.
    public var companions: [WorkoutCompanion] {
        notices.sorted { $0.key < $1.key }.map { peerID, notice in
            WorkoutCompanion(
                peerID: peerID, name: notice.name, isReachable: reachable.contains(peerID),
                isMember: invitation?.includes(peerID) ?? false, sync: session?.status(of: peerID)?.sync,
                heartRate: session?.shown(.heartRate, by: peerID)?.value)
        }
    }

    /// Does what was tapped, here at once and on the others when they can be reached. A start opens a workout where there
    /// is none, or only a finished one.
    /// - Throws: `LiveWorkoutError`; what `WorkoutSession.submit` throws.
    public func tap(_ tap: WorkoutTap) async throws {
        await following?.value
        if tap == .start, invitation == nil || state.phase == .finished {
            open()
            await following?.value
        }
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
        let absent = session?.memberIDs.filter { $0 != transport.localPeer.id && !reachable.contains($0) } ?? []
        guard !absent.isEmpty else { throw LiveWorkoutError.nobodyIsAway }
        for peerID in absent { session?.goOn(without: peerID) }
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
        for listener in listeners { listener.cancel() }
        await following?.value
        try? await session?.close()
        for listener in sessionListeners { listener.cancel() }
        continuation.finish()
    }
}

/// Another device that runs the same feature.
public struct WorkoutCompanion: Hashable, Sendable {
    public let peerID: String
    /// As it calls itself, made fit for a screen.
    public let name: String
    public let isReachable: Bool
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
