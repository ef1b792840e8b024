package import MeshFoundation
package import MeshIdentity

/// One entry of the log outside the engine: in a store, or in a copy for a newcomer.
public struct SessionRecord<Event: Sendable>: Sendable {
    /// What the entry is.
    public enum Content: Sendable {
        /// An event of this version of the app.
        case event(Event)
        /// An event that the writer could not read: its bytes, the codec's number and the payload type.
        indirect case opaque(bytes: [UInt8], codec: UInt8, payloadType: String)
        /// `old` has lost its store; `new` follows it, from `final` on.
        indirect case replacement(SessionReplacement)
    }

    /// Who wrote it.
    package var source: SessionSource
    /// Its place in the source's sequence.
    package var sequence: UInt64
    /// Its place in the total order.
    package var stamp: HybridTimestamp
    /// The caller's own time: the moment of the tap.
    package var causalTimestamp: Date
    /// Seconds on the author's monotonic clock; nil when the author does not say.
    package var monotonicTimestamp: TimeInterval?
    /// nil when the id follows from the other fields.
    package var eventID: UUID?
    /// The event, or what stands for it.
    package var content: Content

    /// An entry as it is written. Nothing is checked here, but when an engine takes it.
    package init(
        source: SessionSource, sequence: UInt64, stamp: HybridTimestamp, causalTimestamp: Date,
        monotonicTimestamp: TimeInterval? = nil, eventID: UUID? = nil, content: Content
    ) {
        self.source = source
        self.sequence = sequence
        self.stamp = stamp
        self.causalTimestamp = causalTimestamp
        self.monotonicTimestamp = monotonicTimestamp
        self.eventID = eventID
        self.content = content
    }

    var place: SourceSequence { SourceSequence(source: source, sequence: sequence) }
}

/// The survivor's word on a member that lost its store.
public struct SessionReplacement: Hashable, Sendable, Codable {
    /// The member that has lost its store.
    package var old: SessionSource
    /// The member's new store.
    package var new: SessionSource
    /// The last sequence of `old` that the survivor holds; nothing beyond it is taken any more.
    package var final: UInt64

    /// To be authored by a member that holds the events of `old` up to `final`.
    package init(old: SessionSource, new: SessionSource, final: UInt64) {
        self.old = old
        self.new = new
        self.final = final
    }
}

extension SessionRecord: Equatable where Event: Equatable {}
extension SessionRecord.Content: Equatable where Event: Equatable {}
extension SessionRecord: Hashable where Event: Hashable {}
extension SessionRecord.Content: Hashable where Event: Hashable {}
extension SessionRecord: Decodable where Event: Decodable {}
extension SessionRecord.Content: Decodable where Event: Decodable {}
extension SessionRecord: Encodable where Event: Encodable {}
extension SessionRecord.Content: Encodable where Event: Encodable {}
