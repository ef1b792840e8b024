package import MeshFoundation
package import MeshIdentity

/// Everything of an engine that outlives the process; the rest follows from it or is asked for again.
public struct SessionEngineImage<State: Codable & Sendable, Event: Codable & Sendable>: Sendable, Codable {
    /// What may change with each call.
    package var head: SessionEngineHead<Event>
    /// The folded prefix.
    package var base: SessionBase<State>
    /// Everything held above the base, in order.
    package var log: [SessionRecord<Event>]

    /// Parts of one engine at one moment. `SessionSyncEngine` checks them when it is restored.
    package init(head: SessionEngineHead<Event>, base: SessionBase<State>, log: [SessionRecord<Event>]) {
        self.head = head
        self.base = base
        self.log = log
    }
}

/// The small part of an engine's image, of which anything may change with a call.
public struct SessionEngineHead<Event: Codable & Sendable>: Sendable, Codable {
    /// The session.
    package var sessionID: UUID
    /// The feature.
    package var featureID: String
    /// The type of its events' payloads.
    package var payloadType: String
    /// The type of its snapshots' payloads.
    package var snapshotPayloadType: String
    /// The store that this is the image of.
    package var source: SessionSource
    /// The last sequence that this store has given.
    package var sequence: UInt64
    /// The hybrid clock of the store.
    package var clock: HybridTimestamp
    /// No promise beyond it has been sent; a relaunch starts its clock here.
    package var clockLease: HybridTimestamp
    /// The group's name; nil before the engine is in one.
    package var group: SessionSource?
    /// Whether the store takes over no copy of another group any more.
    package var isSealed: Bool
    /// Whether the session is over.
    package var hasEnded: Bool
    /// Who is in the group.
    package var membership: SessionMembership
    /// How many records of the log are confirmed.
    package var settledCount: Int
    /// Below this stamp the order of what the log holds is settled.
    package var cut: HybridTimestamp
    /// Everything up to here is held without a gap.
    package var held: SequenceVector
    /// What each source has promised.
    package var promises: [SourcePromises]
    /// What each source has acknowledged.
    package var acknowledgements: [SourceAcknowledgements]
    /// The fingerprint of the confirmed events.
    package var chain: ConfirmationChain
    /// Confirmed events whose side effects have not been marked as done.
    package var sideEffectsDue: [SessionConfirmedRecord<Event>]
    /// The last revision that was given to a snapshot or seen on one.
    package var snapshotRevision: UInt64
    /// Open members that are known to have forked: until they are replaced nothing is confirmed.
    package var forked: [SessionSource]
    /// Members that know of the end; nil before it.
    package var endedMembers: [SessionSource]?
    /// Where this member stands between views; nil while the group has never changed.
    package var view: ViewStatement?
    /// The group that has gone on without this source.
    package var home: SessionSource?
    /// Peers that may join.
    package var invited: [String]?
    /// Names under which events were issued again; nil where none was.
    package var reissues: [SessionReissue]?

    /// The promises of one source.
    public struct SourcePromises: Hashable, Sendable, Codable {
        /// Whose they are.
        package var source: SessionSource
        /// The highest stamp of a promise of which all events are held.
        package var usable: HybridTimestamp
        /// Promises that count once more events have come.
        package var pending: [SequencePromise]
    }

    /// What one source holds of each other.
    public struct SourceAcknowledgements: Hashable, Sendable, Codable {
        /// Whose word it is.
        package var source: SessionSource
        /// Everything up to here is held by it without a gap.
        package var held: SequenceVector
        /// The stamp of the latest message that said so.
        package var saidAt: HybridTimestamp
    }
}

/// A confirmed event and its place.
public struct SessionConfirmedRecord<Event: Codable & Sendable>: Sendable, Codable {
    /// Counts all confirmed entries of the group from 0.
    package var position: UInt64
    /// The event as the log holds it.
    package var record: SessionRecord<Event>
    /// What it did at its place.
    package var outcome: SessionEventOutcome

    /// A record at its place in the confirmed order.
    package init(position: UInt64, record: SessionRecord<Event>, outcome: SessionEventOutcome) {
        self.position = position
        self.record = record
        self.outcome = outcome
    }
}
