import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshStorage
import MeshTransport

/// Carries out the core's rounds: write, then send.
extension SyncedSession {
    func beginRounds() {
        guard isRunning, !isDraining else { return }
        isDraining = true
        // Writes must not overlap, even after a stop and a start.
        let task = Task { [weak self, earlier = drain] in
            await earlier?.value
            while let self, let round = await self.nextRound() {
                await self.perform(round)
                // A round without a store or messages doesn't suspend, so give other tasks a turn.
                if round.directives.confirmed.count >= 64 { await Task.yield() }
            }
        }
        drain = task
        drainOwner.hold([task])
    }

    /// Returns when all queued messages have been handed to the transport.
    func waitUntilDrained() async {
        while isRunning, isDraining { await drain?.value }
    }

    private func nextRound() async -> OutgoingRound<State, Event>? {
        guard !Task.isCancelled else { return nil }
        let round = core.isRoundLarge ? await backgroundTurn { $0.takeRound() } : turn { $0.takeRound() }
        if round == nil, !Task.isCancelled { isDraining = false }
        return round
    }

    private func perform(_ round: OutgoingRound<State, Event>) async {
        if round.batch != nil || round.seriesBatch != nil {
            do {
                try await write(round)
                if storeError != nil { storeError = nil }
            } catch {
                return putBack(round, after: error)
            }
        }
        turn { $0.finish(round) }
        await send(round)
    }

    /// Writes events and samples in one batch. Without a store, samples go to `memory`.
    private func write(_ round: OutgoingRound<State, Event>) async throws {
        var batch = try writer == nil ? StoreBatch() : round.batch?.get() ?? StoreBatch()
        guard let series = try round.seriesBatch?.get() else {
            guard let writer else { return }
            return try await writer.commit(batch)
        }
        let writer = writer ?? memory
        guard round.isSeriesRetry else {
            batch.append(contentsOf: series.operations)
            return try await writer.commit(batch)
        }
        let prefix = SessionArchive<State, Event>.seriesPrefix(featureID, sessionID)
        try await writer.perform { [batch, store = writer.store] in
            var batch = batch
            batch.append(contentsOf: series.removingCommitted(in: try store.catalog(prefix: prefix)).operations)
            try store.commit(batch)
        }
    }

    private func putBack(_ round: OutgoingRound<State, Event>, after error: any Error) {
        let isFailure = !Task.isCancelled
        let leavesStore = isFailure && configuration.storeFailure == .continueInMemory && Self.isLasting(error)
        if leavesStore {
            writer = nil
            durability = .memory
        }
        if isFailure { storeError = error }
        turn { core in
            if isFailure { core.statistics.storeFailures += 1 }
            core.putBack(round, leavesStore: leavesStore)
        }
    }
}

extension SyncedSession {
    /// False for an error that passes by itself, such as that of a suspended store, and for one that isn't the store's.
    private static func isLasting(_ error: any Error) -> Bool {
        guard let error = error as? StorageError else { return false }
        return error.code != .unavailable
    }
}

// MARK: - Sending

extension SyncedSession {
    private func send(_ round: OutgoingRound<State, Event>) async {
        let windowEnd = core.windowEnd
        let ready = round.events.prefix { $0.metadata.sequence <= windowEnd }
        var shown = round.ephemerals.compactMap { try? core.encoded($0) }
        if !ready.isEmpty, leavesWithNext(shown) { shown = [] }
        // The rest leaves when a member has acknowledged more, or after the next start.
        core.outgoing.putBack(round.events[await send(ready)...])
        guard !Task.isCancelled else { return }
        var bundle = MessageBundle()
        for message in round.directives.outgoing {
            if case .control(let control, nil) = message {
                add(control, for: nil, to: &bundle)
                continue
            }
            await send(bundle.take(), to: [nil])
            await send(message)
        }
        if !round.copyMessages.isEmpty { await send(bundle.take(), to: [nil]) }
        for message in round.copyMessages { await send(message) }
        let audience = audience(isKept: false)
        if audience != [nil] { await send(bundle.take(), to: [nil]) }
        bundle.envelopes += shown
        for message in round.seriesMessages where message.receiver == nil {
            try? bundle.envelopes.append(core.encoded(message))
        }
        await send(bundle, to: audience)
        for message in round.seriesMessages where message.receiver != nil { await send(message) }
        if round.requestsSnapshot {
            await attempt(counting: \.snapshotRequestsSent) {
                try await transport.requestSnapshot(sessionID: sessionID, from: nil)
            }
        }
        if let snapshot = round.snapshot { await send(snapshot, to: round.snapshotReceivers) }
    }

