public import MeshFoundation

/// The author, moment and session of an envelope or a snapshot.
public struct SessionSyncMetadata: Sendable {
    /// The sender's version of the session protocol; see ``SessionSyncProtocol``.
    public var protocolVersion: Int
    /// The ID of one run of the feature, such as one workout or one game. A new run has a new ID.
    public var sessionID: UUID
    /// The ID of the feature, such as `workout`. Several features share one transport.
    public var featureID: String
    /// The `SessionPeer.id` of the author.
    public var sourcePeerID: String
    /// The number of the event in its source's sequence, from 1 without gaps; 0 for messages that no engine logs.
    public var sequence: UInt64
    /// The caller's own time: the moment of the tap, by the clock of the device on which it happened.
    public var causalTimestamp: Date
    /// Seconds on a clock that never jumps, comparable only on the source's device.
    public var monotonicTimestamp: TimeInterval?
    /// The name of the payload's type. It prevents decoding the bytes as another type.
    public var payloadType: String
    /// The last sequence of the receiver that the sender has seen; nil if the sender doesn't state it. This library's
    /// engines don't read it: they acknowledge in controls.
    public var acknowledgedSequence: UInt64?
    /// The stamp that determines the place in the total order; zero in metadata that an app makes itself.
    public var stamp: HybridTimestamp
    /// 32 random bits that identify the source's store. They are generated with the store.
    public var incarnation: UInt32
    /// The tag of the group and view in which the message was written; 0 before there is a group.
    public var epoch: UInt32
    /// The source's promise about its future events.
    public var promise: SequencePromise?

    /// The event ID, if it was chosen; nil if it is derived from the other fields.
    @usableFromInline package var explicitEventID: UUID?

    /// Creates metadata from its fields, without checking them.
    ///
    /// - Parameter eventID: nil derives the ID from the other fields (see `derivedEventID`). With sequence 0, which
    ///   several messages share, nil generates a random one.
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

    /// Creates metadata from all fields as they are. It never generates a random ID, as the `init` above may, so the
    /// optimizer can drop unused metadata.
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

    /// The event's identity, equal in every copy of the event.
    public var eventID: UUID {
        get { explicitEventID ?? derivedEventID }
        set { explicitEventID = newValue }
    }
}

/// A source's promise: after `sequence`, it writes no event with a stamp at or below `stamp`.
public struct SequencePromise: Hashable, Sendable, Codable {
    /// The last sequence that the author has assigned.
    public var sequence: UInt64
    /// The stamp up to which the author writes nothing more.
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
