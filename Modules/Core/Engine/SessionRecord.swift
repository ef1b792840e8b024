public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One entry of the log outside the engine: in a store, or in a copy for a newcomer.
public struct SessionRecord<Event: Sendable>: Sendable {
    public enum Content: Sendable {
        case event(Event)
        /// An event that the writer could not read: its bytes, the codec's number and the payload type.
        indirect case opaque(bytes: [UInt8], codec: UInt8, payloadType: String)
        /// `old` has lost its store; `new` follows it, from `final` on.
        indirect case replacement(SessionReplacement)
    }

    public var source: SessionSource
    public var sequence: UInt64
    public var stamp: HybridTimestamp
    public var causalTimestamp: Date
    public var monotonicTimestamp: TimeInterval?
    /// nil when the id follows from the other fields.
    public var eventID: UUID?
    public var content: Content

    public init(
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
    public var old: SessionSource
    public var new: SessionSource
    /// The last sequence of `old` that the survivor holds; nothing beyond it is taken any more.
    public var final: UInt64

    public init(old: SessionSource, new: SessionSource, final: UInt64) {
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
