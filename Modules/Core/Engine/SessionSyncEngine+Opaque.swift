public import MeshIdentity

extension SessionSyncEngine {
    /// Takes an event whose payload this version cannot read: of a newer version, or of an unknown kind.
    ///
    /// It takes its place in the order without effect, is acknowledged, and stays in the log as long as there is room,
    /// so that an updated app reads it after all (`options.upcast`). `takeApplied` does not list it; the result is
    /// `ignored`.
    ///
    /// - Parameters:
    ///   - metadata: its payload type is this engine's, or begins with it and a slash: `workout.event/2`.
    ///   - codec: the number of the codec that wrote the bytes.
    /// - Throws: as `receive`; nothing changes then.
    public mutating func receiveOpaque(
        _ metadata: SessionSyncMetadata, bytes: [UInt8], codec: UInt8
    ) throws -> SessionSyncReceiveResult<State> {
        let type = metadata.payloadType
        guard type == payloadType || type.hasPrefix(payloadType + "/") else {
            throw SessionSyncError.payloadTypeMismatch
        }
        try check(metadata, payloadType: type)
        let content =
            options.upcast?(metadata, bytes, codec).map { SessionRecord<Event>.Content.event($0) }
            ?? .opaque(bytes: bytes, codec: codec, payloadType: type)
        if isGathering { return try takeGathering { try $0.take(metadata, content) } }
        forgetApplied()
        return try take(metadata, content)
    }

    /// Events in the log that this version cannot read.
    public var unreadCount: Int { log.entries.count { $0.isOpaque } }

    /// Tries again what an earlier version could not read.
    func upcast(_ record: SessionRecord<Event>) -> SessionRecord<Event> {
        guard case .opaque(let bytes, let codec, let payloadType) = record.content, let upcast = options.upcast else {
            return record
        }
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: featureID, sourcePeerID: record.source.peerID, eventID: record.eventID,
            sequence: record.sequence, causalTimestamp: record.causalTimestamp,
            monotonicTimestamp: record.monotonicTimestamp, payloadType: payloadType, stamp: record.stamp,
            incarnation: record.source.incarnation)
        guard let event = upcast(metadata, bytes, codec) else { return record }
        var record = record
        record.content = .event(event)
        return record
    }
}
