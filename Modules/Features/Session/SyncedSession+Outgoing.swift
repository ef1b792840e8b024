import Foundation
import MeshBus
import MeshEngine
import MeshIdentity
import MeshTransport

/// What waits for the next round, coalesced but for the events.
struct OutgoingQueue<Event: Codable & Sendable> {
    /// Own events in order.
    var events: [SessionSyncEnvelope<Event>] = []
    var snapshotReceivers = SnapshotReceivers()
    var asksForSnapshot = false
    var needsRound = false
    var isDraining = false

    mutating func takeAll() -> Self {
        defer {
            events = []
            snapshotReceivers = SnapshotReceivers()
            asksForSnapshot = false
        }
        return self
    }

    mutating func putBack(_ unsent: some Collection<SessionSyncEnvelope<Event>>) {
        events.insert(contentsOf: unsent, at: 0)
    }
}

/// Who is to be sent the state: each peer once, however often it asks.
struct SnapshotReceivers {
    var isEverybody = false
    var peers: Set<SessionPeer> = []

    var isEmpty: Bool { !isEverybody && peers.isEmpty }

    mutating func merge(_ other: SnapshotReceivers) {
        isEverybody = isEverybody || other.isEverybody
        peers.formUnion(other.peers)
    }
}

// MARK: - Snapshots

extension SyncedSession {
    /// Sends the state to everybody; once, however often it is asked for.
    func publishSnapshot() {
        outgoing.snapshotReceivers.isEverybody = true
        wake()
    }

    func answer(_ peer: SessionPeer?) {
        guard let peer else { return publishSnapshot() }
        guard mayKnow(peer) else { return }
        outgoing.snapshotReceivers.peers.insert(peer)
        wake()
    }

    /// Asks the peers for their state, at most once in `requestInterval`; what is asked sooner is asked when that is
    /// over. The answer under way may be older than what is missing now, and no later event may come to show the gap.
    func requestSnapshot() {
        let now = configuration.now()
        let sinceLast = lastRequestAt.map { now.timeIntervalSince($0) } ?? .infinity
        let remaining = configuration.requestInterval.seconds - sinceLast
        guard sinceLast >= 0, remaining > 0 else { return sendRequest() }
        guard !isRequestOwed else { return }
        isRequestOwed = true
        owedRequest.hold([
            Task { [weak self, wait = configuration.wait] in
                try? await wait(.seconds(remaining))
                if !Task.isCancelled, let self, self.isRequestOwed { self.sendRequest() }
            }
        ])
    }

    private func sendRequest() {
        owedRequest.cancel()
        isRequestOwed = false
        lastRequestAt = configuration.now()
        outgoing.asksForSnapshot = true
        wake()
    }
}

// MARK: - Audience

extension SyncedSession {
    /// Whether what is said here is for that peer.
    func mayKnow(_ peer: SessionPeer) -> Bool { configuration.audience == .everyPeer || engine.hears(peer.id) }

    /// Whom to send what is for all. nil is everybody: before the group is for good, and where the transport connects
    /// nobody who may not know, or cannot tell peers apart.
    /// - Parameter isKept: the transport keeps it for peers that it does not know yet.
    private func audience(isKept: Bool) -> [SessionPeer?] {
        guard configuration.audience == .members, engine.isSealed, transport.capabilities.supportsPeerDiscovery else {
            return [nil]
        }
        let known = transport.knownPeers
        let members = known.filter { engine.hears($0.id) }
        return isKept || members.count < known.count ? members : [nil]
    }

    /// Succeeds when one of them could be sent it.
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
}

// MARK: - Sending

extension SyncedSession {
    func send(_ round: OutgoingRound<State, Event>) async {
        let windowEnd = windowEnd
        let ready = round.events.prefix { $0.metadata.sequence <= windowEnd }
        // What is put back leaves when a member has acknowledged more, or after the next start.
        if await send(ready) {
            outgoing.putBack(round.events[ready.endIndex...])
        } else {
            outgoing.putBack(round.events[...])
        }
        guard !Task.isCancelled else { return }
        for message in round.directives.outgoing { await send(message) }
        if round.asksForSnapshot {
            await attempt {
                try await transport.requestSnapshot(sessionID: sessionID, from: nil)
                statistics.snapshotRequestsSent += 1
            }
        }
        if let snapshot = round.snapshot { await send(snapshot, to: round.snapshotReceivers) }
    }

    /// The last own sequence that may be under way: a member that reads slowly must not lose what its transport cannot
    /// keep. Members that are away do not count; they get from the log what they lack.
    private var windowEnd: UInt64 {
        let acknowledged = engine.membership.open.filter { reachablePeerIDs.contains($0.source.peerID) }
            .map { engine.acknowledged(by: $0.source)[engine.source] }
        return acknowledged.min().map { $0 + min(Self.windowMax, .max - $0) } ?? .max
    }

