public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport
import MeshWire

/// A complete transport over any link: greeting, framing, acknowledgement, retransmission, order, newest snapshots,
/// health.
///
/// ```swift
/// let transport = try LinkTransport(localPeer: peer, link: link)
/// let envelopes = transport.receiveEnvelopes()
/// try transport.start()
/// ```
///
/// Subscribe before `start`, so that you miss nothing. Each side's hello names its peer. A peer that has sent one stays
/// known. It is reachable while round trips come back.
///
/// Guarantees of each mode:
/// - `realtimeBestEffort`, `snapshotRequest`, `acknowledgement`: now or never, to every connected receiver. They use
///   `datagram` if the link has it, else `stream`, else `queue`. `send` waits only while the link has no space. Over a
///   link with a lane `queue`, a `realtimeBestEffort` event that can't go live is queued instead.
/// - `reliableEventually`: each receiver gets it once, in order within the feature, over as many connections as that
///   takes. With a durable store this also holds across relaunches of either side. While no peer is known, it waits for
///   the first one.
/// - `latestSnapshot`: every peer, including one that appears later, gets the newest of each feature. Older ones may
///   never arrive.
///
/// If a receiver's process dies before its subscribers have finished a message, the message is offered again after the
/// relaunch, provided the receiver has a store.
///
/// Safe to use from any thread. Releasing a transport without `close` ends it too, but sends no goodbye.
public final class LinkTransport: SessionSyncTransport {
    let shell: DeliveryShell
    private let extras: SessionTransportExtras
    private let companions = Locked<[any AnyObject & Sendable]>([])

    /// Creates a transport that delivers over a link. The link opens when the transport starts.
    ///
    /// - Parameters:
    ///   - link: opened by `start`, closed by `close`.
    ///   - store: keeps accepted messages and arrived messages that subscribers haven't finished. No other code may
    ///     write names that begin with `delivery/`. nil keeps both in memory.
    ///   - diagnostics: receives the transport's events; nil creates a topic. See `diagnosticEvents`.
    /// - Throws: `DeliveryError.invalidConfiguration`; `WireError.invalidValue` if two codecs share a number;
    ///   `StorageError` if the store can't be read.
    public init(
        localPeer: SessionPeer, link: any TransportLink, configuration: DeliveryConfiguration = .init(),
        store: (any SessionStore)? = nil, clock: any DeliveryClock = SystemClock(),
        diagnostics: Topic<SessionDiagnosticEvent>? = nil
    ) throws {
        extras = link.revokedPeers() == nil ? .all.subtracting(.revocation) : .all
        shell = try DeliveryShell(
            localPeer: localPeer, link: link, configuration: configuration, store: store, clock: clock,
            diagnostics: diagnostics ?? Topic(bufferLimit: 1024))
    }

    deinit { shell.abandon() }

    /// Keeps an object alive as long as this transport, such as the one that carries reports of lost devices. The
    /// object must hold the transport weakly.
    package func keep(_ companion: some AnyObject & Sendable) { companions.withLock { $0.append(companion) } }

    /// Starts the transport and opens its link. A session, connection or lobby over the transport does this; call it to
    /// connect without one. Idempotent.
    ///
    /// - Throws: `SessionSyncError.closed`; the link's error. You may try again.
    public func start() throws { try shell.open() }

    /// The unsolved problems of the link, then those of the transport: `peerIDInUse` and `transportFailed`.
    public var problems: [SessionProblem] { link.problems + shell.problems.problems }

    public var localPeer: SessionPeer { shell.localPeer }
    /// The link that moves the bytes.
    public var link: any TransportLink { shell.link }
    public var knownPeers: [SessionPeer] { shell.state.withLock { $0.core.knownPeers } }

    public var capabilities: SessionTransportCapabilities {
        let lanes = Set(shell.link.lanes.keys)
        let isLive = lanes.contains(where: \.isLive)
        return SessionTransportCapabilities(
            supportsRealtime: isLive, supportsDurableQueue: true, supportsLatestStateReplacement: true,
            supportsRequestReply: isLive, supportsBroadcast: true,
            supportsPeerDiscovery: shell.link.traits.discoversPeers,
            maximumPayloadSize: payloadLimit?.bytes, expectedLatency: shell.link.traits.expectedLatency,
            isSecured: shell.link.traits.isSecured,
            deliversWhileConnected: lanes.contains(.stream) && !lanes.contains(.datagram),
            extras: extras)
    }

