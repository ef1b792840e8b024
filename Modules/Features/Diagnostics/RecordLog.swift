import Foundation
import MeshBase
import MeshIdentity
import MeshTransport

/// The records of a `DiagnosticsSession`. Its streams hold the log and not the session, which ends when its app lets go of it.
final class RecordLog: Sendable {
    fileprivate struct State {
        var records: [DiagnosticsSession.Record] = []
        var recordedCount: UInt64 = 0
        var readerCount = 0
        /// The reader that took an event first, of the newest `eventsMax` events.
        var firstReaders: [UUID: Int] = [:]
        /// The keys of `firstReaders` in a ring.
        var events: [UUID] = []
        var oldest = 0
    }

    /// Maximum number of events of which the first reader is known. A reader that is further behind another one records events
    /// again; a subscriber of a `TransportInbox` can't be.
    static let eventsMax = 8192

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

    /// A number for a subscription to envelopes.
    func newReader() -> Int {
        state.withLock { state in
            state.readerCount += 1
            return state.readerCount
        }
    }

    func record(_ event: SessionDiagnosticEvent, _ payload: EncodedPayload? = nil) {
        let moment = now()
        state.withLock { append(event, payload, at: moment, to: &$0) }
    }

    func noteSent(
        _ envelopes: some Sequence<AnySessionSyncEnvelope>, _ mode: SessionDeliveryMode, _ peer: SessionPeer?
    ) {
        let moment = now()
        state.withLock { state in
            for envelope in envelopes {
                append(.envelopeSent(envelope.metadata, mode: mode, peerID: peer?.id), nil, at: moment, to: &state)
            }
        }
    }

    /// Records those that no other reader has taken before: several may want the same.
    func noteReceived(_ envelopes: [AnySessionSyncEnvelope], by reader: Int) {
        let moment = now()
        state.withLock { state in
            for envelope in envelopes where state.isFirst(reader, of: envelope.metadata.eventID) {
                // A payload that is bytes already asks no codec.
                let payload = envelope.encodedByteCount == nil ? nil : try? envelope.encodedPayload(with: NoCodec())
                append(.envelopeReceived(envelope.metadata), payload, at: moment, to: &state)
            }
        }
    }

    func noteReceived(_ snapshot: AnySessionSyncSnapshot) {
        let payload = snapshot.encodedByteCount == nil ? nil : try? snapshot.encodedState(with: NoCodec())
        record(.snapshotReceived(snapshot.metadata, revision: snapshot.revision), payload)
    }

    private func append(
        _ event: SessionDiagnosticEvent, _ payload: EncodedPayload?, at moment: Date, to state: inout State
    ) {
        state.recordedCount += 1
        state.records.append(
            DiagnosticsSession.Record(
                number: state.recordedCount, at: moment, event: event, payloadBytes: payload?.bytes.count,
                codec: payload?.codec.id.name))
        // Trimmed by halves, so that recording stays O(1).
        if state.records.count >= limit * 2 { state.records.removeFirst(state.records.count - limit) }
        topic.publish(event)
    }
}

extension RecordLog.State {
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

/// Writes nothing: what is a value within one process has no bytes.
private struct NoCodec: PayloadCodec {
    let id = PayloadCodecID(number: 0, name: "none")

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { throw CancellationError() }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        throw CancellationError()
    }
}
