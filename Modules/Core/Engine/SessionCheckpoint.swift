public import MeshFoundation
public import MeshIdentity

/// State and everything that is a function of the same prefix of the order.
public struct ReducedState<State: Sendable>: Sendable {
    /// What the reducer has made of the prefix.
    @usableFromInline package var state: State
    /// The last event that had an effect.
    @usableFromInline package var lastAppliedMetadata: SessionSyncMetadata?
    /// The last explicit event ids in the order, newest last: an id that comes again has no effect.
    @usableFromInline package var recentEventIDs: [UUID]

    /// The state before the first event, unless told more.
    package init(state: State, lastAppliedMetadata: SessionSyncMetadata? = nil, recentEventIDs: [UUID] = []) {
        self.state = state
        self.lastAppliedMetadata = lastAppliedMetadata
        self.recentEventIDs = recentEventIDs
    }
}

extension ReducedState: Codable where State: Codable {}

/// A prefix of the order, folded: the state that results and how far it goes.
public struct SessionBase<State: Codable & Sendable>: Sendable, Codable {
    /// What the folded events have led to.
    package var reduced: ReducedState<State>
    /// How far the base goes with each source.
    package var vector: SequenceVector
    /// How many events it includes.
    package var count: UInt64

    /// Parts that describe one prefix: nothing is checked here, but when an engine takes it over.
    package init(reduced: ReducedState<State>, vector: SequenceVector, count: UInt64) {
        self.reduced = reduced
        self.vector = vector
        self.count = count
    }
}

/// Who is in the group, who was, and from where on.
public struct SessionMembership: Hashable, Sendable, Codable {
    /// Open members and the stamp at or below which each has authored nothing; zero for who founded.
    package var open: [Member]
    /// Sources that lost their store or were let go, with the last sequence that counts.
    package var closed: [SourceSequence]
    /// The first sequence of each source that does not begin at 1.
    package var first: [SourceSequence]

    /// Maximum number of open members. An engine refuses a record with more, and a full group takes in no newcomer.
    package static let openMax = 16

    /// A source that may author events.
    public struct Member: Hashable, Sendable, Codable {
        /// Whose events are taken.
        package var source: SessionSource
        /// At or below this stamp it has authored nothing; zero for those who founded the group.
        package var floor: HybridTimestamp
        /// The view by which it became a member; nil for those of the first.
        package var joined: UInt64?

        /// A member from `floor` on.
        package init(source: SessionSource, floor: HybridTimestamp = .zero, joined: UInt64? = nil) {
            self.source = source
            self.floor = floor
            self.joined = joined
        }
    }

    /// Nobody, unless told otherwise.
    package init(open: [Member] = [], closed: [SourceSequence] = [], first: [SourceSequence] = []) {
        self.open = open
        self.closed = closed
        self.first = first
    }
}

/// All of a session for a newcomer: base, log and members. Travels beside the state of a snapshot.
public struct SessionCheckpoint<State: Codable & Sendable, Event: Codable & Sendable>: Sendable, Codable {
    /// What every message of the sender says.
    package var control: SessionControl
    /// Who is in the group.
    package var membership: SessionMembership
    /// The folded prefix.
    package var base: SessionBase<State>
    /// Everything held above the base, in order.
    package var log: [SessionRecord<Event>]
    /// How many records of the log are confirmed.
    package var settledCount: Int
    /// Below this stamp the order of what the log holds is settled.
    package var cut: HybridTimestamp
    /// The fingerprint of the confirmed events, for comparison with others.
    package var chain: ConfirmationChain

    /// Parts of one engine at one moment. An engine checks them when it takes the copy over.
    package init(
        control: SessionControl, membership: SessionMembership, base: SessionBase<State>, log: [SessionRecord<Event>],
        settledCount: Int, cut: HybridTimestamp, chain: ConfirmationChain
    ) {
        self.control = control
        self.membership = membership
        self.base = base
        self.log = log
        self.settledCount = settledCount
        self.cut = cut
        self.chain = chain
    }
}