    /// Maximum payload size of one message. A link with live lanes sends a message in fragments; over other links it
    /// must fit into one packet. nil if payloads are passed on without encoding.
    public var payloadLimit: PayloadLimit? { shell.writesPayloads ? shell.budget.limit : nil }

    /// Returns the health of a peer, or nil if it was never met.
    public func health(of peer: SessionPeer) -> DeliveryHealth? {
        shell.state.withLock { $0.core.health(of: peer.id)?.health }
    }

    /// Returns the smoothed round-trip time, or nil before the first measurement.
    public func roundTrip(to peer: SessionPeer) -> Duration? {
        shell.state.withLock { $0.core.health(of: peer.id)?.roundTrip.smoothed }
    }

    /// Returns a stream of delivery's diagnostic events. Every call is an independent subscriber. The default topic
    /// buffers 1024 events for each and then drops the oldest.
    public func diagnosticEvents() -> AsyncStream<SessionDiagnosticEvent> { shell.diagnostics.subscribe() }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { shell.inbox.receiveEnvelopes() }
    public func envelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> EnvelopeBatches {
        shell.inbox.envelopeBatches(where: isWanted)
    }
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { shell.inbox.receiveSnapshots() }
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> {
        shell.inbox.receiveSnapshotRequests()
    }
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { shell.inbox.reachabilityChanges() }

    public func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        shell.inbox.latestSnapshot(featureID: featureID)
    }

    /// Sends accepted messages, says goodbye, and closes the link. After two seconds it gives up on messages that the
    /// link hasn't taken, unless a store keeps them.
    public func close() async { await shell.close(grace: .seconds(2)) }
}

// MARK: - Sending

