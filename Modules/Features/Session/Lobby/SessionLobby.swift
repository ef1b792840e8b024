public import Foundation
public import MeshBase
public import MeshEngine
import MeshIdentity
public import MeshStorage
public import MeshTransport
public import Observation

/// The place where devices within reach find each other and share one session of a feature after another.
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
/// Every device announces its name and the invitation that it follows (`SessionInvitation`). The first device that opens a
/// session invites the devices that are connected then, and they join. A device that comes later watches, unless the opener was
/// still alone or a member invites it. If two devices have opened a session each, one session continues and the other is left.
///
/// Lives on the main actor. Nothing it starts keeps it alive, but for the session while it closes.
@MainActor @Observable
public final class SessionLobby<State, Event, Reducer, ConflictPolicy>
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    /// The sessions that the lobby opens.
    public typealias Session = SyncedSession<State, Event, Reducer, ConflictPolicy>
    /// The configuration of the sessions that the lobby opens.
    public typealias Configuration = SyncedSessionConfiguration<State, Event>
    /// Makes or opens the session of that id, with what the lobby adds to its configuration.
    public typealias Opening =
        @MainActor (_ sessionID: UUID, _ configure: (inout Configuration) -> Void) async throws -> Session

    /// The feature; one lobby for each on a transport.
    @ObservationIgnored public let featureID: String
    /// The name of this device that other devices see.
    @ObservationIgnored public let name: String
    /// The transport that connects the devices. The lobby starts it, and doesn't close it.
    @ObservationIgnored public let transport: any SessionSyncTransport
    /// The session that this device goes with; nil before the first.
    public internal(set) var invitation: SessionInvitation?
    /// nil where this device only watches, and before the first session.
    public internal(set) var session: Session?
    /// The part that this device plays in the current session.
    public internal(set) var part = SessionPart.none
    /// The latest state seen from members while this device only watches; nil otherwise.
    public internal(set) var observed: SessionSighting<State>?
    /// Other devices that are here or have been here, in the order of their ids; 64 at most are told apart.
    public internal(set) var devices: [SessionDevice] = []
    /// Why the session could not be opened or the invitation not kept; nil where nothing went wrong.
    public internal(set) var storeError: (any Error)?

    @ObservationIgnored let board = ProblemBoard()
    @ObservationIgnored let base: Configuration
    @ObservationIgnored let store: (any SessionStore)?
    @ObservationIgnored let membersMax: Int
    @ObservationIgnored let isOver: @MainActor (State) -> Bool
    @ObservationIgnored let opening: Opening
    /// Called at once on each change. For a session that has been opened, the call comes before it starts.
    @ObservationIgnored public var onChange: @MainActor (SessionLobbyChange) -> Void = { _ in }
    /// Under which this device writes events of sessions that begin now.
    @ObservationIgnored var incarnation: UInt32
    @ObservationIgnored var reachable: Set<String> = []
    /// What `session` and `part` are of.
    @ObservationIgnored var followed: SessionInvitation?
    @ObservationIgnored var openedHere: SessionInvitation?
    @ObservationIgnored var following: Task<Void, Never>?
    @ObservationIgnored let listeners = OwnedTasks()
    @ObservationIgnored var hasStarted = false
    @ObservationIgnored let startTimer = OwnedTasks()
    @ObservationIgnored var revision: UInt64 = 0
    /// nil until the store has been asked: nothing is told and nothing followed before.
    @ObservationIgnored var life: LobbyLife?
    @ObservationIgnored var isPublishing = false
    @ObservationIgnored var mustPublish = false
    /// Names sessions that begin here.
    @ObservationIgnored package var makeSessionID: @Sendable () -> UUID = { UUID() }

    /// Creates a lobby that finds, opens and joins sessions of one feature. Call `start()` to begin.
    ///
    /// - Parameters:
    ///   - transport: not started yet, so that nothing is missed.
    ///   - membersMax: devices of one session, 2 where not every device reaches every other.
    ///   - store: keeps the invitation and the incarnation through a relaunch. Hand the same to `SyncedSession.open`.
    ///   - configuration: its clock, and its incarnation where the store has none, are the lobby's too.
    ///   - isOver: states in which a session has ended: it is closed when the next begins, not cut off.
    ///   - opening: applies the closure that it is given to the session's configuration, last.
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

    /// The mistakes and failures of the transport, of this lobby and of its session that are not solved, for an app to show.
    public var problems: [SessionProblem] {
        transport.problems + board.problems + (session?.board.problems ?? [])
    }

    /// Begins to listen, starts the transport, and goes on with the session that the store has.
    public func start() async {
        hasStarted = true
        startTimer.cancel()
        board.solve(.notStarted)
        listen()
        board.start(transport)
        await beginLife()
        if let kept = await keptInvitation() { consider(kept) }
        goAlong()
        publish()
        await settled()
    }

    /// Begins a session of this device and those that are connected, in place of one that is under way: that is how a
    /// device takes over. Every device that hears of it goes along.
    ///
    /// Returns once the session is there, or `storeError` says why not.
    public func open() async {
        if !hasStarted { expectStart() }
        if life == nil { await beginLife() }
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
                try? await wait(problemPatience)
                guard let self, !Task.isCancelled, !self.hasStarted else { return }
                self.board.report(.notStarted("\(self.featureID).lobby"))
            }
        ])
    }

    /// Lets a device that came late take part in the session that is under way.
    /// - Throws: `SessionLobbyError`.
    public func invite(_ peerID: String) throws {
        guard let session, let invitation, part == .member, !session.hasEnded else {
            throw SessionLobbyError.takesNoPart
        }
        guard let device = devices.first(where: { $0.peerID == peerID }) else {
            throw SessionLobbyError.unknownDevice(peerID)
        }
        guard !invitation.includes(peerID) else { return }
        guard invitation.everybody.count < membersMax else { throw SessionLobbyError.full(limit: membersMax) }
        session.invite(peerID)
        consider(invitation.adding(device.source))
    }

    /// Waits until this device has gone over to the session that it goes with.
    public func settled() async { await following?.value }

    /// Waits until the others have what was submitted here, at most `closePatience`, and ends. The transport stays open.
    public func stop() async {
        listeners.cancel()
        startTimer.cancel()
        await settled()
        try? await session?.close()
    }
}

