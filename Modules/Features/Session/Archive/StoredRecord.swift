import Foundation
import MeshEngine
import MeshIdentity
import MeshWire

/// A record as stored in a journal. The record omits its source, which the journal's number gives, and its sequence,
/// which is the entry's position.
struct StoredRecord: WireCodable {
    enum WireKeys: Int, CodingKey {
        case stamp = 1
        case causalTimestamp, monotonicTimestamp, eventID, event, opaque, codec, payloadType, replacement
    }

    var stamp: UInt64
    var causalTimestamp: Date
    var monotonicTimestamp: Double?
    var eventID: UUID?
    /// The encoded event. Exactly one of this, `opaque` (an undecoded event) and `replacement` (of a source) is set.
    var event: [UInt8]?
    var opaque: Opaque?
    var replacement: [UInt8]?

    struct Opaque {
        var bytes: [UInt8]
        var codec: UInt8
        var payloadType: String
    }

    func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(stamp, .stamp)
        fields.write(causalTimestamp, .causalTimestamp)
        fields.write(monotonicTimestamp, .monotonicTimestamp)
        fields.write(eventID, .eventID)
        fields.write(event, .event)
        fields.write(opaque?.bytes, .opaque)
        fields.write(opaque?.codec, .codec)
        fields.write(opaque?.payloadType, .payloadType)
        fields.write(replacement, .replacement)
    }

    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        stamp = try fields.read(.stamp)
        causalTimestamp = try fields.read(.causalTimestamp)
        monotonicTimestamp = try fields.read(.monotonicTimestamp)
        eventID = try fields.read(.eventID)
        event = try fields.read(.event)
        let bytes = try fields.read(.opaque, as: [UInt8]?.self)
        let codec = try fields.read(.codec, as: UInt8?.self)
        let payloadType = try fields.read(.payloadType, as: String?.self)
        if let bytes, let codec, let payloadType {
            opaque = Opaque(bytes: bytes, codec: codec, payloadType: payloadType)
        }
        replacement = try fields.read(.replacement)
    }

    /// Encodes a record. `encoded` has the event's bytes, if it was encoded already.
    init<Event: Codable & Sendable>(
        _ record: SessionRecord<Event>, _ codec: CompactCodec, encoded: [UInt8]? = nil
    ) throws {
        stamp = record.stamp.rawValue
        causalTimestamp = record.causalTimestamp
        monotonicTimestamp = record.monotonicTimestamp
        eventID = record.eventID
        switch record.content {
        case .event(let event): self.event = try encoded ?? codec.encode(event)
        case .opaque(let bytes, let codec, let payloadType):
            opaque = Opaque(bytes: bytes, codec: codec, payloadType: payloadType)
        case .replacement(let replacement): self.replacement = try codec.encode(replacement)
        }
    }

    func record<Event: Codable & Sendable>(
        of source: SessionSource, sequence: UInt64, _ codec: CompactCodec
    ) throws -> SessionRecord<Event> {
        SessionRecord(
            source: source, sequence: sequence, stamp: HybridTimestamp(rawValue: stamp),
            causalTimestamp: causalTimestamp, monotonicTimestamp: monotonicTimestamp, eventID: eventID,
            content: try content(codec))
    }

    private func content<Event: Codable & Sendable>(_ codec: CompactCodec) throws -> SessionRecord<Event>.Content {
        if let event {
            do { return .event(try codec.decode(Event.self, from: event)) } catch {
                throw UnreadableValue(Event.self, error, below: []) ?? error
            }
        }
        if let opaque {
            return .opaque(bytes: opaque.bytes, codec: opaque.codec, payloadType: opaque.payloadType)
        }
        guard let replacement else { throw WireError(.missingField, "a stored record without content") }
        return .replacement(try codec.decode(SessionReplacement.self, from: replacement))
    }
}

/// The layout version of a head. Decoded before the rest, so that a newer layout isn't mistaken for damage.
struct StoredLayout: Codable {
    /// Layout 3 has a group with views. Layout 2 has due side effects in their own journal. Layout 1 has them in the
    /// head, and is still written while there are none.
    static let current = 3

    var version = current
}

/// Everything of an engine that is neither base nor log, with the sources of the journals.
struct StoredHead<Event: Codable & Sendable>: Codable {
    var version: Int
    var head: SessionEngineHead<Event>
    var sources: [SessionSource]
}
