public import Foundation
import MeshBus
public import MeshEngine
public import MeshIdentity
public import MeshTransport
public import Observation

/// A feature's live session: one engine, one transport, observable state.
///
/// ```swift
/// let session = SyncedSession(
///     sessionID: id, featureID: "workout", transport: transport,
///     initialState: Workout(), reducer: WorkoutReducer(), conflictPolicy: WorkoutPolicy())
/// session.start()
/// try session.submit(.pause, at: .now)     // applies at once, then travels
/// ```
///
/// Lives on the main actor. Nothing it starts keeps it alive; dropping the last reference stops it.
@MainActor @Observable
public final class SyncedSession<State, Event, Reducer, ConflictPolicy>
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    public enum Phase: Hashable, Sendable {
        case stopped, running
        /// For good.
        case closed
    }

    /// The feature's state as this peer sees it now, local events included.
    public internal(set) var state: State
    public internal(set) var phase = Phase.stopped
    /// Peers that the transport calls reachable.
    public internal(set) var reachablePeerIDs: Set<String> = []
    /// Why the last send did not succeed; nil after one that did.
    public internal(set) var lastSendError: (any Error)?
    public internal(set) var statistics = SessionStatistics()

    @ObservationIgnored public let transport: any SessionSyncTransport
    @ObservationIgnored public let configuration: SyncedSessionConfiguration<State, Event>
    @ObservationIgnored var engine: SessionSyncEngine<State, Event, Reducer, ConflictPolicy>
    @ObservationIgnored var outgoing = OutgoingQueue()
    @ObservationIgnored var retainedSnapshot: AnySessionSyncSnapshot?
    /// The retained snapshot, while it is too old for want of a live peer.
    @ObservationIgnored var staleSnapshot: AnySessionSyncSnapshot?
    @ObservationIgnored var lastRequestAt: Date?
    @ObservationIgnored var isRequestOwed = false
    @ObservationIgnored let owedRequest = OwnedTasks()
    @ObservationIgnored private let listeners = OwnedTasks()
    @ObservationIgnored let drain = OwnedTasks()
    @ObservationIgnored let remoteEventTopic = Topic<SessionSyncEnvelope<Event>>(bufferLimit: 1024)
    @ObservationIgnored let remoteSnapshotTopic = Topic<SessionSyncSnapshot<State>>(bufferLimit: 16)

    public init(
        sessionID: UUID, featureID: String, transport: any SessionSyncTransport, initialState: State, reducer: Reducer,
        conflictPolicy: ConflictPolicy, configuration: SyncedSessionConfiguration<State, Event> = .init()
    ) {
        self.transport = transport
        self.configuration = configuration
        state = initialState
        engine = SessionSyncEngine(
            sessionID: sessionID, featureID: featureID, localPeerID: transport.localPeer.id,
            payloadType: configuration.payloadType ?? "\(featureID).event",
            snapshotPayloadType: configuration.snapshotPayloadType ?? "\(featureID).state",
            initialState: initialState, reducer: reducer, conflictPolicy: conflictPolicy,
            incarnation: configuration.incarnation)
    }

    public var sessionID: UUID { engine.sessionID }
    public var featureID: String { engine.featureID }

    /// Events of other peers that changed the state. Each call is an independent stream of up to 1024 waiting events,
    /// of which the oldest make room; it ends when the session closes.
    public func remoteEvents() -> AsyncStream<SessionSyncEnvelope<Event>> { remoteEventTopic.subscribe() }

    /// Snapshots of other peers that replaced the state. Each call is an independent stream of the newest 16.
    public func remoteSnapshots() -> AsyncStream<SessionSyncSnapshot<State>> { remoteSnapshotTopic.subscribe() }

    /// Begins to listen, takes the newest snapshot that the transport has kept, and asks the peers for theirs.
    /// Idempotent; does nothing once closed.
    public func start() {
        guard phase == .stopped else { return }
        phase = .running
        retainedSnapshot = transport.latestPeerSnapshot(featureID: featureID)
        listen()
        requestSnapshot()
        if engine.hasHistory { publishSnapshot() }
    }

    /// Stops listening and sending; what waits to be sent stays and leaves after the next `start`.
    public func stop() {
        guard phase == .running else { return }
        phase = .stopped
        cancelTasks()
    }

    /// Submits the last event, if there is one, waits until it and the final snapshot have been handed to the
    /// transport, and stops for good. The transport stays open: it may serve other features.
    /// - Throws: what `submit` throws; the session is then still running.
    public func close(with finalEvent: Event? = nil, at moment: Date? = nil) async throws {
        guard phase != .closed else { return }
        if let finalEvent { try submit(finalEvent, at: moment ?? configuration.now()) }
        if phase == .running {
            if engine.hasHistory { publishSnapshot() }
            await drained()
        }
        phase = .closed
        cancelTasks()
        remoteEventTopic.finish()
        remoteSnapshotTopic.finish()
    }

    /// Applies a local event at once, then sends it and, unless it is of a high rate, the new state.
    ///
    /// - Parameter moment: the time of the tap.
    /// - Throws: what the reducer throws, `SessionSyncError.queueFull` while too much waits to be sent, or `closed`.
    ///   No sequence is taken then.
    @discardableResult
    public func submit(_ event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        guard phase != .closed else { throw SessionSyncError.closed }
        guard outgoing.messages.count < configuration.outgoingMax else {
            throw SessionSyncError.queueFull(limit: configuration.outgoingMax)
        }
        let envelope = try engine.submitLocal(event, at: moment)
        state = engine.state
        statistics.submitted += 1
        enqueue(.envelope(try AnySessionSyncEnvelope(envelope)))
        if !configuration.isHighRate(event) { publishSnapshot() }
        return envelope
    }

    private func cancelTasks() {
        listeners.cancel()
        owedRequest.cancel()
        isRequestOwed = false
        drain.cancel()
        outgoing.isDraining = false
    }

    private func listen() {
        let envelopes = transport.receiveEnvelopes()
        let snapshots = transport.receiveSnapshots()
        let requests = transport.receiveSnapshotRequests()
        let reachability = transport.reachabilityChanges()
        listeners.hold([
            Task { [weak self] in for await change in reachability { self?.receive(change) } },
            Task { [weak self] in for await envelope in envelopes { self?.receive(envelope) } },
            Task { [weak self] in for await snapshot in snapshots { self?.receive(snapshot) } },
            Task { [weak self] in for await request in requests { self?.receive(request) } },
        ])
    }
}