/// The part that a device plays in the current session.
public enum SessionPart: String, Hashable, Sendable, Codable {
    /// The device knows of no session.
    case none
    /// The device is a member: its user's events count.
    case member
    /// The device shows the session and can't change it.
    case spectator
}

/// Another device that runs the same feature.
public struct SessionDevice: Hashable, Sendable {
    /// The `SessionPeer.id` of the device.
    public let peerID: String
    /// The name that the device gave itself, bounded and made printable.
    public let name: String
    /// Whether the transport reaches it now.
    public internal(set) var isReachable: Bool
    /// Its app has closed the transport; otherwise one that cannot be reached may come back by itself.
    public internal(set) var hasLeft = false
    /// Whether it takes part in the session that is under way.
    public internal(set) var isMember: Bool
    /// How it signs the events of sessions that begin now.
    let source: SessionSource
}

/// A state that a member of a session was seen to show: no engine is needed for it.
public struct SessionSighting<State: Sendable>: Sendable {
    /// The session that was seen.
    public let sessionID: UUID
    /// The feature's state, as that member had it.
    public let state: State
    /// The member that showed it.
    public let peerID: String
    /// The moment at which the state arrived, by this device's clock.
    public let seenAt: Date
    /// Which of the states of that peer's engine, and of how many events.
    let revision: UInt64
    let eventCount: UInt64
}

/// A change that a lobby reports to `onChange`.
public enum SessionLobbyChange: Hashable, Sendable {
    /// A device has come or gone, or takes part.
    case devices
    /// `observed` is another one.
    case sighted
    /// This device has opened a session, joined one, or watches one.
    case opened, joined, watching
    /// Another device's session takes the place of the one that was under way here.
    case superseded
    /// The store failed; `storeError` has the reason.
    case storeFailed
}

/// Why a lobby did not do what it was asked for.
public enum SessionLobbyError: ExplainedError, Hashable, Sendable {
    /// No session is under way here, or it has ended.
    case takesNoPart
    /// No device with that ID was ever heard.
    case unknownDevice(String)
    /// The session has as many members as it may; `limit` is their number.
    case full(limit: Int)

    public var description: String {
        switch self {
        case .takesNoPart: "this device takes no part in a session that goes on: open one, or be invited"
        case .unknownDevice(let peerID):
            "no device '\(peerID)' has been heard of: it has to run the same feature within reach"
        case .full(let limit): "the session has \(limit) devices, which is as many as it may have"
        }
    }

    public var advice: String {
        switch self {
        case .takesNoPart, .unknownDevice: ""
        case .full: "Remove a device from the session first."
        }
    }
}
