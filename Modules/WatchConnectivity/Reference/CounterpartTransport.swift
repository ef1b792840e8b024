import Foundation
import MeshBus
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
final class CounterpartTransport: SessionSyncTransport {
    static let counterpart = SessionPeer(
        id: "watchconnectivityswift", deviceClass: .unknown, appInstanceID: "watchconnectivityswift",
        topology: .pairedCompanion)
    private static let dialectKey = "sessionmesh.reference/dialect"
    static let keptMax = 256
    static let repliesMax = 256
    /// Requests whose responses are known when they come; of older ones nobody waits for them any more.
    static let askedMax = 4096
    /// Until when a request is wanted that says only when it was made.
    static let lifetime = Duration.seconds(300)
    /// How long the mesh may hear nobody where somebody is said to be, before the counterpart is asked, and asked again.
    static let doubtMin = Duration.seconds(3)
    static let doubtMax = Duration.seconds(60)

    /// What was asked of the counterpart in its own frames.
    enum Asked {
        /// Which frames it speaks.
        case hello
        /// Whether it is there, by a probe.
        case probe
        case request(type: String)
        /// A fire-and-forget request, to which nobody needs an answer.
        case told
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
        /// The mesh has been heard in this launch, and since the session last said that nobody was there.
        var isProven = false
        /// Those whom the mesh reaches.
        var meshPeers: Set<String> = []
        var doubtDelay = CounterpartTransport.doubtMin
        var isDoubtPlanned = false
        var asking: Task<Void, Never>?
        var kept: [Kept] = []
        /// Ways back to those who asked in a message.
        var replies: [(id: UUID, reply: @Sendable (Data) -> Void)] = []
        /// Answers to those who asked otherwise and cannot be reached.
        var answers: [WireResponse] = []
        var asked: [UUID: Asked] = [:]
        var askedIDs: [UUID] = []
        var deliver: (@Sendable (AnySessionSyncEnvelope) -> Void)?
        var onStates: (@Sendable ([String: Data], _ areNew: Bool) -> Void)?
        var onSession: (@Sendable () -> Void)?
        var onContextWritten: (@Sendable ((any Error)?) -> Void)?
        var onIncompatible: (@Sendable (_ typeName: String, _ reason: String) -> Void)?

        /// - Returns: false when it has been asked already.
        mutating func ask(_ id: UUID, _ what: Asked) -> Bool {
            guard asked.updateValue(what, forKey: id) == nil else { return false }
            askedIDs.append(id)
            guard askedIDs.count > CounterpartTransport.askedMax else { return true }
            for old in askedIDs.prefix(CounterpartTransport.askedMax / 4) { asked[old] = nil }
            askedIDs.removeFirst(CounterpartTransport.askedMax / 4)
            return true
        }
    }

    let localPeer: SessionPeer
    /// nil when there is nobody who speaks the mesh's frames.
    let mesh: (any SessionSyncTransport)?
    let port: ReferencePort
    let names = ReferenceNames()
    let dialects = Topic<Dialect>(bufferLimit: 16, overflow: .dropOldest, replaysLatest: true)
    let inbox = TransportInbox()
    let clock: any DeliveryClock
    private let store: (any SessionStore)?
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
        self.mesh = mesh
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
        guard let mesh else { return }
        let changes = mesh.reachabilityChanges()
        listeners.hold([
            Task { [weak self] in
                for await change in changes { self?.take(change) }
            }
        ])
    }

    var dialect: Dialect { state.withLock { $0.dialect } }
    private var isProven: Bool { state.withLock { $0.isProven } }

    // MARK: What is known

    var knownPeers: [SessionPeer] {
        let (dialect, isSpokenWith) = state.withLock { ($0.dialect, !$0.asked.isEmpty || !$0.replies.isEmpty) }
        if dialect == .reference { return [Self.counterpart] }
        return (mesh?.knownPeers ?? []) + (isSpokenWith ? [Self.counterpart] : [])
    }

    var capabilities: SessionTransportCapabilities {
        mesh?.capabilities
            ?? SessionTransportCapabilities(
                supportsRealtime: true, supportsDurableQueue: true, supportsLatestStateReplacement: true,
                supportsRequestReply: true, supportsBroadcast: false, supportsPeerDiscovery: false,
                maximumPayloadSize: 65_536 * 3 / 4 - 1024, expectedLatency: .realtime)
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
        guard let mesh, peer?.id != Self.counterpart.id else { return }
        try await mesh.sendSnapshot(snapshot, mode: mode, to: peer)
    }

    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        guard let mesh, peer?.id != Self.counterpart.id else { return }
        try await mesh.requestSnapshot(sessionID: sessionID, from: peer)
    }

    func cancel(eventID: UUID, featureID: String) -> Bool {
        let wasKept = state.withLock { state in
            let count = state.kept.count
            state.kept.removeAll { $0.copies.contains { $0.eventID == eventID } }
            return state.kept.count < count
        }
        let wasSent = mesh?.cancel(eventID: eventID, featureID: featureID) ?? false
        return wasKept || wasSent
    }

    // MARK: Receiving

    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> {
        mesh?.receiveEnvelopes() ?? inbox.receiveEnvelopes()
    }
    func receiveEnvelopeBatches() -> AsyncStream<[AnySessionSyncEnvelope]> {
        mesh?.receiveEnvelopeBatches() ?? inbox.receiveEnvelopeBatches()
    }
    func receiveEnvelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> AsyncStream<[AnySessionSyncEnvelope]> {
        mesh?.receiveEnvelopeBatches(where: isWanted) ?? inbox.receiveEnvelopeBatches(where: isWanted)
    }
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> {
        mesh?.receiveSnapshots() ?? inbox.receiveSnapshots()
    }
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> {
        mesh?.receiveSnapshotRequests() ?? inbox.receiveSnapshotRequests()
    }
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { inbox.reachabilityChanges() }
    func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        mesh?.latestPeerSnapshot(featureID: featureID)
    }

    func close() async {
        listeners.cancel()
        port.multiplexer.detach(port)
        await mesh?.close()
        inbox.close()
        dialects.finish()
    }

    func sendByMesh(
        _ envelope: AnySessionSyncEnvelope, _ mode: SessionDeliveryMode, _ peer: SessionPeer?
    ) async throws {
        guard let mesh, peer?.id != Self.counterpart.id else { throw SessionSyncError.notReachable }
        try await mesh.send(envelope, mode: mode, to: peer)
    }
}

