public import MeshFoundation
public import MeshIdentity

/// Carries envelopes, snapshots and snapshot requests between peers.
///
/// To the implementer:
/// - Every call of a `receive…` method or of `reachabilityChanges` must return an independent, bounded stream that ends
///   when the transport closes. `TransportInbox` does this for you.
/// - `receiveSnapshots` must give a late subscriber the newest snapshot of each feature. `reachabilityChanges` must
///   give it the peers that are reachable now.
/// - A mode that isn't offered must throw `SessionSyncError.unsupportedDeliveryMode`; a payload over the limit must
///   throw `payloadTooLarge`; after `close`, every send must throw `closed`. A send that doesn't throw has accepted its
///   message.
/// - Sending may suspend but must never block a thread. It must honor cancellation.
/// - Input from a peer must never trap.
///
/// You need to implement only the requirements without a default. List in `capabilities.extras` what you implement
/// beyond the defaults. A transport is done when the conformance rules of MeshTesting pass.
public protocol SessionSyncTransport: Sendable {
    /// The peer that this end represents.
    var localPeer: SessionPeer { get }
    /// Peers met so far, reachable or not, without the local one.
    var knownPeers: [SessionPeer] { get }
    /// The properties that callers may rely on while the transport exists.
    var capabilities: SessionTransportCapabilities { get }

    /// Sends an envelope to a peer, or to every known peer if `peer` is nil.
    ///
    /// - Parameter peer: the receiver; nil sends to every known peer.
    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    /// Sends a snapshot, like `send` for an envelope.
    ///
    /// - Parameter peer: the receiver; nil sends to every known peer.
    /// - Throws: `SessionSyncError`, as `send`.
    func sendSnapshot(_ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    /// Requests a current snapshot. The answer arrives through `receiveSnapshots`.
    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws

    /// Returns a stream of the envelopes from now on, each once, in the order of their arrival.
    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope>
    /// Returns a stream of snapshots: the newest of each feature at once, then those that arrive.
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot>
    /// Returns a stream of peers' snapshot requests from now on.
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest>
    /// Returns a stream of peers' reachability: the current one of each, then every change.
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability>

    // MARK: With a default

    /// Starts to connect peers. A session, connection or lobby calls it, after it has subscribed. Idempotent. The
    /// default does nothing: the transport connects as soon as it is created.
    /// - Throws: an error if it can't start. Callers may try again.
    func start() throws
    /// The unsolved mistakes and failures that keep peers from connecting. Observable. May be read on any thread. By
    /// default there are none.
    var problems: [SessionProblem] { get }
    /// Returns the newest snapshot that any peer has sent for the feature, as far as this transport keeps it. By
    /// default nil.
    func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot?
    /// Sends several envelopes in order, on the caller's actor. When it throws, the envelopes before the failed one may
    /// have been accepted. A transport with `sendsAtOnce` suspends only to wait. By default it sends them one by one.
    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws
    /// Accepts best-effort envelopes that leave with the caller's next `send` to the peer, in one message if they fit.
    /// The caller must send at once. A transport may lose them, as in mode `acknowledgement`.
    ///
    /// - Parameter peer: the receiver; nil sends to every known peer.
    /// - Returns: false if it accepted none, so that the caller sends them separately. By default always.
    func sendWithNext(_ envelopes: [AnySessionSyncEnvelope], to peer: SessionPeer?) -> Bool
    /// Subscribes to the envelopes that `isWanted` accepts, in batches, from now on. Wakes the subscriber on its own
    /// actor. Several features that share a transport each subscribe to their own envelopes.
    ///
    /// A transport with `keepsUnread` returns all waiting envelopes, at most 256 at a time. If a `reliableEventually`
    /// envelope arrives before any subscriber, or a subscriber leaves it unread, the transport keeps it for the next
    /// subscriber that wants it. An envelope of another mode without a subscriber is lost; an engine requests its event
    /// again. By default each batch has one envelope, and every envelope without a subscriber is lost.
    ///
    /// - Parameter isWanted: called on any thread, more than once and with locks held: it must look only at its
    ///   argument.
    func envelopeBatches(where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool) -> EnvelopeBatches
    /// Withdraws a reliable envelope from every peer that hasn't acknowledged it. By default nothing can be withdrawn.
    /// - Returns: true if there was such a peer. An envelope already in flight may still arrive.
    @discardableResult
    func cancel(eventID: UUID, featureID: String) -> Bool
    /// Returns true if a peer hasn't acknowledged a reliable envelope. Callers ask before they repeat an unanswered
    /// message, because the transport still delivers a waiting envelope. The default is false: the transport can't
    /// tell.
    func isWaiting(eventID: UUID, featureID: String) -> Bool
    /// Marks an envelope or a snapshot as worth waking a suspended peer for. Call it before you send the message. It is
    /// a hint that isn't stored, and the message arrives without it too. By default it does nothing.
    func expedite(eventID: UUID, featureID: String)
    /// The number of times that this transport may still wake a suspended peer today; 0 while it can't; nil if it never
    /// can. By default nil. May be read on any thread.
    var remainingWakes: Int? { get }
    /// Admits these peers as guests of one session, in addition to trusted peers: a member of the session has
    /// introduced them. Messages of other sessions or features must not pass to or from such a guest. Each call
    /// replaces the guests of that session and feature; the empty set removes them. Nothing is stored. A call that
    /// changes nothing must be cheap. By default, and if a transport doesn't verify peers, it does nothing.
    ///
    /// May be called on any thread. Must be bounded; reject peers when full.
    func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String)
    /// Returns true if the peer is a device of the same user. Sessions admit such peers without an invitation
    /// (`admits`). May be called on any thread; must only look at memory. The default is false: the transport can't
    /// tell.
    func isOwn(_ peerID: String) -> Bool
    /// Returns a stream of the IDs of the peers that the user has revoked as lost: now, and after each change. Open
    /// sessions continue without them. Each call returns a separate stream, in which a slow reader sees only the newest
    /// set. The default is nil: the transport knows no keys of its peers, so no peer can be revoked.
    func revokedPeers() -> AsyncStream<Set<String>>?
    /// Ends the transport and its streams, after accepted messages have been passed to the link. Idempotent.
    func close() async
}

