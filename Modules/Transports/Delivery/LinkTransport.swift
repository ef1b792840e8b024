public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport
import MeshWire

/// A whole transport over any link: greeting, framing, acknowledgement, retransmission, order, newest snapshots, health.
///
/// ```swift
/// let transport = try LinkTransport(localPeer: peer, link: link)
/// let envelopes = transport.receiveEnvelopes()
/// try transport.start()
/// ```
///
/// Subscribe before `start`, so that nothing is missed. Each side greets with who it is; a peer is known from then on for
/// good, and reachable while round trips come back.
///
/// What each mode guarantees:
/// - `realtimeBestEffort`, `snapshotRequest`, `acknowledgement`: now or never. Goes to every receiver that is there, by
///   `datagram` if the link has it, else by `stream`, else by `queue`. Waits only while the link has no room.
/// - `reliableEventually`: each receiver gets it once, in order within the feature, over as many connections as that
///   takes; with a durable store also over relaunches of either side. While no peer is known it waits for the first.
/// - `latestSnapshot`: every peer, also one that comes later, gets the newest of each feature; older ones may never
///   arrive.
///
/// What a receiver's process has taken and not yet looked at when it dies is offered again after its relaunch when it has
/// a store; see `DeliveryArchive`.
///
/// Safe to use from any thread. Letting go of a transport without `close` ends it too, without a farewell.
public final class LinkTransport: SessionSyncTransport {
    let shell: DeliveryShell
    private let extras: SessionTransportExtras

    /// Creates a transport that delivers over a link. The link opens when the transport starts.
    ///
    /// - Parameters:
    ///   - link: opened by `start`, closed by `close`.
    ///   - store: keeps what was accepted and what has not been passed on. No other code may write names that begin
    ///     with `delivery/`. nil keeps both in memory.
    ///   - diagnostics: receives what happens; nil makes a topic of its own. See `diagnosticEvents`.
    /// - Throws: `DeliveryError.invalidConfiguration`; `WireError.invalidValue` when two codecs share a number;
    ///   `StorageError` when the store cannot be read.
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

    /// Starts the transport and opens its link. A session, connection or lobby over the transport does so; call it to
    /// connect without one. Idempotent.
    ///
    /// - Throws: `SessionSyncError.closed`; what the link throws. Callers may try again.
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

    /// Maximum size of one message: the bytes that a live lane takes in fragments, or that a kept lane takes whole. nil
    /// if payloads are handed over without being encoded.
    public var payloadLimit: PayloadLimit? { shell.writesPayloads ? shell.budget.limit : nil }

    /// Returns the health of a peer, or nil if it was never met.
    public func health(of peer: SessionPeer) -> DeliveryHealth? {
        shell.state.withLock { $0.core.health(of: peer.id)?.health }
    }

    /// The smoothed round trip; nil before the first one.
    public func roundTrip(to peer: SessionPeer) -> Duration? {
        shell.state.withLock { $0.core.health(of: peer.id)?.roundTrip.smoothed }
    }

    /// Everything that delivery has to tell. Every call is an independent subscriber, 1024 events deep; the oldest make
    /// room.
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

    /// Hands to the link what was accepted, says farewell, and ends. What the link does not take within two seconds is
    /// given up, unless a store keeps it.
    public func close() async { await shell.close(grace: .seconds(2)) }
}

// MARK: - Sending

extension LinkTransport {
    /// Sends an envelope to a peer, or to every known peer if `peer` is nil.
    ///
    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer`, `notReachable`, `payloadTooLarge`,
    ///   `payloadEncodingFailed`, `queueFull` (the receiver is not there and its queue is full; while it is there the call
    ///   waits for room), or `unsupportedDeliveryMode` for an envelope as `latestSnapshot`; `CancellationError`, when
    ///   nothing was taken; `StorageError`, when the store did not take it.
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
    /// - Parameter options: nil for the usual ones; what is large is then a transfer.
    public func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        options: DeliveryOptions?
    ) async throws {
        try Task.checkCancellation()
        try await shell.submit(items(of: envelopes, mode, options), mode: mode, to: peer?.id)
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
    /// - Throws: what `send` throws.
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

    /// Asks a peer, or every known peer if `peer` is nil, for a snapshot of a session.
    ///
    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer` or `notReachable`.
    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try Task.checkCancellation()
        let request = WireSnapshotRequest(sessionID: sessionID, requester: localPeer)
        try await shell.submit(
            [DeliveryCore.Item(.snapshotRequest(request), byteCount: 0, nil)], mode: .snapshotRequest, to: peer?.id)
    }

    /// Withdraws a reliable message from every peer that has not acknowledged it.
    /// - Returns: whether there was one. It may arrive all the same, if it was under way.
    @discardableResult
    public func cancel(eventID: UUID, featureID: String) -> Bool {
        shell.perform { state, _ in state.core.cancel(MessageID(featureID: featureID, eventID: eventID)) }
    }

    /// Whether a peer has not acknowledged a reliable message that was accepted for it. Complexity: O(messages that wait).
    public func isWaiting(eventID: UUID, featureID: String) -> Bool {
        shell.perform { state, _ in state.core.isWaiting(MessageID(featureID: featureID, eventID: eventID)) }
    }

    /// Admits guests to one session, over a link that proves peers and trusts only some (`GuestAdmittingLink`). Does
    /// nothing over other links.
    ///
    /// A guest sees only sessions that name it: envelopes, snapshots and requests for snapshots pass in both
    /// directions. Messages to all peers skip it. A message to it by name throws `unknownPeer`, except newest
    /// snapshots, which wait until the guest may have them. Other messages from it are acknowledged if they have a
    /// number, dropped, and reported once. When its last session lets it go, its connection ends and it is forgotten.
    ///
    /// At most 64 guests of 16 sessions. Admitted guests stay; of new ones, those with the highest IDs are refused, and
    /// a seventeenth session gets none. Refusals are reported as `rejected`.
    public func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) {
        shell.admit(guests: peerIDs, to: Guests.Scope(sessionID: sessionID, featureID: featureID))
    }

    /// Whether the link says that the peer is a device of the same user, of the peers that have greeted.
    public func isOwn(_ peerID: String) -> Bool {
        shell.link.isOwn(peerID) && knownPeers.contains { $0.id == peerID }
    }

    /// The IDs of revoked peers, as the link tells them; nil over a link without keys.
    public func revokedPeers() -> AsyncStream<Set<String>>? { shell.link.revokedPeers() }

    /// Gives up what a peer that will not come back was to get, and forgets that it is known.
    public func forget(_ peer: SessionPeer) {
        shell.perform { state, _ in state.core.forget(peer.id) }
    }
}

extension DeliveryCore.Item {
    /// What is large is a transfer unless somebody says otherwise.
    fileprivate init(_ message: WireMessage, byteCount: Int, _ options: DeliveryOptions?) {
        let priority: DeliveryPriority = byteCount > DeliveryLine.flushBytes ? .bulk : .normal
        self.init(message: message, byteCount: byteCount, options: options ?? DeliveryOptions(priority: priority))
    }
}
