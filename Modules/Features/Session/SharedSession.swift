public import Foundation
import MeshBase
public import MeshEngine
import MeshIdentity
public import MeshStorage
public import MeshTransport
public import Observation

/// A feature's session that a view can use at once.
///
/// ```swift
/// let game = SharedSession(Score(), over: .companion)
/// game.send(.home)             // shows at once, is sent, and is kept if there is a store
/// game.state.home              // what a view reads
/// ```
///
/// All devices that create a `SharedSession` of a feature share one session, whose ID follows from the feature's ID. It
/// opens in the background. Until then `state` is the initial state, and sent events wait in memory, in order.
///
/// For sessions that begin and end, such as one for each workout, see `SessionLobby`.
///
/// Lives on the main actor. Its tasks don't keep it alive.
@MainActor @Observable
public final class SharedSession<Feature: SessionFeature> {
    /// The type of the feature's state.
    public typealias State = Feature.State
    /// An event that changes the state.
    public typealias Event = Feature.Event
    /// The type of the underlying session.
    public typealias Session = SessionOf<Feature>
    /// The configuration of the underlying session.
    public typealias Configuration = SyncedSessionConfiguration<State, Event>

    /// The stages of opening and closing.
    public enum Phase: Hashable, Sendable {
        /// The store is being read. Sent events wait.
        case opening
        /// Events apply as they are sent.
        case ready
        /// The session could not be opened; `problems` says why. Events are refused until `retry()` succeeds.
        case failed
        /// The session was closed. Events are refused.
        case closed
    }

    /// Maximum number of events that wait for the session to open. `send` refuses the next one.
    public static var waitingMax: Int { 256 }

    /// The stage of opening and closing that the session is in.
    public private(set) var phase = Phase.opening
    /// The underlying session, for everything that this type doesn't offer; nil until `ready`.
    public private(set) var session: Session?

    /// The transport that connects the devices. The session starts it, and its owner closes it.
    @ObservationIgnored public let transport: any SessionSyncTransport
    @ObservationIgnored private let feature: Feature
    @ObservationIgnored private let sessionID: UUID
    @ObservationIgnored private let makeStore: MakeStore
    @ObservationIgnored private let configuration: Configuration
    @ObservationIgnored private let hotPath: Session.HotPath
    @ObservationIgnored private let board = ProblemBoard()
    @ObservationIgnored private var waiting: [WaitingEvent] = []
    @ObservationIgnored private let opening = OwnedTasks()
    /// Publishes the session once it is open.
    @ObservationIgnored private let sessionTopic = Topic<Session>(bufferLimit: 1)
    private let initialState: State

    /// An event sent before the session was open, with its time by `configuration.uptime`.
    private struct WaitingEvent {
        let make: (Date) -> Event
        let sentAt: Duration
        let urgency: SessionUrgency
    }

    @usableFromInline typealias MakeStore = @Sendable () throws -> (any SessionStore)?

    /// Creates a session for the feature and opens it off the main actor. Until then it shows the initial state.
    ///
    /// - Parameters:
    ///   - transport: the same kind on all devices. Several features share one.
    ///   - sessionID: distinguishes several sessions of one feature, such as documents; the same on all devices. By
    ///     default it follows from the feature's ID.
    ///   - store: keeps the session, so that a relaunch continues it; evaluated off the main actor. Without one, a
    ///     relaunched device gets the state from its peers.
    @inlinable
    public convenience init(
        _ feature: Feature, over transport: some SessionSyncTransport, sessionID: UUID? = nil,
        store: @autoclosure @escaping @Sendable () throws -> (any SessionStore)? = nil,
        configuration: Configuration = .init()
    ) {
        self.init(
            feature, over: transport, sessionID: sessionID, store: store, configuration: configuration,
            hotPath: SessionHotPath())
    }

    @usableFromInline
    init(
        _ feature: Feature, over transport: any SessionSyncTransport, sessionID: UUID?,
        store makeStore: @escaping MakeStore, configuration: Configuration, hotPath: Session.HotPath
    ) {
        self.feature = feature
        self.transport = transport
        self.sessionID = sessionID ?? Self.sessionID
        self.makeStore = makeStore
        self.configuration = configuration.with(version: Feature.version)
        self.hotPath = hotPath
        initialState = feature.initialState
        open()
    }

    /// The ID of the session that all devices with this feature share: a UUID of version 8 (RFC 9562, 5.8).
    nonisolated public static var sessionID: UUID {
        UUID(StableHash(Array("sessionmesh.shared/\(Feature.featureID)".utf8)))
    }

    // MARK: - Opening

