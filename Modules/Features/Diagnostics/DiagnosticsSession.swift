public import Foundation
public import MeshBus
public import MeshIdentity
public import MeshTransport

/// A transport that records everything that passes the transport it wraps.
///
/// Use it wherever a transport is expected. The newest `recordLimit` records are kept; `events` hands on every one.
/// Safe to use from any thread.
public final class DiagnosticsSession: SessionSyncTransport {
    /// What passed, and when.
    public struct Record: Sendable {
        /// Counts from 1, also over records that have been forgotten.
        public let number: UInt64
        /// By the clock that the session was given.
        public let at: Date
        /// What passed.
        public let event: SessionDiagnosticEvent
        /// Of a payload that came as bytes, how many, and the name of its codec; nil of one that was a value.
        public let payloadBytes: Int?
        /// The name of the payload's codec, where it came as bytes.
        public let codec: String?
    }

    private struct Log {
        var records: [Record] = []
        var recorded: UInt64 = 0
    }

    /// The transport through which everything goes.
    public let wrapped: any SessionSyncTransport
    /// Records that are kept; the oldest make room.
    public let recordLimit: Int
    private let now: @Sendable () -> Date
    private let log = Locked(Log())
    private let topic: Topic<SessionDiagnosticEvent>
    private let inbox = TransportInbox()
    private let listeners = OwnedTasks()

    /// - Parameters:
    ///   - topic: where events go too, such as the bus topic `.diagnostics`; by default a topic of its own.
    ///   - now: the wall clock of the records; tests pass their own.
    public init(
        wrapping wrapped: any SessionSyncTransport, topic: Topic<SessionDiagnosticEvent>? = nil,
        recordLimit: Int = 10_000, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        precondition(recordLimit > 0, "a recorder needs room for one record")
        self.wrapped = wrapped
        self.recordLimit = recordLimit
        self.now = now
        self.topic = topic ?? Topic(bufferLimit: 1024)
        listen()
    }

    /// The newest records, oldest first.
    public var records: [Record] { log.withLock { $0.records.suffix(recordLimit) } }

    /// How many events have been recorded, forgotten ones included.
    public var recordedCount: UInt64 { log.withLock { $0.recorded } }

    /// Those with a higher number, oldest first, as far as they are kept. O(records kept).
    public func records(after number: UInt64) -> [Record] { log.withLock { $0.records.filter { $0.number > number } } }

    /// What is kept, as a recording: `jsonLines` is a file to hand on, which `mesh inspect` shows.
    public var recording: DiagnosticsRecording {
        DiagnosticsRecording(entries: records.map { DiagnosticsEntry($0, of: localPeer.id) })
    }

    /// Events from now on, as an independent stream; the oldest of 1024 waiting events make room.
    public func events() -> AsyncStream<SessionDiagnosticEvent> { topic.subscribe() }

    private func record(_ event: SessionDiagnosticEvent, _ payload: EncodedPayload? = nil) {
        let moment = now()
        log.withLock { log in
            log.recorded += 1
            log.records.append(
                Record(
                    number: log.recorded, at: moment, event: event, payloadBytes: payload?.bytes.count,
                    codec: payload?.codec.id.name))
            // Trimmed by halves, so that recording stays O(1).
            if log.records.count >= recordLimit * 2 { log.records.removeFirst(log.records.count - recordLimit) }
            topic.publish(event)
        }
    }

    private func listen() {
        let envelopes = wrapped.receiveEnvelopes()
        let snapshots = wrapped.receiveSnapshots()
        let requests = wrapped.receiveSnapshotRequests()
        let reachability = wrapped.reachabilityChanges()
        listeners.hold([
            Task { [weak self] in for await envelope in envelopes { self?.pass(envelope) } },
            Task { [weak self] in for await snapshot in snapshots { self?.pass(snapshot) } },
            Task { [weak self] in for await request in requests { self?.pass(request) } },
            Task { [weak self] in for await change in reachability { self?.pass(change) } },
        ])
    }

