/// What engines tell each other beside events: what they hold, who is in the group, what is missing.
///
/// Travels as an envelope of `payloadType`, sequence 0, in the mode `.acknowledgement`; the envelope's metadata carries
/// the promise. No engine logs it, and peers without it still work by snapshots.
public struct SessionControl: Hashable, Sendable, Codable {
    /// `SessionSyncMetadata.payloadType` of the envelopes that carry controls.
    package static let payloadType = "sessionmesh.control"

    /// The group is named after the source that founded it; nil before there is one.
    package var group: SessionSource?
    /// The open members, as the sender knows them.
    package var members: [SessionSource]
    /// The sender's first sequence in the group; everything before it is void.
    package var firstSequence: UInt64
    /// Everything up to here is held without a gap, and stored: an acknowledgement.
    package var held: SequenceVector
    /// Fresh random numbers that the named sources are to return: proof that they live now.
    package var asks: [LivenessToken]
    /// Numbers returned to those who asked.
    package var echoes: [LivenessToken]
    /// What the sender lacks of each source.
    package var wants: [SessionRange]
    /// The receiver is to answer with what `held` shows to be missing.
    package var isDigest: Bool
    /// Replacements that the sender authored and that are part of its sequence.
    package var replacements: [SessionRecord<Never>]
    /// How many events the sender has confirmed, and the chain over them.
    package var position: UInt64
    /// The fingerprint of the events up to `position`; see ``ConfirmationChain/value``.
    package var chain: UInt64
    /// When the sender last heard of whom, for the estimate of clock offsets.
    package var clockEchoes: [ClockEcho]
    /// Sources of which the sender has seen two events of one sequence.
    package var forked: [SourceSequence]
    /// Where the sender stands between views; nil of a version that knows none.
    package var view: ViewStatement?
    /// The sender's view, for members that are not in it yet.
    package var record: SessionViewRecord?
    /// What the receiver is asked to hand on of others' events.
    package var relays: [SessionRange]?
    /// The sender's newest state digest, for some time after it was made; earlier versions neither say nor read it.
    package var stateDigest: StateDigest?
    /// What was issued again under other names: of the sender's own while they are unconfirmed, in a copy all. Earlier versions
    /// neither say nor read it.
    package var reissues: [SessionReissue]?
    /// Left out unless it is true: earlier versions neither say nor hear it.
    private var ended: Bool?

    /// The session is over: the sender submits no more events, and neither shall the receiver.
    package var hasEnded: Bool {
        get { ended ?? false }
        set { ended = newValue ? true : nil }
    }

    /// A control that says nothing, unless told otherwise.
    package init(
        group: SessionSource? = nil, members: [SessionSource] = [], firstSequence: UInt64 = 1,
        held: SequenceVector = SequenceVector(), asks: [LivenessToken] = [], echoes: [LivenessToken] = [],
        wants: [SessionRange] = [], isDigest: Bool = false, replacements: [SessionRecord<Never>] = [],
        position: UInt64 = 0, chain: UInt64 = 0, clockEchoes: [ClockEcho] = [], forked: [SourceSequence] = []
    ) {
        self.group = group
        self.members = members
        self.firstSequence = firstSequence
        self.held = held
        self.asks = asks
        self.echoes = echoes
        self.wants = wants
        self.isDigest = isDigest
        self.replacements = replacements
        self.position = position
        self.chain = chain
        self.clockEchoes = clockEchoes
        self.forked = forked
    }
}

/// A random number for one source.
public struct LivenessToken: Hashable, Sendable, Codable {
    /// The source that is to return it.
    package var source: SessionSource
    /// Drawn by the engine that asks.
    package var value: UInt32

    /// A token for one source.
    package init(source: SessionSource, value: UInt32) {
        self.source = source
        self.value = value
    }
}
