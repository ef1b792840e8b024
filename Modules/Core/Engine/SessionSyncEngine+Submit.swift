public import MeshFoundation
public import MeshIdentity

extension SessionSyncEngine {
    /// Applies a local event at once and returns the envelope. Send it after writing what `takeDirectives` asks to
    /// persist.
    ///
    /// The engine knows no codec, and reduces `event` as it is given. If encoding loses part of your events, submit the
    /// decoded copy, as `SyncedSession` does. Otherwise the local state differs from the peers'.
    ///
    /// If the policy rejects the event, the envelope is returned anyway and the state is unchanged. Complexity: O(1)
    /// plus the reducer.
    /// - Parameter moment: the time of the tap.
    /// - Throws: the reducer's errors, `SessionSyncError.logFull`, `sessionEnded`. No sequence is used then.
    @inlinable
    public mutating func submitLocal(_ event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        if ended { throw SessionSyncError.sessionEnded }
        if ownUnconfirmed >= options.ownUnconfirmedMax || ownUnconfirmedBytes >= options.ownUnconfirmedBytesMax {
            try freeLogSpace()
        }
        return try submit(event, at: moment)
    }

    /// Submits an event without checking the bounds of the log.
    @inlinable @inline(__always)
    mutating func submit(_ event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        forgetApplied()
        var advanced = clock
        wallMilliseconds = moment.wallMilliseconds
        let stamp = advanced.tick(wallMilliseconds: wallMilliseconds)
        let sequence = sources.records[0].held &+ 1
        let header = EntryHeader(stamp: stamp, sequence: sequence, slot: 0, causalTimestamp: moment)
        let isLast = log.endsBefore(stamp)
        if isProvisionalShown {
            catchUp()
            // The state that the user sees decides if the event is rejected.
            try submitProvisionally(event, header)
            if isLast { _ = log.appendUnconditionally(event, header, by: interpreter, sources: sources) }
        } else if log.isBehind, isLast {
            try log.appendBehind(event, header, by: interpreter, sources: sources)
        } else if isLast {
            try log.append(event, header, by: interpreter, sources: sources)
        } else {
            catchUp()
            // The reducer decides on the current state, as in the other cases.
            var trial = log
            try trial.append(event, header, by: interpreter, sources: sources)
        }
        if !isLast {
            var entry = LogEntry(header, .event(event))
            weigh(&entry)
            ownUnconfirmedBytes += Int(entry.byteCount)
            insertOwn(entry)
        }
        clock = advanced
        sources.records[0].held &+= 1
        ownUnconfirmed += 1
        ownUnconfirmedBytes += MemoryLayout<LogEntry<Event>>.stride
        if isLast, let eventBytes = options.eventBytes { weighLast(eventBytes(event)) }
        isLastApplied = isLast
        if options.checksReducer { checkReducer() }
        if sealed { advance() }

        return SessionSyncEnvelope(
            metadata: SessionSyncMetadata(
                protocolVersion: 1, sessionID: sessionID, featureID: featureID, sourcePeerID: localPeerID,
                explicitEventID: nil, sequence: sequence, causalTimestamp: moment, monotonicTimestamp: nil,
                payloadType: payloadType, stamp: stamp, incarnation: incarnation, epoch: epochTag,
                promise: frozenAt != .max ? nil : SequencePromise(sequence: sequence, stamp: stamp)),
            payload: event)
    }

    /// Writes an own entry that isn't a new event: a replacement, or an event that is issued again.
    mutating func author(
        _ content: SessionRecord<Event>.Content, eventID: UUID? = nil, causalTimestamp: Date,
        monotonicTimestamp: TimeInterval? = nil
    ) -> LogEntry<Event> {
        let stamp = clock.tick(wallMilliseconds: wallMilliseconds)
        var entry = LogEntry<Event>(
            EntryHeader(
                stamp: stamp, sequence: sources[0].held + 1, slot: 0, causalTimestamp: causalTimestamp,
                monotonicTimestamp: monotonicTimestamp, eventID: eventID),
            content)
        weigh(&entry)
        insertOwn(entry)
        sources[0].held += 1
        countOwn(entry)
        extendLease(beyond: stamp)
        return entry
    }

