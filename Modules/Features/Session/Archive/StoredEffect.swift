import MeshEngine
import MeshIdentity
import MeshWire

/// A confirmed event with a due side effect, as stored in the journal of effects.
struct StoredEffect: WireCodable {
    enum WireKeys: Int, CodingKey {
        case position = 1
        case source, sequence, outcome, record
    }

    var position: UInt64
    /// The index of the event's source in the head's list.
    var source: UInt64
    var sequence: UInt64
    var outcome: UInt8
    var record: StoredRecord

    func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(position, .position)
        fields.write(source, .source)
        fields.write(sequence, .sequence)
        fields.write(outcome, .outcome)
        fields.write(record, .record)
    }

    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        position = try fields.read(.position)
        source = try fields.read(.source)
        sequence = try fields.read(.sequence)
        outcome = try fields.read(.outcome)
        record = try fields.read(.record)
    }

    init<Event: Codable & Sendable>(
        _ effect: SessionConfirmedRecord<Event>, source: Int, _ codec: CompactCodec
    ) throws {
        position = effect.position
        self.source = UInt64(source)
        sequence = effect.record.sequence
        outcome = effect.outcome.rawValue
        record = try StoredRecord(effect.record, codec)
    }

    /// Returns the confirmed event. Throws `WireError` for an unlisted source or outcome, and the record's errors.
    func effect<Event: Codable & Sendable>(
        of sources: [SessionSource], _ codec: CompactCodec
    ) throws -> SessionConfirmedRecord<Event> {
        guard let number = Int(exactly: source), sources.indices.contains(number),
            let outcome = SessionEventOutcome(rawValue: outcome)
        else { throw WireError(.missingField, "a stored effect without source or outcome") }
        return SessionConfirmedRecord(
            position: position, record: try record.record(of: sources[number], sequence: sequence, codec),
            outcome: outcome)
    }
}
