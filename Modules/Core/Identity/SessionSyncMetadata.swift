public import MeshFoundation

/// The author, moment and session of an envelope or a snapshot.
public struct SessionSyncMetadata: Sendable {
    /// The session protocol of the sender; see ``SessionSyncProtocol``.
    public var protocolVersion: Int
    /// The run of the feature: one workout, one game. A new run has a new id.
    public var sessionID: UUID
    /// The feature, such as `workout`: several share one transport.
    public var featureID: String
    /// The `SessionPeer.id` of the author.
    public var sourcePeerID: String
    /// Dense from 1 for each source and session; 0 for what no engine logs.
    public var sequence: UInt64
    /// The caller's own time: the moment of the tap, by the clock of the device on which it happened.
    public var causalTimestamp: Date
    /// Seconds of a clock that never jumps, on the source's device only.
    public var monotonicTimestamp: TimeInterval?
    /// Names the type of the payload, so that another type's bytes are never decoded as this one.
    public var payloadType: String
    /// The last sequence of the receiver that the sender has seen; nil when it does not say. Carried as it is:
    /// engines of this library acknowledge in controls.
    public var acknowledgedSequence: UInt64?
    /// The place in the total order; zero in metadata made by hand.
    public var stamp: HybridTimestamp
    /// The random 32 bits that identify the source's store, drawn when the store was created.
    public var incarnation: UInt32
    /// The epoch of the session that the message belongs to.
    public var epoch: UInt32
    /// The source's promise about its future events.
    public var promise: SequencePromise?

    /// Set when the id was made by somebody; nil when it follows from the other fields.
    @usableFromInline package var explicitEventID: UUID?

    /// Creates metadata from its fields, without checking them.
    ///
    /// - Parameter eventID: nil derives the id from the other fields (see `derivedEventID`); metadata of sequence 0,
    ///   which no two events share by chance, then gets a random one.
    @inlinable
    public init(
        protocolVersion: Int = SessionSyncProtocol.currentVersion, sessionID: UUID, featureID: String,
        sourcePeerID: String, eventID: UUID? = nil, sequence: UInt64, causalTimestamp: Date,
        monotonicTimestamp: TimeInterval? = nil, payloadType: String, acknowledgedSequence: UInt64? = nil,
        stamp: HybridTimestamp = .zero, incarnation: UInt32 = 0, epoch: UInt32 = 0, promise: SequencePromise? = nil
    ) {
        self.init(
            protocolVersion: protocolVersion, sessionID: sessionID, featureID: featureID, sourcePeerID: sourcePeerID,
            explicitEventID: eventID ?? (sequence == 0 ? UUID() : nil), sequence: sequence,
            causalTimestamp: causalTimestamp, monotonicTimestamp: monotonicTimestamp, payloadType: payloadType,
            acknowledgedSequence: acknowledgedSequence, stamp: stamp, incarnation: incarnation, epoch: epoch,
            promise: promise)
    }

    /// Every field as it is; `init` above without the random id, which keeps the optimizer from dropping metadata that
    /// nobody reads.
    @inlinable
    package init(
        protocolVersion: Int, sessionID: UUID, featureID: String, sourcePeerID: String, explicitEventID: UUID?,
        sequence: UInt64, causalTimestamp: Date, monotonicTimestamp: TimeInterval?, payloadType: String,
        acknowledgedSequence: UInt64? = nil, stamp: HybridTimestamp, incarnation: UInt32, epoch: UInt32 = 0,
        promise: SequencePromise? = nil
    ) {
        self.protocolVersion = protocolVersion
        self.sessionID = sessionID
        self.featureID = featureID
        self.sourcePeerID = sourcePeerID
        self.sequence = sequence
        self.causalTimestamp = causalTimestamp
        self.monotonicTimestamp = monotonicTimestamp
        self.payloadType = payloadType
        self.acknowledgedSequence = acknowledgedSequence
        self.stamp = stamp
        self.incarnation = incarnation
        self.epoch = epoch
        self.promise = promise
        self.explicitEventID = explicitEventID
    }

    /// The event's identity, wherever and however often it arrives.
    public var eventID: UUID {
        get { explicitEventID ?? derivedEventID }
        set { explicitEventID = newValue }
    }
}

/// "Nothing more from me at or below `stamp` beyond `sequence`."
public struct SequencePromise: Hashable, Sendable, Codable {
    /// The last sequence that the author has given.
    public var sequence: UInt64
    /// The moment up to which the author gives no other.
    public var stamp: HybridTimestamp

    /// Creates a promise without checking it; see `isUsable`.
    @inlinable
    public init(sequence: UInt64, stamp: HybridTimestamp) {
        self.sequence = sequence
        self.stamp = stamp
    }
}

extension SessionSyncMetadata: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        left.sequence == right.sequence && left.stamp == right.stamp && left.incarnation == right.incarnation
            && left.sessionID == right.sessionID && left.sourcePeerID == right.sourcePeerID
            && left.eventID == right.eventID && left.protocolVersion == right.protocolVersion
            && left.featureID == right.featureID && left.causalTimestamp == right.causalTimestamp
            && left.monotonicTimestamp == right.monotonicTimestamp && left.payloadType == right.payloadType
            && left.acknowledgedSequence == right.acknowledgedSequence && left.epoch == right.epoch
            && left.promise == right.promise
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(sessionID)
        hasher.combine(sourcePeerID)
        hasher.combine(incarnation)
        hasher.combine(sequence)
    }
}