extension SessionSyncTransport {
    public func start() throws {}
    public var problems: [SessionProblem] { [] }
    public func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? { nil }
    public func close() async {}
    @discardableResult
    public func cancel(eventID: UUID, featureID: String) -> Bool { false }
    public func isWaiting(eventID: UUID, featureID: String) -> Bool { false }
    public func expedite(eventID: UUID, featureID: String) {}
    public var remainingWakes: Int? { nil }
    public func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) {}
    public func isOwn(_ peerID: String) -> Bool { false }
    public func revokedPeers() -> AsyncStream<Set<String>>? { nil }
    public func sendWithNext(_ envelopes: [AnySessionSyncEnvelope], to peer: SessionPeer?) -> Bool { false }

    public func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        for envelope in envelopes { try await send(envelope, mode: mode, to: peer) }
    }

    public func envelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> EnvelopeBatches {
        let envelopes = receiveEnvelopes()
        return EnvelopeBatches { _ in await envelopes.first { isWanted($0.metadata) }.map { [$0] } }
    }

    /// Sends several envelopes from the caller's actor.
    public func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        from caller: isolated (any Actor)? = #isolation
    ) async throws {
        try await send(envelopes, mode: mode, to: peer, isolation: caller)
    }

    /// Sends an envelope to every known peer.
    public func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode) async throws {
        try await send(envelope, mode: mode, to: nil)
    }

    /// Sends a snapshot to every known peer.
    public func sendSnapshot(_ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode) async throws {
        try await sendSnapshot(snapshot, mode: mode, to: nil)
    }

    /// Requests a snapshot from every known peer.
    public func requestSnapshot(sessionID: UUID) async throws {
        try await requestSnapshot(sessionID: sessionID, from: nil)
    }
}

/// A peer's request for the state of a session.
public struct SessionSnapshotRequest: Hashable, Sendable {
    /// The session whose snapshot is requested.
    public let sessionID: UUID
    /// The peer that requests a snapshot; nil if the transport doesn't know it.
    public let requester: SessionPeer?

    /// Creates a request for the snapshots of one session.
    public init(sessionID: UUID, requester: SessionPeer? = nil) {
        self.sessionID = sessionID
        self.requester = requester
    }
}

/// A change of a peer's reachability.
public struct SessionPeerReachability: Hashable, Sendable {
    /// True if the peer can be reached now.
    public let isReachable: Bool
    /// The peer whose reachability changed; nil if the transport can't tell.
    public let peer: SessionPeer?
    /// True if the peer said goodbye, as a closed transport does: don't wait for it. A peer that crashed or is out of
    /// range sends no goodbye.
    public let hasLeft: Bool
    /// The number of the connection on which the peer answers; nil if the transport doesn't number connections. A
    /// change means that messages in flight on the earlier connection are lost.
    package let connection: UInt64?

    /// Creates a change, of one peer if the transport can tell.
    public init(_ isReachable: Bool, peer: SessionPeer? = nil, hasLeft: Bool = false) {
        self.init(isReachable, peer: peer, hasLeft: hasLeft, connection: nil)
    }

    package init(_ isReachable: Bool, peer: SessionPeer?, hasLeft: Bool, connection: UInt64?) {
        self.isReachable = isReachable
        self.peer = peer
        self.hasLeft = hasLeft && !isReachable
        self.connection = connection
    }
}
