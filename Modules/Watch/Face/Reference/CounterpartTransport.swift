import Foundation
import MeshBase
import MeshConnection
import MeshFileTransfer
import MeshIdentity
import MeshRequests
import MeshStorage
import MeshTransport
import MeshWatchConnectivityTransport

// Terms. The counterpart is the app on the paired device. The mesh is this library's own transport. The reference is
// WatchConnectivitySwift 5, the library that this module replaces; `ReferencePort` describes its frames.
//
// The dialect is detected as follows, and kept in the store. An unknown counterpart gets requests in the mesh's frames,
// and the last 256 are kept. Once it is reachable, it gets a hello in the reference's frames: a request for which no
// app has a handler. The answer `"sessionmesh"` means mesh. Another success, or an error about a missing handler, means
// reference. Arriving frames reveal the dialect, too. If it is the reference's, kept requests are sent again in its
// frames.
//
// Users may roll an app back. While the session is reachable but the mesh reaches no peer, the hello is repeated after
// 3 s, doubling to 60 s. A frame of the reference triggers a hello at once. Only its answer changes mesh to reference.
// Docs/Internals/Glossary.md defines the terms.

/// The frame format that the counterpart speaks.
enum Dialect: String, Sendable {
    /// Nothing has been heard from it yet.
    case unknown
    /// The frames of WatchConnectivitySwift 5.
    case reference
    /// This library's own frames.
    case mesh
}

/// The transport to the counterpart in either dialect. It wraps the mesh's transport and adds requests in the frames of
/// WatchConnectivitySwift 5, in both directions. A counterpart that speaks those appears as one more peer.
final class CounterpartTransport: TransportWrapper {
    static let counterpart = SessionPeer(
        id: "watchconnectivityswift", deviceClass: .unknown, appInstanceID: "watchconnectivityswift",
        topology: .pairedCompanion)
    static let dialectKey = "sessionmesh.reference/dialect"
    static let keptMax = 256
    static let repliesMax = 256
    /// The time for which a request stays valid if its frame carries only its creation time.
    static let lifetime = Duration.seconds(300)
    /// The interval of hellos while the session is reachable but the mesh reaches no peer.
    static var helloBackoff: Backoff { Backoff(from: .seconds(3), to: .seconds(60)) }

    /// A request of the counterpart that hasn't been answered yet.
    struct UnansweredRequest {
        let id: UUID
        let isFireAndForget: Bool
        /// Answers the request; nil if the answer must be sent as a separate message.
        let reply: (@Sendable (Data) -> Void)?
    }

    struct KeptRequest {
        /// The newest version of the request, with its current method and expiry.
        var message: RequestMessage
        /// The mesh's events that carry the request.
        var copies: [(eventID: UUID, isReliable: Bool)]
    }

    struct State {
        var dialect: Dialect
        var isReachable = false
        /// True while a task writes the dialect to the store.
        var isWriting = false
        /// True if a mesh frame has arrived in this launch, and no hello was scheduled since.
        var isProven = false
        /// IDs of the peers that the mesh reaches.
        var meshPeers: Set<String> = []
        var helloBackoff = CounterpartTransport.helloBackoff
        var isHelloScheduled = false
        var helloTask: Task<Void, Never>?
        var keptRequests: [KeptRequest] = []
        var unansweredRequests: [UnansweredRequest] = []
        /// Answers to requests that came without a reply handler, waiting until the counterpart is reachable.
        var pendingResponses: [WireResponse] = []
        var outstandingQueries = OutstandingQueries()
        var deliver: (@Sendable (AnySessionSyncEnvelope) -> Void)?
        var onStates: (@Sendable ([String: Data], _ areNew: Bool) -> Void)?
        var onSession: (@Sendable () -> Void)?
        var onContextWritten: (@Sendable ((any Error)?) -> Void)?
        var onIncompatible: (@Sendable (_ typeName: String, _ reason: String) -> Void)?
    }

    let localPeer: SessionPeer
    /// The mesh's transport; `AbsentMesh` if the counterpart can't speak the mesh's frames.
    let wrapped: any SessionSyncTransport
    let port: ReferencePort
    let names = ReferenceNames()
    let dialects = Topic<Dialect>(bufferLimit: 16, overflow: .dropOldest, replaysLatest: true)
    let inbox = TransportInbox()
    let clock: any DeliveryClock
    let store: (any SessionStore)?
    /// Held while a change of dialect is reported, so that all observers see changes in the same order.
    let dialectChangeLock = Locked(())
    let state: Locked<State>
    private let listeners = OwnedTasks()

    init(
        localPeer: SessionPeer, mesh: (any SessionSyncTransport)?, port: ReferencePort, clock: any DeliveryClock,
        store: (any SessionStore)?, dialect: Dialect?
    ) {
        let storedDialect = (try? store?.value(for: Self.dialectKey)).flatMap {
            Dialect(rawValue: String(decoding: $0, as: UTF8.self))
        }
        let dialect = dialect ?? storedDialect ?? .unknown
        self.localPeer = localPeer
        wrapped = mesh ?? AbsentMesh(localPeer: localPeer)
        self.port = port
        self.clock = clock
        self.store = store
        state = Locked(State(dialect: dialect))
        port.note(dialect)
        dialects.publish(dialect)
    }

    /// Starts listening.
    /// - Parameters:
    ///   - deliver: Receives envelopes made from WatchConnectivitySwift 5 frames.
    ///   - onStates: Receives values of shared states in JSON, keyed by type name.
    ///   - onSession: Called when the session has changed.
    ///   - onContextWritten: Called after each write of the context, with the session's error if it refused.
    ///   - onIncompatible: Called for data that looks like a frame but can't be decoded.
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

    /// Does nothing: the channel starts the mesh once its listeners are attached.
    func start() {}

    // MARK: Known peers

    var knownPeers: [SessionPeer] {
        let (dialect, hasExchange) = state.withLock {
            ($0.dialect, $0.outstandingQueries.requestCount > 0 || !$0.unansweredRequests.isEmpty)
        }
        if dialect == .reference { return [Self.counterpart] }
        return wrapped.knownPeers + (hasExchange ? [Self.counterpart] : [])
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

    /// Returns true if only the mesh can carry the envelope.
    private func isForMeshOnly(_ envelope: AnySessionSyncEnvelope, _ peer: SessionPeer?) -> Bool {
        let feature = envelope.metadata.featureID
        return peer?.id != Self.counterpart.id && feature != CarriedHeader.featureID
            && feature != RequestMessage.featureID
    }

    /// Reports a file as imported once the session has sent it. WatchConnectivitySwift 5 acknowledges no files.
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
        if ContextFeature.isSlot(snapshot.metadata.featureID), dialect == .reference,
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
            let count = state.keptRequests.count
            state.keptRequests.removeAll { $0.copies.contains { $0.eventID == eventID } }
            return state.keptRequests.count < count
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

/// A transport for a counterpart without the mesh: no peers, no events, and sending throws `notReachable`.
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