extension LinkTransport {
    /// Sends an envelope to a peer, or to every known peer if `peer` is nil.
    ///
    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer`, `notReachable`, `payloadTooLarge`,
    ///   `payloadEncodingFailed`, `queueFull` (the receiver is away and its queue is full; if it is connected, the call
    ///   waits for space), or `unsupportedDeliveryMode` for an envelope as `latestSnapshot`; `CancellationError`, if
    ///   nothing was accepted; `StorageError`, if the store refused the message.
    public func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        try await send([envelope], mode: mode, to: peer, options: nil)
    }

    /// Sends one envelope with a priority and a time to live.
    ///
    /// - Parameter peer: the receiver; nil sends to every known peer.
    /// - Throws: `SessionSyncError`, as `send` without options.
    public func send(
        _ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?, options: DeliveryOptions
    ) async throws {
        try await send([envelope], mode: mode, to: peer, options: options)
    }

    public func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        try Task.checkCancellation()
        try await shell.submit(items(of: envelopes, mode, nil), mode: mode, to: peer?.id, isolation: isolation)
    }

    /// Sends envelopes in order to a peer, or to every known peer if `peer` is nil.
    ///
    /// - Parameter options: nil for the defaults, where a large message gets the priority `bulk`.
    public func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        options: DeliveryOptions?
    ) async throws {
        try Task.checkCancellation()
        try await shell.submit(items(of: envelopes, mode, options), mode: mode, to: peer?.id)
    }

    /// Accepts best-effort envelopes that leave in one message with the next one to the same receivers, if they fit.
    /// - Returns: false if it accepted none.
    public func sendWithNext(_ envelopes: [AnySessionSyncEnvelope], to peer: SessionPeer?) -> Bool {
        guard let items = try? items(of: envelopes, .acknowledgement, nil) else { return false }
        return shell.hold(items, for: peer?.id)
    }

    private func items(
        of envelopes: [AnySessionSyncEnvelope], _ mode: SessionDeliveryMode, _ options: DeliveryOptions?
    ) throws -> [DeliveryCore.Item] {
        guard mode != .latestSnapshot else { throw SessionSyncError.unsupportedDeliveryMode }
        return try envelopes.map { envelope in
            guard shell.writesPayloads else { return DeliveryCore.Item(.envelope(envelope), byteCount: 0, options) }
            try envelope.metadata.checkNames()
            let payload = try envelope.encodedPayload(with: shell.budget.codec)
            try shell.budget.check(byteCount: payload.bytes.count)
            let encoded = AnySessionSyncEnvelope(metadata: envelope.metadata, payload: payload)
            return DeliveryCore.Item(.envelope(encoded), byteCount: payload.bytes.count, options)
        }
    }

    /// Sends a snapshot to a peer, or to every known peer if `peer` is nil.
    ///
    /// - Throws: the errors of `send`.
    public func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try Task.checkCancellation()
        guard shell.writesPayloads else {
            return try await shell.submit(
                [DeliveryCore.Item(.snapshot(snapshot), byteCount: 0, nil)], mode: mode, to: peer?.id)
        }
        try snapshot.metadata.checkNames()
        let state = try snapshot.encodedState(with: shell.budget.codec)
        let byteCount = state.bytes.count + (snapshot.checkpoint?.count ?? 0)
        try shell.budget.check(byteCount: byteCount)
        let encoded = AnySessionSyncSnapshot(
            metadata: snapshot.metadata, revision: snapshot.revision, peerSequenceVector: snapshot.peerSequenceVector,
            state: state, checkpoint: snapshot.checkpoint)
        try await shell.submit(
            [DeliveryCore.Item(.snapshot(encoded), byteCount: byteCount, nil)], mode: mode, to: peer?.id)
    }

    /// Requests a snapshot of a session from a peer, or from every known peer if `peer` is nil.
    ///
    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer` or `notReachable`.
    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try Task.checkCancellation()
        let request = WireSnapshotRequest(sessionID: sessionID, requester: localPeer)
        try await shell.submit(
            [DeliveryCore.Item(.snapshotRequest(request), byteCount: 0, nil)], mode: .snapshotRequest, to: peer?.id)
    }

    /// Withdraws a reliable message from every peer that hasn't acknowledged it.
    /// - Returns: true if there was such a peer. A message already in flight may still arrive.
    @discardableResult
    public func cancel(eventID: UUID, featureID: String) -> Bool {
        shell.perform { state, _ in state.core.cancel(MessageID(featureID: featureID, eventID: eventID)) }
    }

    /// Returns true if a peer hasn't acknowledged a reliable message that was accepted for it. Complexity: O(waiting
    /// messages).
    public func isWaiting(eventID: UUID, featureID: String) -> Bool {
        shell.perform { state, _ in state.core.isWaiting(MessageID(featureID: featureID, eventID: eventID)) }
    }

    /// Marks a message that you are about to send as worth waking a suspended peer for. Does nothing over a link that
    /// can't wake peers. The mark lasts ten minutes. At most 256 messages have one; a further mark removes the oldest.
    public func expedite(eventID: UUID, featureID: String) {
        guard link.remainingWakes != nil else { return }
        shell.perform { state, now in
            state.core.urgent.mark(MessageID(featureID: featureID, eventID: eventID), now: now.elapsed)
        }
    }

    /// The number of times that the link may still wake a suspended peer today; nil if it never can.
    public var remainingWakes: Int? { link.remainingWakes }

    /// Admits guests to one session, over a link that proves peers and trusts only some (`GuestAdmittingLink`). Does
    /// nothing over other links.
    ///
    /// A guest sees only sessions that name it: their envelopes, snapshots and snapshot requests pass in both
    /// directions. Messages to all peers skip it. A message to it by name throws `unknownPeer`, except newest
    /// snapshots, which wait until the guest may have them. Other messages from it are dropped and reported once;
    /// numbered ones are acknowledged. When no session names a guest any more, its connection ends and it is forgotten.
    ///
    /// At most 64 guests in 16 sessions. Admitted guests stay. Among new ones, those with the highest IDs are rejected,
    /// and a seventeenth session gets none. Rejections are reported as `rejected`.
    public func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) {
        shell.admit(guests: peerIDs, to: Guests.Scope(sessionID: sessionID, featureID: featureID))
    }

    /// Returns true if a known peer is, according to the link, a device of the same user.
    public func isOwn(_ peerID: String) -> Bool {
        shell.link.isOwn(peerID) && knownPeers.contains { $0.id == peerID }
    }

    /// Returns a stream of the IDs of revoked peers, as the link reports them; nil over a link without keys.
    public func revokedPeers() -> AsyncStream<Set<String>>? { shell.link.revokedPeers() }

    /// Forgets a peer that won't return: ends its connection and drops the messages that wait for it.
    public func forget(_ peer: SessionPeer) {
        shell.perform { state, _ in state.core.forget(peer.id) }
    }
}

extension DeliveryCore.Item {
    /// Creates an item. Without options, a message above 64 KiB gets the priority `bulk`.
    fileprivate init(_ message: WireMessage, byteCount: Int, _ options: DeliveryOptions?) {
        let priority: DeliveryPriority = byteCount > DeliveryLine.flushBytes ? .bulk : .normal
        self.init(message: message, byteCount: byteCount, options: options ?? DeliveryOptions(priority: priority))
    }
}
