public import Foundation
public import MeshBase
public import MeshIdentity
public import MeshTransport

/// A transport that records all traffic of the transport that it wraps.
///
/// ```swift
/// let recorder = DiagnosticsSession(wrapping: transport)
/// let game = SharedSession(Score(), over: recorder)
/// game.send(.home)
/// try recorder.recording.jsonLines.write(to: folder.appendingPathComponent("game.jsonl"))    // for `mesh inspect`
/// ```
///
/// Use it wherever a transport is expected. The newest `recordLimit` records are kept, and `events` passes on every one.
/// An envelope is recorded when its first subscriber takes it. Recording neither delays nor drops envelopes, because the
/// subscriptions are those of the wrapped transport.
/// Safe to use from any thread.
public final class DiagnosticsSession: TransportWrapper {
    /// A recorded event with its time.
    public struct Record: Sendable {
        /// The number of the record. Counts from 1 and includes records that were dropped.
        public let number: UInt64
        /// The time of the event, by the clock that the session was given.
        public let at: Date
        /// The event that was recorded.
        public let event: SessionDiagnosticEvent
        /// The number of bytes of the payload; nil if it wasn't encoded.
        public let payloadBytes: Int?
        /// The name of the payload's codec; nil if it wasn't encoded.
        public let codec: String?
        /// The payload as JSON text, if `recordPayloads` was called for its type.
        public let payload: String?
    }

    /// Maximum number of bytes of names and values in the JSON text of one payload. "…" replaces the rest.
    public static let payloadBytesMax = 4_096

    /// The transport whose traffic is recorded.
    public let wrapped: any SessionSyncTransport
    /// Maximum number of records that are kept. The oldest are dropped first.
    public var recordLimit: Int { log.limit }
    private let log: RecordLog
    private let listeners = OwnedTasks()

    /// Creates a transport that records everything that passes through another one.
    ///
    /// - Parameters:
    ///   - topic: the topic that gets all events, such as the bus topic `.diagnostics`; by default a new one.
    ///   - now: the wall clock of the records. Tests pass their own.
    public init(
        wrapping wrapped: any SessionSyncTransport, topic: Topic<SessionDiagnosticEvent>? = nil,
        recordLimit: Int = 10_000, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        precondition(recordLimit > 0, "recordLimit must be at least 1")
        self.wrapped = wrapped
        log = RecordLog(limit: recordLimit, topic: topic ?? Topic(bufferLimit: 1024), now: now)
        listen()
    }

    /// Records payloads of one type as JSON text from now on. By default, a recording has events without their payloads.
    ///
    /// ```swift
    /// diagnostics.recordPayloads(of: WorkoutEvent.self, featureID: "workout", redacting: [HeartRate.self])
    /// ```
    ///
    /// Costs the encoding of each such payload, on the task that sends or receives it.
    /// - Parameters:
    ///   - type: The type of the session's events or of its state.
    ///   - payloadType: The name that the session gives the type; the feature's ID followed by ".event" if nil.
    ///   - redactedTypes: Types whose values never reach the recording, wherever a payload contains them. If a type's
    ///     own `encode(to:)` writes a secret as a plain number or string, redact that whole type.
    public func recordPayloads<Payload: Codable & Sendable>(
        of type: Payload.Type, featureID: String, payloadType: String? = nil,
        redacting redactedTypes: [any Encodable.Type] = []
    ) {
        log.recordPayloads(
            of: type, featureID, payloadType ?? "\(featureID).event",
            redacting: RecordedJSON.RedactedTypes(redactedTypes))
    }

    /// The newest records, oldest first.
    public var records: [Record] { log.records }

    /// The number of events recorded so far, including those that are no longer kept.
    public var recordedCount: UInt64 { log.recordedCount }

    /// Returns the kept records with a higher number, oldest first. Complexity: O(records kept).
    public func records(after number: UInt64) -> [Record] { log.records.filter { $0.number > number } }

    /// The kept records as a recording. Write its `jsonLines` to a file to show it with `mesh inspect`.
    public var recording: DiagnosticsRecording {
        DiagnosticsRecording(entries: records.map { DiagnosticsEntry($0, of: localPeer.id) })
    }

    /// Returns an independent stream of the events from now on. It buffers the newest 1024 events.
    public func events() -> AsyncStream<SessionDiagnosticEvent> { log.topic.subscribe() }

    /// Subscribes to the streams of the wrapped transport that an additional subscriber doesn't slow down.
    private func listen() {
        let snapshots = wrapped.receiveSnapshots()
        let requests = wrapped.receiveSnapshotRequests()
        let reachability = wrapped.reachabilityChanges()
        listeners.hold([
            Task { [log] in for await snapshot in snapshots { log.noteReceived(snapshot) } },
            Task { [log] in
                for await request in requests {
                    log.record(.snapshotRequestReceived(peerID: request.requester?.id))
                }
            },
            Task { [log] in
                for await change in reachability {
                    log.record(.reachabilityChanged(peerID: change.peer?.id, isReachable: change.isReachable))
                }
            },
        ])
    }
}

// MARK: - SessionSyncTransport

extension DiagnosticsSession {
    public func send(
        _ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try await recordingFailure(envelope.metadata, mode, log.payloads(of: [envelope]).first ?? nil) {
            try await wrapped.send(envelope, mode: mode, to: peer)
            log.noteSent([envelope], mode, peer)
        }
    }

    public func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        do {
            try await wrapped.send(envelopes, mode: mode, to: peer, isolation: isolation)
            log.noteSent(envelopes, mode, peer)
        } catch {
            log.record(
                .sendFailed(envelopes.first?.metadata, mode: mode, reason: "\(error)"),
                payload: log.payloads(of: envelopes.prefix(1)).first ?? nil)
            throw error
        }
    }

    public func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        try await recordingFailure(snapshot.metadata, mode) {
            try await wrapped.sendSnapshot(snapshot, mode: mode, to: peer)
            log.record(
                .snapshotSent(snapshot.metadata, revision: snapshot.revision, mode: mode, peerID: peer?.id),
                payload: log.payload(of: snapshot))
        }
    }

    public func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        try await recordingFailure(nil, .snapshotRequest) {
            try await wrapped.requestSnapshot(sessionID: sessionID, from: peer)
            log.record(.snapshotRequestSent(peerID: peer?.id))
        }
    }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> {
        let (envelopes, reader) = (wrapped.receiveEnvelopes(), log.newReader())
        return AsyncStream { [log] in
            let envelope = await envelopes.first { _ in true }
            if let envelope { log.noteReceived([envelope], by: reader) }
            return envelope
        }
    }

    public func envelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> EnvelopeBatches {
        let (batches, reader) = (wrapped.envelopeBatches(where: isWanted), log.newReader())
        return EnvelopeBatches { [log] isolation in
            let batch = await batches.next(isolation: isolation)
            if let batch { log.noteReceived(batch, by: reader) }
            return batch
        }
    }

    /// Closes the wrapped transport. Returns once everything that it received, except for envelopes, is recorded.
    public func close() async {
        await wrapped.close()
        await listeners.finished()
    }

    private func recordingFailure(
        _ metadata: SessionSyncMetadata?, _ mode: SessionDeliveryMode, _ payload: @autoclosure () -> String? = nil,
        _ send: () async throws -> Void
    ) async throws {
        do { try await send() } catch {
            log.record(.sendFailed(metadata, mode: mode, reason: "\(error)"), payload: payload())
            throw error
        }
    }
}
