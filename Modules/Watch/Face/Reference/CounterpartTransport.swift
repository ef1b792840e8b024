import Foundation
import MeshBase
import MeshConnection
import MeshFileTransfer
import MeshIdentity
import MeshRequests
import MeshStorage
import MeshTransport
import MeshWatchConnectivityTransport

/// Which frames the counterpart speaks.
enum Dialect: String, Sendable {
    /// It has not said anything yet.
    case unknown
    /// Those of WatchConnectivitySwift 5.
    case reference
    /// The mesh's own.
    case mesh
}

/// The way to the counterpart, whichever frames it speaks: the mesh's transport, and beside it requests in the frames
/// of WatchConnectivitySwift 5, in both directions. To those who use it, a counterpart that speaks the latter is a peer
/// too.
///
/// Which it is, it finds out, and keeps in the store if there is one: by what arrives, and, once messages can be sent,
/// by a request that no app has a handler for. Until then requests are sent as the mesh sends them and kept, 256 of
/// them, for the case that nobody understood.
///
/// Apps are rolled back too: where the mesh hears nobody although the session says that somebody is there, or frames of
/// WatchConnectivitySwift 5 come, the counterpart is asked again.
final class CounterpartTransport: TransportWrapper {
    static let counterpart = SessionPeer(
        id: "watchconnectivityswift", deviceClass: .unknown, appInstanceID: "watchconnectivityswift",
        topology: .pairedCompanion)
    static let dialectKey = "sessionmesh.reference/dialect"
    static let keptMax = 256
    static let repliesMax = 256
    /// Until when a request is wanted that says only when it was made.
    static let lifetime = Duration.seconds(300)
    /// How long the mesh may hear nobody where somebody is said to be, before the counterpart is asked, and asked again.
    static var doubt: Backoff { Backoff(from: .seconds(3), to: .seconds(60)) }

    /// A request of the counterpart's that has not been answered yet.
    struct Owed {
        let id: UUID
        let isFireAndForget: Bool
        /// nil when the answer is to be a message of its own.
        let reply: (@Sendable (Data) -> Void)?
    }

    struct Kept {
        /// Its newest copy: how it is to go, and until when it is wanted.
        var message: RequestMessage
        /// The events in which the mesh has it.
        var copies: [(eventID: UUID, isReliable: Bool)]
    }

    struct State {
        var dialect: Dialect
        var isReachable = false
        /// The dialect is being written to the store.
        var isWriting = false
        /// The mesh has been heard in this launch, and since the session last said that nobody was there.
        var isProven = false
        /// Those whom the mesh reaches.
        var meshPeers: Set<String> = []
        var doubt = CounterpartTransport.doubt
        var isDoubtPlanned = false
        var asking: Task<Void, Never>?
        var kept: [Kept] = []
        var owed: [Owed] = []
        /// Answers to those who asked otherwise and cannot be reached.
        var answers: [WireResponse] = []
        var asked = Questions()
        var deliver: (@Sendable (AnySessionSyncEnvelope) -> Void)?
        var onStates: (@Sendable ([String: Data], _ areNew: Bool) -> Void)?
        var onSession: (@Sendable () -> Void)?
        var onContextWritten: (@Sendable ((any Error)?) -> Void)?
        var onIncompatible: (@Sendable (_ typeName: String, _ reason: String) -> Void)?
    }

    let localPeer: SessionPeer
    /// The mesh's transport; `AbsentMesh` when the counterpart can't speak the mesh's frames.
    let wrapped: any SessionSyncTransport
    let port: ReferencePort
    let names = ReferenceNames()
    let dialects = Topic<Dialect>(bufferLimit: 16, overflow: .dropOldest, replaysLatest: true)
    let inbox = TransportInbox()
    let clock: any DeliveryClock
    let store: (any SessionStore)?
    /// Held while all who follow are told of a change, so that they end with the last one.
    let becoming = Locked(())
    let state: Locked<State>
    private let listeners = OwnedTasks()

    init(
        localPeer: SessionPeer, mesh: (any SessionSyncTransport)?, port: ReferencePort, clock: any DeliveryClock,
        store: (any SessionStore)?, dialect: Dialect?
    ) {
        let kept = (try? store?.value(for: Self.dialectKey)).flatMap {
            Dialect(rawValue: String(decoding: $0, as: UTF8.self))
        }
        let dialect = dialect ?? kept ?? .unknown
        self.localPeer = localPeer
        wrapped = mesh ?? AbsentMesh(localPeer: localPeer)
        self.port = port
        self.clock = clock
        self.store = store
        state = Locked(State(dialect: dialect))
        port.note(dialect)
        dialects.publish(dialect)
    }

    /// Begins to listen.
    /// - Parameters:
    ///   - deliver: takes the envelopes that are made of frames of WatchConnectivitySwift 5.
    ///   - onStates: takes the values of shared states in JSON, by the names of their types.
    ///   - onSession: is told that the session has changed.
    ///   - onContextWritten: is told when the context has been written, and why the session has refused it.
    ///   - onIncompatible: is told of what looked like a frame and is none.
    func open(
        deliver: @escaping @Sendable (AnySessionSyncEnvelope) -> Void,
        onStates: @escaping @Sendable ([String: Data], _ areNew: Bool) -> Void,
        onSession: @escaping @Sendable () -> Void,
        onContextWritten: @escaping @Sendable ((any Error)?) -> Void,
        onIncompatible: @escaping @Sendable (_ typeName: String, _ reason: String) -> Void
    ) {
        state.withLock { state in
            state.deliver = deliver
            state.onStates = onStates
            state.onSession = onSession
            state.onContextWritten = onContextWritten
            state.onIncompatible = onIncompatible
        }
        port.open { [weak self] event in self?.take(event) }
        let changes = wrapped.reachabilityChanges()
        listeners.hold([
            Task { [weak self] in
                for await change in changes { self?.take(change) }
            }
        ])
    }