    private func open() {
        phase = .opening
        opening.hold([
            Task { [weak self, transport, sessionID, makeStore, configuration, feature, hotPath] in
                do {
                    let store = try await Self.make(makeStore)
                    let session = try await Session.open(
                        sessionID: sessionID, featureID: Feature.featureID, transport: transport, store: store,
                        initialState: feature.initialState, reducer: feature, conflictPolicy: feature,
                        configuration: configuration, hotPath: hotPath)
                    if !Task.isCancelled { self?.begin(session) }
                } catch {
                    if !Task.isCancelled { self?.fail(error) }
                }
            }
        ])
    }

    nonisolated private static func make(_ makeStore: MakeStore) async throws -> (any SessionStore)? { try makeStore() }

    private func begin(_ session: Session) {
        board.solve(.openingFailed)
        self.session = session
        phase = .ready
        session.start()
        let (events, now) = (waiting, configuration.uptime())
        waiting = []
        for event in events {
            let moment = session.now - (now - event.sentAt).seconds
            session.send(at: moment, event.urgency) { event.make($0) }
        }
        sessionTopic.publish(session)
        sessionTopic.finish()
    }

    private func fail(_ error: any Error) {
        phase = .failed
        let lost = waiting.isEmpty ? "" : "; waiting events lost: \(waiting.count)"
        waiting = []
        board.report(
            SessionProblem(
                .openingFailed, of: Feature.featureID,
                "the session of '\(Feature.featureID)' can't be opened\(lost): \(error.shownText)",
                advice: "Fix the cause, then call retry()."))
    }

    /// Tries again: opens a session that failed to open, or starts a ready session's transport that couldn't start.
    public func retry() {
        switch phase {
        case .failed: open()
        case .ready: session?.start()
        case .opening, .closed: break
        }
    }

    /// Closes the session on this device, as `SyncedSession.close()` does. The transport stays open. If events wait for
    /// the session to open, this waits too, so that they are stored.
    public func close() async {
        if phase == .opening, !waiting.isEmpty { await opening.finished() }
        opening.cancel()
        phase = .closed
        waiting = []
        sessionTopic.finish()
        try? await session?.close()
    }
}

// MARK: - State and events

extension SharedSession {
    /// The feature's state on this device, own events included; the initial state until `ready`.
    public var state: State { session?.state ?? initialState }

    /// The status of each known peer, ordered by ID.
    public var peers: [SessionPeerStatus] { session?.peers ?? [] }

    /// Returns a stream of the state: the current one first, then each change. A slow reader gets only the newest. Ends
    /// when the session closes.
    public func states() -> AsyncStream<State> {
        if let session { return session.states() }
        let (initialState, sessions) = (initialState, sessionTopic.subscribe())
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.yield(initialState)
            let task = Task {
                for await session in sessions {
                    for await state in session.states() { continuation.yield(state) }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// The unsolved mistakes and failures of the transport and the session, for an app to show.
    public var problems: [SessionProblem] {
        transport.problems + board.problems + (session?.board.problems ?? [])
    }

    /// Submits an event now. Before the session is open, up to `waitingMax` events wait in memory, in order. A refused
    /// event is one of the `problems` until the next one is accepted.
    ///
    /// - Parameter urgency: `wake` also wakes a suspended watch app, within the daily budget (`remainingWakes`).
    public func send(_ event: Event, urgency: SessionUrgency = .normal) { send(urgency: urgency) { _ in event } }

    /// The number of times that this device may still wake its watch's app today. nil if the transport never can, as on
    /// a watch.
    public var remainingWakes: Int? { transport.remainingWakes }

    /// Submits an event that carries the moment of its tap: `game.send { .pause(at: $0) }`.
    ///
    /// - Parameter urgency: `wake` also wakes a suspended watch app, within the daily budget (`remainingWakes`).
    public func send(urgency: SessionUrgency = .normal, _ event: @escaping (Date) -> Event) {
        switch phase {
        case .ready:
            board.solve(.eventRefused)
            session?.send(urgency: urgency, event)
        case .opening where waiting.count < Self.waitingMax:
            waiting.append(WaitingEvent(make: event, sentAt: configuration.uptime(), urgency: urgency))
            board.solve(.eventRefused)
        case .opening:
            refuse(
                "\(waiting.count) events are already waiting for the session to open", advice: "Send it again later.")
        case .failed: refuse("the session couldn't be opened", advice: "Call retry(), then send it again.")
        case .closed: refuse(SessionSyncError.sessionClosed.shownText)
        }
    }

    private func refuse(_ reason: String, advice: String = "") {
        board.report(.eventRefused(Feature.featureID, reason, advice: advice))
    }
}