    /// Half of what a transport keeps for a subscriber.
    private static var windowMax: UInt64 { 2048 }

    /// - Returns: false when the session was stopped before the events could be handed over.
    private func send(_ events: ArraySlice<SessionSyncEnvelope<Event>>) async -> Bool {
        guard !events.isEmpty else { return true }
        guard !Task.isCancelled else { return false }
        let isSent = await attempt {
            let erased = try events.map { try AnySessionSyncEnvelope($0) }
            try await sendToAudience { peer in
                try await waitingForRoom {
                    try await transport.send(erased, mode: configuration.eventDelivery, to: peer)
                }
            }
        }
        if isSent { for event in events { deliveries.markSent(event.metadata.eventID) } }
        return isSent || !Task.isCancelled
    }

    private func send(_ message: SessionOutgoing<State, Event>) async {
        switch message {
        case .control(var control, let peerID):
            // The round trip is measured from here, not from before the write.
            control.metadata.causalTimestamp = configuration.now()
            await attempt(isVital: false) {
                let erased = try AnySessionSyncEnvelope(control)
                try await transport.send(erased, mode: .acknowledgement, to: peer(peerID))
                statistics.controlsSent += 1
            }
        case .events(let events, let peerID):
            for event in events {
                // A peer that lacks the rest asks again.
                guard
                    await attempt(
                        isVital: false,
                        {
                            let erased = try AnySessionSyncEnvelope(event)
                            try await transport.send(erased, mode: configuration.eventDelivery, to: peer(peerID))
                            statistics.resent += 1
                        })
                else { return }
                deliveries.markSent(event.metadata.eventID)
            }
        case .checkpoint(let checkpoint, let metadata, let peerID):
            await sendCopy(checkpoint, metadata, to: peer(peerID))
        }
    }

    private func sendCopy(
        _ checkpoint: SessionCheckpoint<State, Event>, _ metadata: SessionSyncMetadata, to peer: SessionPeer?
    ) async {
        await attempt {
            var metadata = metadata
            metadata.causalTimestamp = configuration.now()
            let store = engine.store
            var snapshot = try AnySessionSyncSnapshot(
                SessionSyncSnapshot(
                    metadata: metadata, revision: engine.allocateOutgoingSnapshotRevision(), state: store.state,
                    peerSequenceVector: store.lastSequenceByPeerID))
            snapshot.checkpoint = try checkpoints.bytes(of: checkpoint)
            do {
                // Not as the latest snapshot: the next state would take its place on the way.
                try await transport.sendSnapshot(snapshot, mode: .realtimeBestEffort, to: peer)
            } catch SessionSyncError.unsupportedDeliveryMode {
                try await transport.sendSnapshot(snapshot, mode: .latestSnapshot, to: peer)
            }
            statistics.copiesSent += 1
        }
    }

    private func send(_ snapshot: SessionSyncSnapshot<State>, to receivers: SnapshotReceivers) async {
        let peers: [SessionPeer?] =
            receivers.isEverybody ? audience(isKept: true) : receivers.peers.sorted { $0.id < $1.id }
        for peer in peers {
            await attempt {
                try await transport.sendSnapshot(AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot, to: peer)
                statistics.snapshotsSent += 1
            }
        }
    }

    /// nil is everybody: where the transport cannot tell peers apart, each takes what is for it.
    private func peer(_ id: String?) -> SessionPeer? { id.flatMap { id in transport.knownPeers.first { $0.id == id } } }

    /// - Parameter isVital: whether a user should know that it failed; what is not is said again with the next exchange.
    @discardableResult
    private func attempt(isVital: Bool = true, _ send: () async throws -> Void) async -> Bool {
        do {
            try await send()
            if isVital, lastSendError != nil { lastSendError = nil }
            return true
        } catch {
            // What was not sent is in the log, and sent when a peer's engine says that it lacks it; the state travels
            // again with the next snapshot: on request, or when a peer becomes reachable.
            if isVital, !Task.isCancelled {
                statistics.sendFailures += 1
                lastSendError = error
            }
            return false
        }
    }

    /// Waits while the transport's queue is full, so that a burst is slowed down and not dropped: events gather in
    /// `outgoing` until `submit` throws `queueFull`.
    private func waitingForRoom(_ send: () async throws -> Void) async throws {
        var backoff = Backoff(from: .milliseconds(1), to: .milliseconds(20))
        var waited = Duration.zero
        while true {
            do {
                return try await send()
            } catch SessionSyncError.queueFull where waited < Self.roomPatience && phase == .running {
                let wait = backoff.next()
                try await configuration.wait(wait)
                waited += wait
            }
        }
    }

    /// A queue that stays full for longer belongs to a peer that has stopped reading.
    private static var roomPatience: Duration { .seconds(2) }
}
