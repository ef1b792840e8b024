import Foundation
import MeshBase
import MeshIdentity
import MeshTransport

/// The records of a `DiagnosticsSession`. Streams retain the log, not the session, so the app decides when a session ends.
final class RecordLog: Sendable {
    fileprivate struct State {
        var records: [DiagnosticsSession.Record] = []
        var byteCount = 0
        var recordedCount: UInt64 = 0
        var readerCount = 0
        /// The first reader of each of the newest `eventsMax` events.
        var firstReaders: [UUID: Int] = [:]
        /// The keys of `firstReaders`, as a ring buffer.
        var events: [UUID] = []
        var oldest = 0
        var payloads: [PayloadName: RecordedPayload] = [:]
    }

    fileprivate struct PayloadName: Hashable {
        let featureID: String
        let type: String

        init(_ featureID: String, _ type: String) { (self.featureID, self.type) = (featureID, type) }
        init(_ metadata: SessionSyncMetadata) { self.init(metadata.featureID, metadata.payloadType) }
    }

    /// Converts payloads of one type to text.
    fileprivate struct RecordedPayload {
        let event: @Sendable (AnySessionSyncEnvelope) -> String?
        let state: @Sendable (AnySessionSyncSnapshot) -> String?
    }

    /// Maximum number of events whose first reader is remembered. If a reader lags behind another by more events than
    /// this, events are recorded twice. A subscriber of a `TransportInbox` can't lag that far.
    static let eventsMax = 8192

    /// Maximum number of bytes of names and payloads in the records. Beyond it the oldest records are dropped.
    static let bytesMax = 64 << 20

    let limit: Int
    let topic: Topic<SessionDiagnosticEvent>
    private let now: @Sendable () -> Date
    private let state = Locked(State())

    init(limit: Int, topic: Topic<SessionDiagnosticEvent>, now: @escaping @Sendable () -> Date) {
        self.limit = limit
        self.topic = topic
        self.now = now
    }

    var records: [DiagnosticsSession.Record] { state.withLock { $0.records.suffix(limit) } }
    var recordedCount: UInt64 { state.withLock { $0.recordedCount } }

    /// Returns the number that identifies a subscription to envelopes.
    func newReader() -> Int {
        state.withLock { state in
            state.readerCount += 1
            return state.readerCount
        }
    }

    func recordPayloads<Payload: Codable & Sendable>(
        of type: Payload.Type, _ featureID: String, _ payloadType: String, redacting types: RecordedJSON.RedactedTypes
    ) {
        let text = { @Sendable (payload: Payload) in
            RecordedJSON.text(of: payload, redacting: types, bytesMax: DiagnosticsSession.payloadBytesMax)
        }
        let payload = RecordedPayload(
            event: { (try? $0.decodePayload(as: type)).flatMap(text) },
            state: { (try? $0.decodeState(as: type)).flatMap(text) })
        state.withLock { $0.payloads[PayloadName(featureID, payloadType)] = payload }
    }

    /// Returns the payloads as JSON texts, with nil for each type that isn't recorded. Doesn't hold the lock while it
    /// calls the app's `Codable` code.
    func payloads(of envelopes: some Sequence<AnySessionSyncEnvelope>) -> [String?] {
        let known = state.withLock { $0.payloads }
        return envelopes.map { known.isEmpty ? nil : known[PayloadName($0.metadata)]?.event($0) }
    }

    func payload(of snapshot: AnySessionSyncSnapshot) -> String? {
        state.withLock { $0.payloads[PayloadName(snapshot.metadata)] }?.state(snapshot)
    }

    func record(_ event: SessionDiagnosticEvent, _ bytes: EncodedPayload? = nil, payload: String? = nil) {
        let moment = now()
        state.withLock { append(event, bytes, payload, at: moment, to: &$0) }
    }

