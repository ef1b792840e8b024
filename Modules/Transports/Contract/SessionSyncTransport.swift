public import MeshFoundation
public import MeshIdentity

/// Carries envelopes, snapshots and snapshot requests between peers.
///
/// To the implementer:
/// - Every call of a `receive…` method or of `reachabilityChanges` must return an independent, bounded stream that ends
///   when the transport closes. `TransportInbox` does this for you.
/// - `receiveSnapshots` must hand a late subscriber the newest snapshot of each feature, and `reachabilityChanges` the
///   peers that are reachable now.
/// - A mode that is not offered must throw `SessionSyncError.unsupportedDeliveryMode`; a payload over the limit must throw
///   `payloadTooLarge`; after `close`, every send must throw `closed`. What was not accepted must have thrown.
/// - Sending may suspend but must never block a thread; it must honour cancellation.
/// - Nothing that a peer sends may trap.
///
/// A transport that implements what has no default works; what the defaults can't do, its `capabilities` leave out of
/// `extras`. A transport is done when the conformance rules of MeshTesting pass.
public protocol SessionSyncTransport: Sendable {
    /// The peer that this end speaks for.
    var localPeer: SessionPeer { get }
    /// Peers met so far, reachable or not, without the local one.
    var knownPeers: [SessionPeer] { get }
    /// The properties that callers may rely on for as long as the transport exists.
    var capabilities: SessionTransportCapabilities { get }

    /// Sends an envelope to a peer, or to every known peer if `peer` is nil.
    ///
    /// - Parameter peer: the receiver; nil sends to every known peer.
    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    /// Hands over a snapshot, as `send` does an envelope.
    ///
    /// - Parameter peer: the receiver; nil sends to every known peer.
    /// - Throws: `SessionSyncError`, as `send`.
    func sendSnapshot(_ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    /// Asks for a current snapshot; the answer arrives through `receiveSnapshots`.
    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws

    /// Envelopes from now on, each once, in the order of their arrival.
    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope>
    /// Snapshots: the newest of each feature at once, then those that arrive.
    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot>
    /// Requests of peers, from now on.
    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest>
    /// Returns a stream of peers' reachability: the current one of each, then every change.
    func reachabilityChanges() -> AsyncStream<SessionPeerReachability>

    // MARK: With a default

    /// Begins to connect peers. A session, connection or lobby calls it, after it has subscribed. Idempotent. The default does
    /// nothing: the transport connects as soon as it is made.
    /// - Throws: why it can't begin. Callers may try again.
    func start() throws
    /// The mistakes and failures that keep peers from meeting, until they are solved. Observable. May be read on any thread. By
    /// default there are none.
    var problems: [SessionProblem] { get }
    /// The newest snapshot that any peer has sent for the feature, as far as this transport keeps it. By default nil.
    func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot?
    /// Sends several, in order, on the caller's actor. When it throws, those before the one that caused it may have been
    /// taken. A transport with `sendsAtOnce` suspends only to wait. By default it sends them one by one.
    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws
    /// Subscribes to wanted envelopes, from now on, in batches. The subscriber is woken on its own actor. Several
    /// features that share a transport each subscribe to their own. A transport with `keepsUnread` hands over all that
    /// have gathered, at most 256, and keeps envelopes from before a subscriber, or that one left unread, for the next
    /// that wants them. By default every envelope comes alone, and one without a subscriber is lost.
    ///
    /// - Parameter isWanted: asked on any thread, more than once and with locks held: looks at nothing but its argument.
    func envelopeBatches(where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool) -> EnvelopeBatches
    /// Withdraws a reliable envelope from every peer that has not acknowledged it. By default nothing can be withdrawn.
    /// - Returns: whether there was one. It may arrive all the same, if it was under way.
    @discardableResult
    func cancel(eventID: UUID, featureID: String) -> Bool
    /// Whether a reliable envelope waits for a peer to acknowledge it. A caller asks before it repeats a message that brought no
    /// answer, because the transport still delivers an envelope that waits. The default is false: the transport can't tell.
    func isWaiting(eventID: UUID, featureID: String) -> Bool
    /// Lets those peers in for that session alone, beside the peers that this one knows by itself: a member of the session
    /// has introduced them. Nothing of any other session or feature may pass to or from such a guest. Each call replaces
    /// what was said of that session and feature; the empty set ends it. What was said is forgotten with the process. A call
    /// that changes nothing must cost next to nothing. By default, and where a transport asks no peer who it is, it does
    /// nothing.
    ///
    /// May be called on any thread. Must be bounded; reject peers when full.
    func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String)
    /// Whether the peer of that id is a device of the same user. Sessions let such peers in without an invitation (`admits`).
    /// May be called on any thread; must look at memory only. The default is false: the transport can't tell.
    func isOwn(_ peerID: String) -> Bool
    /// The IDs of the peers that the user has revoked as lost: now, and after each change. Open sessions go on without them.
    /// Each call is a stream of its own, in which a slow reader sees the newest set only. The default is nil: the transport
    /// knows its peers by no key, so no peer can be revoked.
    func revokedPeers() -> AsyncStream<Set<String>>?
    /// Ends the transport and its streams, after what was accepted before has been handed to the link. Idempotent.
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
    public func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) {}
    public func isOwn(_ peerID: String) -> Bool { false }
    public func revokedPeers() -> AsyncStream<Set<String>>? { nil }

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

    /// Sends several from the caller's actor.
    public func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        from caller: isolated (any Actor)? = #isolation
    ) async throws {
        try await send(envelopes, mode: mode, to: peer, isolation: caller)
    }

    /// Sends to every known peer.
    public func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode) async throws {
        try await send(envelope, mode: mode, to: nil)
    }

    /// Sends to every known peer.
    public func sendSnapshot(_ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode) async throws {
        try await sendSnapshot(snapshot, mode: mode, to: nil)
    }

    /// Asks every known peer.
    public func requestSnapshot(sessionID: UUID) async throws {
        try await requestSnapshot(sessionID: sessionID, from: nil)
    }
}

/// A peer lacks something and asks for the state.
public struct SessionSnapshotRequest: Hashable, Sendable {
    /// The session of which a snapshot is wanted.
    public let sessionID: UUID
    /// The peer that asks for a snapshot; nil if the transport doesn't know it.
    public let requester: SessionPeer?

    /// A request for the snapshots of one session.
    public init(sessionID: UUID, requester: SessionPeer? = nil) {
        self.sessionID = sessionID
        self.requester = requester
    }
}

/// A peer has become reachable, or is so no longer.
public struct SessionPeerReachability: Hashable, Sendable {
    /// Whether it can be reached now.
    public let isReachable: Bool
    /// The peer whose reachability changed; nil if the transport can't tell.
    public let peer: SessionPeer?
    /// Whether the peer said goodbye, as a transport does when it is closed: don't wait for it. A peer that crashed or
    /// is out of range says nothing.
    public let hasLeft: Bool
    /// The number of the connection on which the peer answers; another one means that what was under way on the connection
    /// before is lost. nil where the transport numbers none.
    package let connection: UInt64?

    /// A change, of one peer where the transport can tell.
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