// MARK: - To a counterpart of whom nothing is known

extension CounterpartTransport {
    /// Waits until it is known which frames the counterpart speaks, if it can be asked.
    func settle() async {
        let asking = state.withLock { state -> Task<Void, Never>? in
            guard state.dialect == .unknown, state.isReachable else { return nil }
            if state.asking == nil { state.asking = Task { [weak self] in await self?.ask() } }
            return state.asking
        }
        await asking?.value
    }

    /// Asks what the counterpart speaks, in a while and again, for as long as the mesh hears nobody where somebody is.
    /// - Parameter evidence: something has come that the mesh does not send.
    func doubt(because evidence: Bool = false) {
        let delay: Duration? = state.withLock { state in
            guard state.dialect == .mesh, state.isReachable, !state.isDoubtPlanned, evidence || state.meshPeers.isEmpty
            else { return nil }
            state.isDoubtPlanned = true
            state.isProven = false
            if evidence { return .zero }
            defer { state.doubtDelay = min(state.doubtDelay * 2, Self.doubtMax) }
            return state.doubtDelay
        }
        guard let delay else { return }
        clock.wake(at: clock.elapsed + delay) { [weak self] in
            Task { [weak self] in await self?.askAgain(anyway: evidence) }
        }
    }

    /// Asks a counterpart that is there and that the mesh does not hear.
    func askIfSilent(anyway: Bool = false) async {
        let isDue = state.withLock { state in
            state.dialect == .mesh && state.isReachable && (anyway || state.meshPeers.isEmpty)
        }
        if isDue { await ask() }
    }

    private func askAgain(anyway: Bool) async {
        await askIfSilent(anyway: anyway)
        state.withLock { $0.isDoubtPlanned = false }
        doubt()
    }

    private func take(_ change: SessionPeerReachability) {
        if let id = change.peer?.id {
            state.withLock { state in
                if change.isReachable { state.meshPeers.insert(id) } else { state.meshPeers.remove(id) }
            }
            if change.isReachable { prove() }
        }
        inbox.deliver(change)
        doubt()
    }

    /// The counterpart speaks the mesh's frames.
    func prove() {
        become(.mesh)
        state.withLock { state in
            state.isProven = true
            state.doubtDelay = Self.doubtMin
            state.kept = []
        }
    }

    private func ask() async {
        let hello = WireRequest(typeName: ReferencePort.helloType, payload: Data("{}".utf8))
        state.withLock { _ = $0.ask(hello.requestID, .hello) }
        do {
            if let response = try await port.send(hello) { take(response) }
        } catch {
            state.withLock { $0.asked[hello.requestID] = nil }
        }
        state.withLock { $0.asking = nil }
    }

    func takeHello(_ response: WireResponse) {
        switch response.outcome {
        case .success(ReferencePort.helloAnswer): prove()
        case .success, .failure(.handlerNotRegistered), .failure(.decodingFailed): become(.reference, isProven: true)
        case .failure: break
        }
    }

    /// - Parameter isProven: it has been asked; otherwise whoever has spoken the mesh's frames is not taken for less.
    func become(_ dialect: Dialect, isProven: Bool = false) {
        // Where there is no mesh, whatever looks like it is a copy of something.
        guard mesh != nil || dialect != .mesh else { return }
        let (before, isReachable) = state.withLock { state in
            let before = state.dialect
            guard before != dialect, before != .mesh || isProven else { return (dialect, false) }
            state.dialect = dialect
            if dialect == .mesh {
                // An app that has been updated answers nothing that it was asked before.
                (state.asked, state.askedIDs) = ([:], [])
            } else {
                (state.isProven, state.meshPeers) = (false, [])
            }
            return (before, state.isReachable)
        }
        guard before != dialect else { return }
        port.note(dialect)
        dialects.publish(dialect)
        if let store {
            Task.detached {
                var batch = StoreBatch()
                batch.set([UInt8](dialect.rawValue.utf8), for: Self.dialectKey)
                // Lost, it is found out again.
                try? store.commit(batch)
            }
        }
        switch dialect {
        case .reference:
            if isReachable { inbox.deliver(SessionPeerReachability(true, peer: Self.counterpart)) }
            Task { await resendKept() }
        case .mesh:
            inbox.deliver(SessionPeerReachability(false, peer: Self.counterpart))
        case .unknown: break
        }
    }
}