    func noteSent(
        _ envelopes: some Sequence<AnySessionSyncEnvelope>, _ mode: SessionDeliveryMode, _ peer: SessionPeer?
    ) {
        let moment = now()
        let payloads = payloads(of: envelopes)
        state.withLock { state in
            for (envelope, payload) in zip(envelopes, payloads) {
                append(
                    .envelopeSent(envelope.metadata, mode: mode, peerID: peer?.id), nil, payload, at: moment, to: &state
                )
            }
        }
    }

    /// Records the envelopes that no other reader has taken before. Several readers may get the same ones.
    func noteReceived(_ envelopes: [AnySessionSyncEnvelope], by reader: Int) {
        let moment = now()
        let new = state.withLock { state in envelopes.filter { state.isFirst(reader, of: $0.metadata.eventID) } }
        let payloads = payloads(of: new)
        state.withLock { state in
            for (envelope, payload) in zip(new, payloads) {
                // An encoded payload needs no codec.
                let bytes = envelope.encodedByteCount == nil ? nil : try? envelope.encodedPayload(with: NoCodec())
                append(.envelopeReceived(envelope.metadata), bytes, payload, at: moment, to: &state)
            }
        }
    }

    func noteReceived(_ snapshot: AnySessionSyncSnapshot) {
        let bytes = snapshot.encodedByteCount == nil ? nil : try? snapshot.encodedState(with: NoCodec())
        record(
            .snapshotReceived(snapshot.metadata, revision: snapshot.revision), bytes, payload: payload(of: snapshot))
    }

    private func append(
        _ event: SessionDiagnosticEvent, _ bytes: EncodedPayload?, _ payload: String?, at moment: Date,
        to state: inout State
    ) {
        state.recordedCount += 1
        let record = DiagnosticsSession.Record(
            number: state.recordedCount, at: moment, event: event, payloadBytes: bytes?.bytes.count,
            codec: bytes?.codec.id.name, payload: payload)
        state.records.append(record)
        state.byteCount += record.byteCount
        if state.records.count >= limit * 2 || state.byteCount > Self.bytesMax { state.trim(to: limit) }
        topic.publish(event)
    }
}

extension DiagnosticsSession.Record {
    /// Number of bytes of names and the payload.
    fileprivate var byteCount: Int {
        let names =
            switch event {
            case .envelopeSent(let metadata, _, _), .envelopeReceived(let metadata),
                .snapshotSent(let metadata, _, _, _),
                .snapshotReceived(let metadata, _), .acknowledged(let metadata, _):
                metadata.featureID.utf8.count + metadata.sourcePeerID.utf8.count + metadata.payloadType.utf8.count
            default: event.description.utf8.count
            }
        return names + (payload?.utf8.count ?? 0)
    }
}

extension RecordLog.State {
    /// Drops half of the records, or a quarter of the bytes, so that recording is O(1) on average.
    fileprivate mutating func trim(to limit: Int) {
        var excess = records.count >= limit * 2 ? records.count - limit : 0
        var left = byteCount - records.prefix(excess).reduce(0) { $0 + $1.byteCount }
        if left > RecordLog.bytesMax {
            while left > RecordLog.bytesMax / 4 * 3, excess < records.count - 1 {
                left -= records[excess].byteCount
                excess += 1
            }
        }
        records.removeFirst(excess)
        byteCount = left
    }

    fileprivate mutating func isFirst(_ reader: Int, of event: UUID) -> Bool {
        if let first = firstReaders[event] { return first == reader }
        if events.count < RecordLog.eventsMax {
            events.append(event)
        } else {
            firstReaders[events[oldest]] = nil
            events[oldest] = event
            oldest = (oldest + 1) % events.count
        }
        firstReaders[event] = reader
        return true
    }
}

/// A codec that throws. An encoded payload needs no codec, and a value that stays within one process has no bytes.
private struct NoCodec: PayloadCodec {
    let id = PayloadCodecID(number: 0, name: "none")

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { throw CancellationError() }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        throw CancellationError()
    }
}
