import MeshFoundation

/// The readable form, which the `json` codec uses: every field by its name, including the event ID.
extension SessionSyncMetadata: Codable {
    private enum CodingKeys: String, CodingKey {
        case protocolVersion, sessionID, featureID, sourcePeerID, eventID, sequence, causalTimestamp
        case monotonicTimestamp, payloadType, acknowledgedSequence, stamp, incarnation, epoch, promise
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let eventID = try container.decode(UUID.self, forKey: .eventID)
        self.init(
            protocolVersion: try container.decode(Int.self, forKey: .protocolVersion),
            sessionID: try container.decode(UUID.self, forKey: .sessionID),
            featureID: try container.decode(String.self, forKey: .featureID),
            sourcePeerID: try container.decode(String.self, forKey: .sourcePeerID),
            eventID: eventID,
            sequence: try container.decode(UInt64.self, forKey: .sequence),
            causalTimestamp: try container.decode(Date.self, forKey: .causalTimestamp),
            monotonicTimestamp: try container.decodeIfPresent(TimeInterval.self, forKey: .monotonicTimestamp),
            payloadType: try container.decode(String.self, forKey: .payloadType),
            acknowledgedSequence: try container.decodeIfPresent(UInt64.self, forKey: .acknowledgedSequence),
            // Fields of this library, which metadata written by others lacks.
            stamp: try container.decodeIfPresent(HybridTimestamp.self, forKey: .stamp) ?? .zero,
            incarnation: try container.decodeIfPresent(UInt32.self, forKey: .incarnation) ?? 0,
            epoch: try container.decodeIfPresent(UInt32.self, forKey: .epoch) ?? 0,
            promise: try container.decodeIfPresent(SequencePromise.self, forKey: .promise))
        if eventID == derivedEventID { explicitEventID = nil }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(protocolVersion, forKey: .protocolVersion)
        try container.encode(sessionID, forKey: .sessionID)
        try container.encode(featureID, forKey: .featureID)
        try container.encode(sourcePeerID, forKey: .sourcePeerID)
        try container.encode(eventID, forKey: .eventID)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(causalTimestamp, forKey: .causalTimestamp)
        try container.encodeIfPresent(monotonicTimestamp, forKey: .monotonicTimestamp)
        try container.encode(payloadType, forKey: .payloadType)
        try container.encodeIfPresent(acknowledgedSequence, forKey: .acknowledgedSequence)
        try container.encode(stamp, forKey: .stamp)
        try container.encode(incarnation, forKey: .incarnation)
        try container.encode(epoch, forKey: .epoch)
        try container.encodeIfPresent(promise, forKey: .promise)
    }
}
