public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Everything of an engine that outlives the process; the rest follows from it or is asked for again.
public struct SessionEngineImage<State: Codable & Sendable, Event: Codable & Sendable>: Sendable, Codable {
    public var head: SessionEngineHead<Event>
    public var base: SessionBase<State>
    /// Everything held above the base, in order.
    public var log: [SessionRecord<Event>]

    public init(head: SessionEngineHead<Event>, base: SessionBase<State>, log: [SessionRecord<Event>]) {
        self.head = head
        self.base = base
        self.log = log
    }
}

/// The small part of an engine's image, of which anything may change with a call.
public struct SessionEngineHead<Event: Codable & Sendable>: Sendable, Codable {
    public var sessionID: UUID
    public var featureID: String
    public var payloadType: String
    public var snapshotPayloadType: String
    public var source: SessionSource
    public var sequence: UInt64
    public var clock: HybridTimestamp
    /// No promise beyond it has been sent; a relaunch starts its clock here.
    public var clockLease: HybridTimestamp
    public var group: SessionSource?
    public var isSealed: Bool
    public var hasEnded: Bool
    public var membership: SessionMembership
    /// How many records of the log are confirmed.
    public var settledCount: Int
    public var cut: HybridTimestamp
    public var held: SequenceVector
    public var promises: [SourcePromises]
    public var acknowledgements: [SourceAcknowledgements]
    public var chain: ConfirmationChain
    /// Confirmed events whose side effects have not been marked as done.
    public var sideEffectsDue: [SessionConfirmedRecord<Event>]
    public var snapshotRevision: UInt64
    /// Open members that are known to have forked: until they are replaced nothing is confirmed.
    public var forked: [SessionSource]
    /// Members that know of the end; nil before it.
    public var endedMembers: [SessionSource]?
    /// Where this member stands between views; nil while the group has never changed.
    public var view: ViewStatement?
    /// The group that has gone on without this source.
    public var home: SessionSource?
    /// Peers that may join.
    public var invited: [String]?

    public struct SourcePromises: Hashable, Sendable, Codable {
        public var source: SessionSource
        public var usable: HybridTimestamp
        public var pending: [SequencePromise]
    }

    public struct SourceAcknowledgements: Hashable, Sendable, Codable {
        public var source: SessionSource
        public var held: SequenceVector
        /// The stamp of the latest message that said so.
        public var saidAt: HybridTimestamp
    }
}

/// A confirmed event and its place.
public struct SessionConfirmedRecord<Event: Codable & Sendable>: Sendable, Codable {
    /// Counts all confirmed entries of the group from 0.
    public var position: UInt64
    public var record: SessionRecord<Event>
    public var outcome: SessionEventOutcome

    public init(position: UInt64, record: SessionRecord<Event>, outcome: SessionEventOutcome) {
        self.position = position
        self.record = record
        self.outcome = outcome
    }
}