    /// Inserts an own entry. It belongs at the end, unless a peer's event has a stamp so far ahead that the clock
    /// didn't follow it.
    @usableFromInline
    mutating func insertOwn(_ entry: LogEntry<Event>) {
        guard !isGathering else { return gathered.append(entry) }
        catchUp()
        let place = log.endsBefore(entry.stamp) ? log.entries.count : log.place(of: entry, in: sources)
        let (outcome, replayed) = log.insert(entry, at: place, by: interpreter, sources: sources)
        applied.append(AppliedEntry(entry: entry, outcome: outcome, replayedCount: replayed))
    }

    /// Folds the full log of an unsealed engine that only the reference's calls drive. Otherwise throws `logFull`.
    @usableFromInline
    mutating func freeLogSpace() throws {
        guard isReferenceOnly, !sealed else {
            throw SessionSyncError.logFull(limit: options.ownUnconfirmedMax)
        }
        foldUnconfirmed()
    }

    @inlinable
    mutating func countOwn(_ entry: LogEntry<Event>) {
        ownUnconfirmed += 1
        ownUnconfirmedBytes += bytes(of: entry)
    }

    @inlinable
    func bytes(of entry: LogEntry<Event>) -> Int { MemoryLayout<LogEntry<Event>>.stride + Int(entry.byteCount) }

    /// Records the size of the last submitted event, which the caller has encoded anyway.
    package mutating func weighLastSubmitted(_ byteCount: Int) { weighLast(byteCount) }

    @inlinable
    mutating func weighLast(_ byteCount: Int) {
        let last = log.entries.count - 1
        guard last >= settledCount, log.entries[last].slot == 0 else { return }
        let byteCount = UInt32(clamping: byteCount)
        ownUnconfirmedBytes += Int(byteCount) - Int(log.entries[last].byteCount)
        log.entries[last].byteCount = byteCount
    }

    /// Measures an event unless its size is known.
    @inlinable
    func weigh(_ entry: inout LogEntry<Event>) {
        guard entry.byteCount == 0, case .event(let event) = entry.content,
            let eventBytes = options.eventBytes ?? options.encodedBytes
        else { return }
        entry.byteCount = UInt32(clamping: eventBytes(event))
    }

    /// Raises the persisted bound if a promise needs it. A promise is sent only at or below that bound, so a relaunch
    /// keeps it. A promise with an event needs no lease: the event is in the log, and a relaunch continues after it.
    @inlinable
    mutating func extendLease(beyond stamp: HybridTimestamp) {
        if stamp.rawValue > clockLease.rawValue { renewLease(stamp) }
    }

    @usableFromInline
    mutating func renewLease(_ stamp: HybridTimestamp) {
        clockLease = HybridTimestamp(
            milliseconds: stamp.milliseconds &+ options.clockLeaseMilliseconds, counter: stamp.counter)
        if clockLease < stamp { clockLease = stamp }
        pending.changesMembership = true
    }

    /// Folds the older half of the log, or the whole log if that half has no checkpoint. Folded events can't be reordered
    /// any more.
    mutating func foldUnconfirmed() {
        catchUp()
        let half = log.foldable(upTo: log.entries.count / 2)
        let count = half > 0 ? half : log.foldable(upTo: log.entries.count)
        guard count > 0 else { return }
        pending.raise(.foldedUnconfirmed(count: count))
        fold(count)
        recountOwn()
    }
}

extension Date {
    /// The milliseconds for a hybrid clock. Declared here because inlinable code needs it.
    @usableFromInline var wallMilliseconds: UInt64 { millisecondsSince1970 }
}

extension SessionSyncEngine {
    /// Takes an event whose payload this version can't read: from a newer version, or of an unknown kind.
    ///
    /// The event has a place in the order but no effect, and is acknowledged. It stays in the log while there is space,
    /// so an updated app can read it (`options.upcast`). `takeApplied` omits it; the result is `ignored`.
    ///
    /// - Parameters:
    ///   - metadata: its payload type is this engine's, or starts with it and a slash: `workout.event/2`.
    ///   - codec: the number of the codec that wrote the bytes.
    /// - Throws: the errors of `receive`. Nothing changes then.
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

    /// The number of events in the log that this version can't read.
    public var unreadCount: Int { log.entries.count { $0.isOpaque } }

    /// Returns the record with its event, if `options.upcast` can now read it.
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