    var dialect: Dialect { state.withLock { $0.dialect } }
    private var isProven: Bool { state.withLock { $0.isProven } }

    /// Does nothing: the channel starts the mesh, once all that listen to it are there.
    func start() {}

    // MARK: What is known

    var knownPeers: [SessionPeer] {
        let (dialect, isSpokenWith) = state.withLock { ($0.dialect, $0.asked.requestCount > 0 || !$0.owed.isEmpty) }
        if dialect == .reference { return [Self.counterpart] }
        return wrapped.knownPeers + (isSpokenWith ? [Self.counterpart] : [])
    }

    // MARK: Sending

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        if envelope.metadata.featureID == CarriedHeader.featureID, speaksReference(to: peer) {
            if let id = CarriedHeader.carriedID(in: envelope) { fileWasCarried(id) }
            return
        }
        guard envelope.metadata.featureID == RequestMessage.featureID,
            let message = try? envelope.decodePayload(as: RequestMessage.self)
        else { return try await sendByMesh(envelope, mode, peer) }
        if peer?.id == Self.counterpart.id { return try await send(message) }
        switch dialect {
        case .reference where peer == nil: try await send(message)
        case .unknown, .mesh:
            let isKept = message.kind == RequestMessage.Kind.request.rawValue && !isProven
            if isKept { return try await sendAndKeep(message, envelope, mode, peer) }
            try await sendByMesh(envelope, mode, peer)
        case .reference: try await sendByMesh(envelope, mode, peer)
        }
    }

    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        if envelopes.allSatisfy({ isForMeshOnly($0, peer) }) {
            return try await wrapped.send(envelopes, mode: mode, to: peer, isolation: isolation)
        }
        for envelope in envelopes { try await send(envelope, mode: mode, to: peer) }
    }

    /// Whether the frames of WatchConnectivitySwift 5 have nothing for it.
    private func isForMeshOnly(_ envelope: AnySessionSyncEnvelope, _ peer: SessionPeer?) -> Bool {
        let feature = envelope.metadata.featureID
        return peer?.id != Self.counterpart.id && feature != CarriedHeader.featureID
            && feature != RequestMessage.featureID
    }

    /// The session is done with a file. A counterpart that says nothing about files has it then.
    func fileWasCarried(_ id: UUID) {
        guard dialect == .reference,
            let envelope = try? CarriedHeader.imported(
                id, from: Self.counterpart.id, sessionID: TransportConnection.sharedScope, at: clock.wall)
        else { return }
        state.withLock { $0.deliver }?(envelope)
    }

    private func speaksReference(to peer: SessionPeer?) -> Bool {
        peer?.id == Self.counterpart.id || peer == nil && dialect == .reference
    }

    func sendSnapshot(_ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        if ContextFeature.isOne(snapshot.metadata.featureID), dialect == .reference,
            let message = try? snapshot.decodeState(as: RequestMessage.self)
        {
            return try await send(message)
        }
        guard peer?.id != Self.counterpart.id else { return }
        try await wrapped.sendSnapshot(snapshot, mode: mode, to: peer)
    }

    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        guard peer?.id != Self.counterpart.id else { return }
        try await wrapped.requestSnapshot(sessionID: sessionID, from: peer)
    }

    func cancel(eventID: UUID, featureID: String) -> Bool {
        let wasKept = state.withLock { state in
            let count = state.kept.count
            state.kept.removeAll { $0.copies.contains { $0.eventID == eventID } }
            return state.kept.count < count
        }
        let wasSent = wrapped.cancel(eventID: eventID, featureID: featureID)
        return wasKept || wasSent
    }

    // MARK: Receiving

    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { inbox.reachabilityChanges() }

    func close() async {
        listeners.cancel()
        port.multiplexer.detach(port)
        await wrapped.close()
        inbox.close()
        dialects.finish()
    }

    func sendByMesh(
        _ envelope: AnySessionSyncEnvelope, _ mode: SessionDeliveryMode, _ peer: SessionPeer?
    ) async throws {
        guard peer?.id != Self.counterpart.id else { throw SessionSyncError.notReachable }
        try await wrapped.send(envelope, mode: mode, to: peer)
    }
}

/// The mesh of a counterpart that has none: no peers, no news, and envelopes reach no one.
struct AbsentMesh: SessionSyncTransport {
    let localPeer: SessionPeer
    private let inbox = TransportInbox()

    init(localPeer: SessionPeer) { self.localPeer = localPeer }

    var knownPeers: [SessionPeer] { [] }
    var capabilities: SessionTransportCapabilities {
        SessionTransportCapabilities(
            supportsRealtime: true, supportsDurableQueue: true, supportsLatestStateReplacement: true,
            supportsRequestReply: true, supportsBroadcast: false, supportsPeerDiscovery: false,
            maximumPayloadSize: 65_536 * 3 / 4 - 1024, expectedLatency: .realtime)
    }
    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        throw SessionSyncError.notReachable
    }
    func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {}
    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {}
    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { inbox.receiveEnvelopes() }
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { inbox.receiveSnapshots() }
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { inbox.receiveSnapshotRequests() }
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { inbox.reachabilityChanges() }
    func close() async { inbox.close() }
}
