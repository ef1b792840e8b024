public import Foundation
public import MeshBase
public import MeshEngine
import MeshIdentity
public import MeshStorage
public import MeshTransport
public import Observation

/// A place where nearby devices find each other and share one session of a feature after another.
///
/// ```swift
/// let lobby = SessionLobby<Score.State, Score.Event, Score, Score>(
///     featureID: Score.featureID, name: "Watch", over: transport
/// ) { sessionID, configure in
///     var configuration = SyncedSessionConfiguration<Score.State, Score.Event>()
///     configure(&configuration)
///     return SessionOf<Score>(Score(), sessionID: sessionID, over: transport, configuration: configuration)
/// }
/// await lobby.start()
/// await lobby.open()                       // begins a session on all connected devices
/// try lobby.session?.submit(.home)
/// lobby.observed?.state                    // the members' state, while this device only watches
/// try lobby.invite("tablet")               // admits a device that came later
/// ```
///
/// Every device announces its name and the invitation that it follows (`SessionInvitation`). The first device to open a
/// session invites the devices that are connected then, and they join. A device that comes later watches, unless the
/// opener was still alone or a member invites it. If two devices open a session each, one of the sessions continues.
///
/// Lives on the main actor. Its tasks don't keep it alive; only a closing session outlives it for a while.
@MainActor @Observable
public final class SessionLobby<State, Event, Reducer, ConflictPolicy>
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    /// The type of the sessions that the lobby opens.
    public typealias Session = SyncedSession<State, Event, Reducer, ConflictPolicy>
    /// The configuration of the sessions that the lobby opens.
    public typealias Configuration = SyncedSessionConfiguration<State, Event>
    /// A closure that opens the session with that ID. It must pass the session's configuration to `configure`.
    public typealias Opening =
        @MainActor (_ sessionID: UUID, _ configure: (inout Configuration) -> Void) async throws -> Session

    /// The feature whose sessions this lobby opens and joins. A transport carries one lobby per feature.
    @ObservationIgnored public let featureID: String
    /// The name of this device that other devices see.
    @ObservationIgnored public let name: String
    /// The transport that connects the devices. The lobby starts it, but doesn't close it.
    @ObservationIgnored public let transport: any SessionSyncTransport
    /// The invitation that this device follows; nil before the first session.
    public internal(set) var invitation: SessionInvitation?
    /// The session that this device takes part in; nil while it only watches, and before the first session.
    public internal(set) var session: Session?
    /// The part that this device plays in the current session.
    public internal(set) var part = SessionPart.none
    /// The latest state seen from members while this device only watches; nil otherwise.
    public internal(set) var observed: ObservedSession<State>?
    /// Other devices that are or have been in reach, ordered by ID; 64 at most.
    public internal(set) var devices: [SessionDevice] = []
    /// The last error of opening a session, or of reading or storing the invitation; nil if there was none.
    public internal(set) var storeError: (any Error)?

    @ObservationIgnored let board = ProblemBoard()
    @ObservationIgnored let base: Configuration
    @ObservationIgnored let store: (any SessionStore)?
    @ObservationIgnored let membersMax: Int
    @ObservationIgnored let isOver: @MainActor (State) -> Bool
    @ObservationIgnored let opening: Opening
    /// A handler that is called at once on each change. For an opened or joined session, it runs before the session
    /// starts.
    @ObservationIgnored public var onChange: @MainActor (SessionLobbyChange) -> Void = { _ in }
    /// The incarnation for events in sessions that begin now.
    @ObservationIgnored var incarnation: UInt32
    @ObservationIgnored var reachable: Set<String> = []
    /// The invitation that `session` and `part` belong to.
    @ObservationIgnored var followed: SessionInvitation?
    @ObservationIgnored var openedHere: SessionInvitation?
    /// The last invitation of each peer that was refused because its number was too high: its session, and the highest
    /// number that was allowed then.
    @ObservationIgnored var refused: [String: (sessionID: UUID, limit: UInt32)] = [:]
    @ObservationIgnored var following: Task<Void, Never>?
    /// The pauses between attempts to open a session.
    @ObservationIgnored var openingBackoff = Backoff(from: .seconds(1), to: .seconds(300))
    @ObservationIgnored let openingTimer = OwnedTasks()
    @ObservationIgnored var restoring: Task<Void, Never>?
    @ObservationIgnored let listeners = OwnedTasks()
    @ObservationIgnored var hasStarted = false
    @ObservationIgnored let startTimer = OwnedTasks()
    @ObservationIgnored var revision: UInt64 = 0
    /// The present launch; nil until the store was read. Before that the lobby sends and follows nothing.
    @ObservationIgnored var launch: LobbyLaunch?
    @ObservationIgnored var isPublishing = false
    @ObservationIgnored var mustPublish = false
    /// Generates the IDs of sessions that begin here.
    @ObservationIgnored package var makeSessionID: @Sendable () -> UUID = { UUID() }

    /// Creates a lobby that finds, opens and joins sessions of one feature. Call `start()` to begin.
    ///
    /// - Parameters:
    ///   - transport: the devices' connection, not started yet, so that no message is missed.
    ///   - membersMax: maximum number of devices in a session. Use 2 if not every device reaches every other.
    ///   - store: keeps the invitation and the incarnation through a relaunch. Pass the same to `SyncedSession.open`.
    ///   - configuration: the lobby uses its clock, and its incarnation if the store has none.
    ///   - isOver: returns true for states in which a session has ended. When the next session begins, such a session
    ///     is closed, so that the others get its end; any other one is stopped at once.
    ///   - opening: opens the session. It must apply `configure` to the configuration, as the last change.
    public init(
        featureID: String, name: String, over transport: any SessionSyncTransport,
        store: (any SessionStore)? = nil, membersMax: Int = SessionInvitation.membersMax,
        configuration: Configuration = .init(),
        isOver: @escaping @MainActor (State) -> Bool = { _ in false }, opening: @escaping Opening
    ) {
        self.featureID = featureID
        self.name = name
        self.transport = transport
        self.membersMax = max(2, min(membersMax, SessionInvitation.membersMax))
        base = configuration
        self.store = store
        self.isOver = isOver
        self.opening = opening
        incarnation = configuration.incarnation ?? .random(in: 1 ... .max)
    }

    /// The unsolved mistakes and failures of the transport, this lobby and its session, for an app to show.
    public var problems: [SessionProblem] {
        transport.problems + board.problems + (session?.board.problems ?? [])
    }

    /// Starts listening, starts the transport, and continues the session that the store has. A later call opens a session
    /// that couldn't be opened before; the lobby also tries that by itself, after growing pauses.
    public func start() async {
        hasStarted = true
        startTimer.cancel()
        board.solve(.notStarted)
        listen()
        board.start(transport)
        await restore()
        retryOpening()
        followInvitation()
        publish()
        await settled()
    }

    /// Begins a session with the connected devices. It supersedes a session that is under way, so a device can take
    /// over. Every device that hears of it follows.
    ///
    /// Returns once the session is open, or `storeError` has the reason why it isn't.
    public func open() async {
        if !hasStarted { expectStart() }
        if launch == nil { await restore() }
        let (number, openedAt) = invitation?.next(at: base.now()) ?? (1, base.now())
        let own = SessionSource(peerID: transport.localPeer.id, incarnation: incarnation)
        let opened = SessionInvitation(
            sessionID: makeSessionID(), number: number, openedAt: openedAt,
            members: [own] + connectedSources.prefix(membersMax - 1))
        openedHere = opened
        consider(opened)
        await settled()
    }

    private func expectStart() {
        startTimer.hold([
            Task { [weak self, wait = base.wait] in
                try? await wait(problemDelay)
                guard let self, !Task.isCancelled, !self.hasStarted else { return }
                self.board.report(.notStarted("\(self.featureID).lobby"))
            }
        ])
    }

    /// Admits another device to the current session after it has begun.
    /// - Throws: `SessionLobbyError`.
    public func invite(_ peerID: String) throws {
        guard let session, let invitation, part == .member, !session.hasEnded else {
            throw SessionLobbyError.notMember
        }
        guard let device = devices.first(where: { $0.peerID == peerID }) else {
            throw SessionLobbyError.unknownDevice(peerID)
        }
        guard !invitation.includes(peerID) else { return }
        guard invitation.allDevices.count < membersMax else { throw SessionLobbyError.full(limit: membersMax) }
        session.invite(peerID)
        consider(invitation.adding(device.source))
    }

    /// Waits until this device has moved to the session of its invitation.
    public func settled() async { await following?.value }

    /// Stops the lobby and closes its session. Waits at most `closeTimeout` for the others. The transport stays open.
    public func stop() async {
        listeners.cancel()
        startTimer.cancel()
        await settled()
        openingTimer.cancel()
        try? await session?.close()
    }
}