    private func pass(_ envelope: AnySessionSyncEnvelope) {
        // What is bytes already asks no codec.
        let payload = envelope.encodedByteCount == nil ? nil : try? envelope.encodedPayload(with: NoCodec())
        record(.envelopeReceived(envelope.metadata), payload)
        inbox.deliver(envelope)
    }

    private func pass(_ snapshot: AnySessionSyncSnapshot) {
        let state = snapshot.encodedByteCount == nil ? nil : try? snapshot.encodedState(with: NoCodec())
        record(.snapshotReceived(snapshot.metadata, revision: snapshot.revision), state)
        inbox.deliver(snapshot)
    }

    private func pass(_ request: SessionSnapshotRequest) {
        record(.snapshotRequestReceived(peerID: request.requester?.id))
        inbox.deliver(request)
    }

    private func pass(_ change: SessionPeerReachability) {
        record(.reachabilityChanged(peerID: change.peer?.id, isReachable: change.isReachable))
        inbox.deliver(change)
    }
}

// MARK: - SessionSyncTransport

extension DiagnosticsSession {
    public var localPeer: SessionPeer { wrapped.localPeer }
    public var knownPeers: [SessionPeer] { wrapped.knownPeers }
    public var capabilities: SessionTransportCapabilities { wrapped.capabilities }

    public func send(
        _ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try await recording(.envelopeSent(envelope.metadata, mode: mode, peerID: peer?.id), envelope.metadata, mode) {
            try await wrapped.send(envelope, mode: mode, to: peer)
        }
    }

    public func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        let sent = SessionDiagnosticEvent.snapshotSent(
            snapshot.metadata, revision: snapshot.revision, mode: mode, peerID: peer?.id)
        try await recording(sent, snapshot.metadata, mode) {
            try await wrapped.sendSnapshot(snapshot, mode: mode, to: peer)
        }
    }

    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try await recording(.snapshotRequestSent(peerID: peer?.id), nil, .snapshotRequest) {
            try await wrapped.requestSnapshot(sessionID: sessionID, from: peer)
        }
    }

    @discardableResult
    public func cancel(eventID: UUID, featureID: String) -> Bool {
        wrapped.cancel(eventID: eventID, featureID: featureID)
    }

    public func admitGuests(_ peerIDs: Set<String>, toSession sessionID: UUID, featureID: String) {
        wrapped.admitGuests(peerIDs, toSession: sessionID, featureID: featureID)
    }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { inbox.receiveEnvelopes() }
    public func receiveEnvelopeBatches() -> AsyncStream<[AnySessionSyncEnvelope]> { inbox.receiveEnvelopeBatches() }
    public func receiveEnvelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> AsyncStream<[AnySessionSyncEnvelope]> {
        inbox.receiveEnvelopeBatches(where: isWanted)
    }
    public func envelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> EnvelopeBatches {
        inbox.envelopeBatches(where: isWanted)
    }
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> { inbox.receiveSnapshots() }
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { inbox.receiveSnapshotRequests() }
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> { inbox.reachabilityChanges() }

    public func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        wrapped.latestPeerSnapshot(featureID: featureID)
    }

    /// Closes the wrapped transport and ends the streams after what it had received.
    public func close() async {
        await wrapped.close()
        await listeners.finished()
        inbox.close()
    }

    private func recording(
        _ sent: SessionDiagnosticEvent, _ metadata: SessionSyncMetadata?, _ mode: SessionDeliveryMode,
        _ send: () async throws -> Void
    ) async throws {
        do {
            try await send()
            record(sent)
        } catch {
            record(.sendFailed(metadata, mode: mode, reason: "\(error)"))
            throw error
        }
    }
}

/// Writes nothing: what is a value within one process has no bytes.
private struct NoCodec: PayloadCodec {
    let id = PayloadCodecID(number: 0, name: "none")

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { throw CancellationError() }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        throw CancellationError()
    }
}