    /// Returns true if the transport has accepted shown values to leave in one message with the events that are sent next.
    private func leavesWithNext(_ shown: [AnySessionSyncEnvelope]) -> Bool {
        guard !shown.isEmpty else { return false }
        let audience = audience(isKept: false)
        return audience.count == 1 && transport.sendWithNext(shown, to: audience[0])
    }

    /// Sends own events. Returns the index from which they go back to the queue: the first unsent one after a
    /// cancellation, otherwise the end. Peers request events whose send failed from the log.
    private func send(_ events: ArraySlice<AnySessionSyncEnvelope>) async -> Int {
        for slice in Slices(events) {
            guard !Task.isCancelled else { return slice.startIndex }
            let isSent = await attempt {
                try await sendToAudience { peer in
                    try await retryingWhileFull {
                        try await transport.send(Array(slice), mode: configuration.eventDelivery, to: peer)
                    }
                }
            }
            // The send failed, or a queue stayed full for `queueTimeout`. Peers request the rest from the log.
            guard isSent else { return Task.isCancelled ? slice.startIndex : events.endIndex }
            turn { $0.markSent(slice) }
            if slice.endIndex < events.endIndex { await Task.yield() }
        }
        return events.endIndex
    }

    private func send(_ message: SessionOutgoing<State, Event>) async {
        switch message {
        case .control(let control, let peerID):
            var bundle = MessageBundle()
            add(control, for: peerID, to: &bundle)
            await send(bundle, to: [peer(peerID)])
        case .events(let events, let peerID):
            // A peer that lacks the rest requests it again.
            for slice in Slices(events[...]) {
                let isSent = await attempt(isVital: false) {
                    let erased = try slice.map { try AnySessionSyncEnvelope($0) }
                    try await transport.send(erased, mode: configuration.eventDelivery, to: peer(peerID))
                    turn { core in
                        core.statistics.resent += erased.count
                        core.markSent(erased)
                    }
                }
                guard isSent else { return }
            }
        case .relay(let relay, let peerID):
            await send(relay, to: peer(peerID))
        case .checkpoint(let checkpoint, let metadata, let peerID):
            let terms = OfferedCopy.Terms(checkpoint)
            if turn({ $0.announceOffer(on: terms, to: peerID) }) { return }
            await attempt(counting: \.copiesSent) {
                let checkpoints = core.checkpoints
                let bytes = try await Self.bytes(of: checkpoint, checkpoints)
                do {
                    try await send(bytes, metadata, to: peer(peerID))
                } catch SessionSyncError.payloadTooLarge {
                    try turn { try $0.offer(bytes, on: terms, metadata, to: peerID) }
                }
            }
        }
    }

    /// Sends a relay, split in halves until each part fits into a message. A peer requests lost parts again.
    private func send(_ relay: SessionSyncEnvelope<SessionRelay<Event>>, to peer: SessionPeer?) async {
        let records = relay.payload.records
        do {
            let erased = try AnySessionSyncEnvelope(relay)
            try await transport.send(erased, mode: .realtimeBestEffort, to: peer)
            turn { $0.statistics.relayed += records.count }
        } catch SessionSyncError.payloadTooLarge where records.count > 1 {
            let half = records.count / 2
            for part in [records[..<half], records[half...]] {
                await send(SessionSyncEnvelope(metadata: relay.metadata, payload: .init(Array(part))), to: peer)
            }
        } catch {}
    }