/// The part that a device plays in the current session.
public enum SessionPart: String, Hashable, Sendable, Codable {
    /// The device knows of no session.
    case none
    /// The device is a member, and its user's events count.
    case member
    /// The device shows the session and can't change it.
    case spectator
}

/// Another device that runs the same feature.
public struct SessionDevice: Hashable, Sendable {
    /// The `SessionPeer.id` of the device.
    public let peerID: String
    /// The name that the device gave itself, shortened and made printable.
    public let name: String
    /// True if the transport reaches the device now.
    public internal(set) var isReachable: Bool
    /// True if the device's app has closed the transport. Otherwise an unreachable device may come back by itself.
    public internal(set) var hasLeft = false
    /// True if the device takes part in the current session.
    public internal(set) var isMember: Bool
    /// The source that signs the device's events in sessions that begin now.
    let source: SessionSource
}

/// A member's state, received while this device only watches.
public struct ObservedSession<State: Sendable>: Sendable {
    /// The ID of the session that was seen.
    public let sessionID: UUID
    /// The feature's state on that member.
    public let state: State
    /// The member that sent the state.
    public let peerID: String
    /// The moment at which the state arrived, by this device's clock.
    public let seenAt: Date
    /// The revision of that member's snapshot, and the number of events in it.
    let revision: UInt64
    let eventCount: UInt64
}

/// A change that a lobby reports to `onChange`.
public enum SessionLobbyChange: Hashable, Sendable {
    /// A device has appeared, disappeared, or joined a session.
    case devices
    /// The observed state has changed; `observed` has it.
    case observed
    /// This device has opened a session, joined one, or begun to watch one.
    case opened, joined, watching
    /// Another device's session has replaced the current one.
    case superseded
    /// The store failed; `storeError` has the reason.
    case storeFailed
}

/// The reason why a lobby refused a call.
public enum SessionLobbyError: ExplainedError, Hashable, Sendable {
    /// This device isn't a member of a session, or the session has ended.
    case notMember
    /// No device with that ID has been heard from.
    case unknownDevice(String)
    /// The session has as many members as allowed; `limit` is that number.
    case full(limit: Int)

    public var description: String {
        switch self {
        case .notMember: "this device isn't a member of a running session. Call open(), or have a member invite it"
        case .unknownDevice(let peerID):
            "device '\(peerID)' is unknown. Run the same feature on it, within reach of this device"
        case .full(let limit): "the session already has \(limit) devices, the maximum"
        }
    }

    public var advice: String {
        switch self {
        case .notMember, .unknownDevice: ""
        case .full: "Remove a device from the session first."
        }
    }
}
