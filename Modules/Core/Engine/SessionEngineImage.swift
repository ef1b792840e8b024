public import MeshFoundation
public import MeshIdentity

/// Everything of an engine that outlives the process; the rest follows from it or is asked for again.
public struct SessionEngineImage<State: Codable & Sendable, Event: Codable & Sendable>: Sendable, Codable {
    /// What may change with each call.
    public var head: SessionEngineHead<Event>
    /// The folded prefix.
    public var base: SessionBase<State>
    /// Everything held above the base, in order.
    public var log: [SessionRecord<Event>]

    /// Parts of one engine at one moment. `SessionSyncEngine` checks them when it is restored.
    public init(head: SessionEngineHead<Event>, base: SessionBase<State>, log: [SessionRecord<Event>]) {
        self.head = head
        self.base = base
        self.log = log
    }
}

/// The small part of an engine's image, of which anything may change with a call.
public struct SessionEngineHead<Event: Codable & Sendable>: Sendable, Codable {
    /// The session.
    public var sessionID: UUID
    /// The feature.
    public var featureID: String
    /// The type of its events' payloads.
    public var payloadType: String
    /// The type of its snapshots' payloads.
    public var snapshotPayloadType: String
    /// The store that this is the image of.
    public var source: SessionSource
    /// The last sequence that this store has given.
    public var sequence: UInt64
    /// The hybrid clock of the store.
    public var clock: HybridTimestamp
    /// No promise beyond it has been sent; a relaunch starts its clock here.
    public var clockLease: HybridTimestamp
    /// The group's name; nil before the engine is in one.
    public var group: SessionSource?
    /// Whether the store takes over no copy of another group any more.
    public var isSealed: Bool
    /// Whether the session is over.
    public var hasEnded: Bool
    /// Who is in the group.
    public var membership: SessionMembership
    /// How many records of the log are confirmed.
    public var settledCount: Int
    /// Below this stamp the order of what the log holds is settled.
    public var cut: HybridTimestamp
    /// Everything up to here is held without a gap.
    public var held: SequenceVector
    /// What each source has promised.
    public var promises: [SourcePromises]
    /// What each source has acknowledged.
    public var acknowledgements: [SourceAcknowledgements]
    /// The fingerprint of the confirmed events.
    public var chain: ConfirmationChain
    /// Confirmed events whose side effects have not been marked as done.
    public var sideEffectsDue: [SessionConfirmedRecord<Event>]
    /// The last revision that was given to a snapshot or seen on one.
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
    /// Names under which events were issued again; nil where none was.
    package var reissues: [SessionReissue]?

    /// The promises of one source.
    public struct SourcePromises: Hashable, Sendable, Codable {
        /// Whose they are.
        public var source: SessionSource
        /// The highest stamp of a promise of which all events are held.
        public var usable: HybridTimestamp
        /// Promises that count once more events have come.
        public var pending: [SequencePromise]
    }

    /// What one source holds of each other.
    public struct SourceAcknowledgements: Hashable, Sendable, Codable {
        /// Whose word it is.
        public var source: SessionSource
        /// Everything up to here is held by it without a gap.
        public var held: SequenceVector
        /// The stamp of the latest message that said so.
        public var saidAt: HybridTimestamp
    }
}

/// A confirmed event and its place.
public struct SessionConfirmedRecord<Event: Codable & Sendable>: Sendable, Codable {
    /// Counts all confirmed entries of the group from 0.
    public var position: UInt64
    /// The event as the log holds it.
    public var record: SessionRecord<Event>
    /// What it did at its place.
    public var outcome: SessionEventOutcome

    /// A record at its place in the confirmed order.
    public init(position: UInt64, record: SessionRecord<Event>, outcome: SessionEventOutcome) {
        self.position = position
        self.record = record
        self.outcome = outcome
    }
}