    /// Encodes off the main actor, because a copy may be large. Its limit applies after encoding.
    nonisolated private static func bytes(
        of checkpoint: SessionCheckpoint<State, Event>, _ coding: CheckpointCoding
    ) async throws -> [UInt8] { try coding.bytes(of: checkpoint) }

    /// Sends a copy in one message. Throws `SessionSyncError.payloadTooLarge` if it must be sent in pieces.
    private func send(_ checkpoint: [UInt8], _ metadata: SessionSyncMetadata, to peer: SessionPeer?) async throws {
        let limit = min(configuration.copyMessageBytesMax, transport.capabilities.maximumPayloadSize ?? .max)
        guard checkpoint.count <= limit else {
            throw SessionSyncError.payloadTooLarge(bytes: checkpoint.count, limit: limit, limitID: "session.copy")
        }
        let copy = try turn { try $0.makeCopy(checkpoint, metadata) }
        do {
            // Not in mode `latestSnapshot`: the next state would replace the copy on its way.
            try await transport.sendSnapshot(copy, mode: .realtimeBestEffort, to: peer)
        } catch SessionSyncError.unsupportedDeliveryMode {
            try await transport.sendSnapshot(copy, mode: .latestSnapshot, to: peer)
        }
    }

    /// Sends a piece of a copy, or a request for pieces. The receiver of the copy requests lost pieces again.
    private func send(_ message: CopyMessage) async {
        await attempt(isVital: false) {
            let isKept = transport.capabilities.supportsDurableQueue
            try await transport.send(
                core.envelope(of: message), mode: isKept ? .reliableEventually : .realtimeBestEffort,
                to: peer(message.receiver))
        }
    }

    /// Small messages that leave in one call, so that the radio wakes once. If lost, they are repeated or superseded.
    private struct MessageBundle {
        var envelopes: [AnySessionSyncEnvelope] = []
        var controlCount = 0

        mutating func take() -> MessageBundle {
            defer { self = MessageBundle() }
            return self
        }
    }

    private func add(
        _ control: SessionSyncEnvelope<SessionControl>, for peerID: String?, to bundle: inout MessageBundle
    ) {
        var control = control
        // The round-trip time starts here, so the write isn't included.
        control.metadata.causalTimestamp = steadyClock.now
        guard let erased = try? core.encoded(control, for: peerID) else { return }
        bundle.envelopes.append(erased)
        bundle.controlCount += 1
    }

    private func send(_ bundle: MessageBundle, to peers: [SessionPeer?]) async {
        guard !bundle.envelopes.isEmpty else { return }
        for peer in peers {
            do {
                try await transport.send(bundle.envelopes, mode: .acknowledgement, to: peer)
            } catch SessionSyncError.payloadTooLarge {
                // Send them one by one, so that an oversized value doesn't block the others.
                for envelope in bundle.envelopes {
                    try? await transport.send(envelope, mode: .acknowledgement, to: peer)
                }
            } catch {
                continue
            }
            if bundle.controlCount > 0 { turn { $0.statistics.controlsSent += bundle.controlCount } }
        }
    }

    /// Sends samples that a peer has requested. The peer requests lost ones again.
    func send(_ message: SeriesMessage) async {
        await attempt(isVital: false) {
            let erased = try core.encoded(message)
            try await retryingWhileFull {
                try await transport.send(erased, mode: .realtimeBestEffort, to: peer(message.receiver))
            }
        }
    }

