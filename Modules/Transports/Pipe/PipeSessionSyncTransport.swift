public import MeshBus
public import MeshIdentity
public import MeshTransport
public import MeshWire

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Joins two processes over a pair of file descriptors: stdin and stdout, two pipes, a Unix socket.
///
/// ```swift
/// let transport = try PipeSessionSyncTransport(localPeer: peer, input: 0, output: 1)
/// let envelopes = transport.receiveEnvelopes()
/// try transport.start()
/// ```
///
/// Subscribe before `start`, so that nothing is missed. Each side greets with who it is and what it reads; from then on
/// the other is known and reachable. When the input ends, or the peer sends what cannot be read, the peer is unreachable
/// for good, the streams stay open until `close`, and sends throw `notReachable`.
///
/// One thread reads and one writes, both our own, so that no blocking call occupies Swift's thread pool. What gathers
/// while the writer is busy goes out in one write. A write to a pipe whose reader is gone ends the link and never the
/// process: the writing thread blocks SIGPIPE for itself, and sockets are asked not to raise it.
///
/// Safe to use from any thread. Letting go of a transport without `close` ends it too, without a farewell.
public final class PipeSessionSyncTransport: SessionSyncTransport {
    public let localPeer: SessionPeer
    let connection: PipeConnection
    private let budget: PayloadBudget

    /// - Parameters:
    ///   - input: open for reading. A file or /dev/null works: it ends soon.
    ///   - output: open for writing; a socket may be both. Neither descriptor's flags are changed.
    ///   - codec: writes payloads. The peer must read it.
    ///   - readableCodecs: read beside `codec`.
    ///   - compression: of bodies; a dictionary must be known to the peer too.
    ///   - closesDescriptors: closes both once the link has ended, or with the transport.
    ///   - queueLimit: messages that wait for the peer or the writer before a send throws `queueFull`; so do more than
    ///     64 MiB of payload, and latest snapshots of more than 256 features.
    ///   - diagnostics: receives reachability, what was rejected and what could not be sent.
    /// - Throws: `PipeError` with `badDescriptor` or `systemCallFailed`; `WireError.invalidValue` when two codecs share a
    ///   number.
    public init(
        localPeer: SessionPeer, input: Int32, output: Int32, codec: any PayloadCodec = CompactCodec(),
        readableCodecs: [any PayloadCodec] = [CompactCodec(), JSONCodec()], compression: CompressionPolicy = .zlib(),
        closesDescriptors: Bool = false, queueLimit: Int = 4096, diagnostics: Topic<SessionDiagnosticEvent>? = nil
    ) throws {
        let others = readableCodecs.filter { $0.id != codec.id }
        let codecs = try CodecTable([codec] + others)
        self.localPeer = localPeer
        budget = PayloadBudget(limit: .pipeFrame, codec: codec)
        connection = PipeConnection(
            localPeer: localPeer,
            descriptors: try Descriptors(input: input, output: output, closes: closesDescriptors),
            codec: codec, codecs: codecs, compression: compression, limits: FrameLimits(),
            outbox: PipeOutbox(messageLimit: queueLimit, byteLimit: 64 << 20, featureLimit: 256),
            inbox: TransportInbox(), diagnostics: diagnostics)
    }

    deinit { connection.interrupt() }

    /// Greets, and begins to read and write.
    /// - Throws: `SessionSyncError.closed`; `PipeError` with `alreadyStarted` or `systemCallFailed`.
    public func start() throws { try connection.start() }

    /// Counters of this pipe so far.
    public var statistics: PipeStatistics { connection.state.withLock { $0.statistics } }

    /// The peer at the other end, once it has greeted.
    public var knownPeers: [SessionPeer] { connection.state.withLock { $0.peer }.map { [$0] } ?? [] }

    public var capabilities: SessionTransportCapabilities {
        SessionTransportCapabilities(
            supportsRealtime: true, supportsDurableQueue: true, supportsLatestStateReplacement: true,
            supportsRequestReply: true, supportsBroadcast: true, supportsPeerDiscovery: true,
            maximumPayloadSize: budget.limit.bytes, expectedLatency: .realtime)
    }

    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer`, `notReachable`, `payloadTooLarge`,
    ///   `payloadEncodingFailed`, `queueFull`, or `unsupportedDeliveryMode` for an envelope as `latestSnapshot`.
    public func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws
    {
        try Task.checkCancellation()
        guard mode != .latestSnapshot else { throw SessionSyncError.unsupportedDeliveryMode }
        try connection.admit(mode: mode, to: peer)
        let payload = try envelope.encodedPayload(with: connection.codec)
        try budget.check(byteCount: payload.bytes.count)
        let encoded = AnySessionSyncEnvelope(metadata: envelope.metadata, payload: payload)
        try connection.submit(.envelope(encoded), mode: mode, to: peer)
    }

    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer`, `notReachable`, `payloadTooLarge`,
    ///   `payloadEncodingFailed` or `queueFull`.
    public func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try Task.checkCancellation()
        try connection.admit(mode: mode, to: peer)
        let state = try snapshot.encodedState(with: connection.codec)
        try budget.check(byteCount: state.bytes.count + (snapshot.checkpoint?.count ?? 0))
        let encoded = AnySessionSyncSnapshot(
            metadata: snapshot.metadata, revision: snapshot.revision, peerSequenceVector: snapshot.peerSequenceVector,
            state: state, checkpoint: snapshot.checkpoint)
        try connection.submit(.snapshot(encoded), mode: mode, to: peer)
    }

    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer`, `notReachable` or `queueFull`.
    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try Task.checkCancellation()
        let request = WireSnapshotRequest(sessionID: sessionID, requester: localPeer)
        try connection.submit(.snapshotRequest(request), mode: .snapshotRequest, to: peer)
    }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { connection.inbox.receiveEnvelopes() }
    public func receiveEnvelopeBatches() -> AsyncStream<[AnySessionSyncEnvelope]> {
        connection.inbox.receiveEnvelopeBatches()
    }
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { connection.inbox.receiveSnapshots() }
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> {
        connection.inbox.receiveSnapshotRequests()
    }
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> {
        connection.inbox.reachabilityChanges()
    }

    public func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        connection.inbox.latestSnapshot(featureID: featureID)
    }

    /// Writes what was accepted and a farewell, ends both threads and the streams. What the other side has not taken
    /// within two seconds is given up.
    public func close() async { await connection.close(grace: .seconds(2)) }
}

extension PayloadLimit {
    /// One payload over a pipe.
    public static let pipeFrame = PayloadLimit(
        id: "pipe.frame", bytes: 1_032_192, summary: "Payload of one frame over a pipe",
        source: "FrameLimits: frames of 1 MiB at most, less 16 KiB for header, metadata and vector")
}
