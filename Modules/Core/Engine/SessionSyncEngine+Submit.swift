public import MeshFoundation
public import MeshIdentity

extension SessionSyncEngine {
    /// Applies a local event at once and returns the envelope to send, once what `takeDirectives` asks to persist has
    /// been written.
    ///
    /// The engine knows no codec: it reduces `event` as it is given. A caller whose events lose something when they are encoded
    /// has to submit the decoded copy, as `SyncedSession` does, or its state differs from what peers reduce.
    ///
    /// When the policy rejects the event, the envelope is returned all the same and the state stays as it is.
    /// Complexity: O(1) beside the reducer.
    /// - Parameter moment: the time of the tap.
    /// - Throws: what the reducer throws, `SessionSyncError.logFull`, `sessionEnded`; no sequence is taken then.
    @inlinable
    public mutating func submitLocal(_ event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        if ended { throw SessionSyncError.sessionEnded }
        if ownUnconfirmed >= options.ownUnconfirmedMax || ownUnconfirmedBytes >= options.ownUnconfirmedBytesMax {
            try makeRoom()
        }
        return try submit(event, at: moment)
    }

    /// The same, whether there is room or not.
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
            // What the user sees decides whether the event is refused.
            try submitProvisionally(event, header)
            if isLast { _ = log.appendRegardless(event, header, by: interpreter, sources: sources) }
        } else if log.isBehind, isLast {
            try log.appendBehind(event, header, by: interpreter, sources: sources)
        } else if isLast {
            try log.append(event, header, by: interpreter, sources: sources)
        } else {
            catchUp()
            // What the reducer says to it as things stand decides here too.
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

    /// Writes something that is not a new tap: a replacement, or an event under another name.
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

    /// At its place, which is the end unless a peer has stamped an event so far ahead that the clock does not follow.
    @usableFromInline
    mutating func insertOwn(_ entry: LogEntry<Event>) {
        guard !isGathering else { return gathered.append(entry) }
        catchUp()
        let place = log.endsBefore(entry.stamp) ? log.entries.count : log.place(of: entry, in: sources)
        let (outcome, replayed) = log.insert(entry, at: place, by: interpreter, sources: sources)
        applied.append(AppliedEntry(entry: entry, outcome: outcome, replayedCount: replayed))
    }

    /// At the bound a group refuses; an engine without one, whose caller may never make one, folds.
    @usableFromInline
    mutating func makeRoom() throws {
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

    /// Counts what the last submitted event weighs, for a caller that has encoded it anyway.
    package mutating func weighLastSubmitted(_ byteCount: Int) { weighLast(byteCount) }

    @inlinable
    mutating func weighLast(_ byteCount: Int) {
        let last = log.entries.count - 1
        guard last >= settledCount, log.entries[last].slot == 0 else { return }
        let byteCount = UInt32(clamping: byteCount)
        ownUnconfirmedBytes += Int(byteCount) - Int(log.entries[last].byteCount)
        log.entries[last].byteCount = byteCount
    }

    /// What the caller has not weighed: from a store or a copy, or issued again.
    @inlinable
    func weigh(_ entry: inout LogEntry<Event>) {
        guard entry.byteCount == 0, case .event(let event) = entry.content,
            let eventBytes = options.eventBytes ?? options.encodedBytes
        else { return }
        entry.byteCount = UInt32(clamping: eventBytes(event))
    }

    /// A promise is sent only at or below a bound that is in the store already, so that a relaunch keeps it. That of an
    /// event is: the event lies in the log then, and a relaunch goes on after it.
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

    /// The oldest half of the log becomes the base: what is in it can no longer be re-ordered.
    mutating func foldUnconfirmed() {
        catchUp()
        let count = max(log.foldable(upTo: log.entries.count / 2), log.foldable(upTo: log.entries.count))
        guard count > 0 else { return }
        pending.raise(.foldedUnconfirmed(count: count))
        fold(count)
        recountOwn()
    }
}

extension Date {
    /// What a hybrid clock reads; here because it is called from inlinable code.
    @usableFromInline var wallMilliseconds: UInt64 { millisecondsSince1970 }
}

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