    private func send(_ snapshot: SessionSyncSnapshot<State>, to receivers: SnapshotReceivers) async {
        let peers: [SessionPeer?] =
            receivers.includesEveryPeer ? audience(isKept: true) : receivers.peers.sorted { $0.id < $1.id }
        for peer in peers where !isStateTooLarge {
            let isDone = await attempt(of: "\(featureID) state") {
                do {
                    try await transport.sendSnapshot(AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot, to: peer)
                } catch let error as SessionSyncError {
                    guard case .payloadTooLarge = error else { throw error }
                    stateWasTooLargeAt = steadyClock.now
                    // Members have the events, and a joining device gets a copy in pieces. Others get nothing.
                    if !isMember { throw error }
                }
            }
            if isDone, !isStateTooLarge { turn { $0.statistics.snapshotsSent += 1 } }
        }
    }

    /// True for a minute after a state was too large, because trying costs as much as sending.
    private var isStateTooLarge: Bool {
        stateWasTooLargeAt.map { abs(steadyClock.now.timeIntervalSince($0)) < 60 } ?? false
    }

    /// Returns the receivers of a message to the session's whole audience. `[nil]` stands for every peer, and is also
    /// used if the transport can't address single peers.
    private func audience(isKept: Bool) -> [SessionPeer?] {
        guard transport.capabilities.supportsPeerDiscovery else { return [nil] }
        return core.audience(of: transport.knownPeers, isKept: isKept)
    }

    /// Sends to each receiver. Throws only if no send succeeds.
    private func sendToAudience(_ send: (SessionPeer?) async throws -> Void) async throws {
        var failure: (any Error)? = SessionSyncError.notReachable
        for peer in audience(isKept: false) {
            do {
                try await send(peer)
                failure = nil
            } catch {
                failure = failure == nil ? nil : error
            }
        }
        if let failure { throw failure }
    }

    /// Returns the peer to address; nil, for every peer, if the transport doesn't know it. Receivers ignore messages
    /// for other peers.
    private func peer(_ id: String?) -> SessionPeer? { id.flatMap { id in transport.knownPeers.first { $0.id == id } } }

    /// Sends, and returns true on success. Reports a failure if `isVital`; other messages are repeated with the next
    /// exchange.
    /// - Parameter subject: the name of the message in the session's problems; nil is the feature.
    @discardableResult
    private func attempt(
        isVital: Bool = true, of subject: String? = nil, counting count: WritableKeyPath<SessionStatistics, Int>? = nil,
        _ send: () async throws -> Void
    ) async -> Bool {
        do {
            try await send()
            if isVital {
                forgetSendError()
                reportSend(of: subject ?? featureID, nil)
            }
            if let count { turn { $0.statistics[keyPath: count] += 1 } }
            return true
        } catch {
            // Unsent events are in the log, and leave when a peer's engine reports that it lacks them. The state leaves
            // with the next snapshot: on request, or when a peer becomes reachable.
            if isVital, !Task.isCancelled {
                turn { $0.statistics.sendFailures += 1 }
                lastSendError = error
                reportSend(of: subject ?? featureID, error)
            }
            return false
        }
    }

    /// Retries while the transport's queue is full, so that a burst is slowed down and not dropped. Meanwhile events
    /// gather in `outgoing`, until `submit` throws `queueFull`.
    private func retryingWhileFull(_ send: () async throws -> Void) async throws {
        var backoff = Backoff(from: .milliseconds(1), to: .milliseconds(20))
        var waited = Duration.zero
        while true {
            do {
                return try await send()
            } catch SessionSyncError.queueFull where waited < Self.queueTimeout && phase == .running {
                let wait = backoff.next()
                try await configuration.wait(wait)
                waited += wait
            }
        }
    }

    /// Maximum wait for space. If a queue stays full longer, the peer has stopped reading.
    private static var queueTimeout: Duration { .seconds(2) }
}

/// Batches of 128 elements. The main actor handles one at a time, so that it can update the screen in between.
struct Slices<Element>: Sequence, IteratorProtocol {
    private var rest: ArraySlice<Element>

    init(_ elements: ArraySlice<Element>) { rest = elements }

    mutating func next() -> ArraySlice<Element>? {
        let slice = rest.prefix(128)
        rest = rest.dropFirst(slice.count)
        return slice.isEmpty ? nil : slice
    }
}
