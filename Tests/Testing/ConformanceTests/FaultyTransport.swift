import Foundation
import MeshBase
import MeshIdentity
import MeshTransport

/// Faults of a transport, each for the rule that must detect it.
enum Fault: String, CaseIterable, Sendable {
    case losesTheStamp, changesThePayload, deliversTwice, swapsNeighbours, losesOneInTen
    case dropsWhatWaits, storesBestEffort, losesBestEffort
    case mixesFeatures, sharesOneStream, acceptsAnySize, refusesUnderAnotherName, understatesItsLimit
    case losesTheCheckpoint, losesTheVector, forgetsSnapshots, looksUpNothing, looksUpAnyFeature, olderReplacesNewer
    case replaysEverySnapshot
    case forgetsTheRequester, losesRequests
    case sendsToEveryPeer, sendsOnlyToTheFirst, acceptsStrangers, echoes, knowsItself
    case staysSilentAboutPeers, neverReportsLoss
    case leavesStreamsOpen, endsStreamsEarly, sendsAfterClosing, holdsTheLastBack
    case takesAnyMode, ignoresCancellation, neverReturns
    case acceptsWithoutEnd, sharesOneQueue, publishesOnce, returnsToOldSnapshots
    case knowsTwice, announcesTwice, announcesToTheFirst, believesTheCable, forgetsAtRelaunch
    case readsAhead
    case overhearsGarbage, passesGarbageOn, believesAnyGreeting, trustsTheWall
    case sendsOneByOne, forgetsForTheNext, readsForOthers, keepsWhatIsCancelled, repeatsTheUrgent
}

/// A correct transport with one fault. It decorates the transport, so that the fault is the only difference.
final class FaultyTransport: TransportWrapper {
    let wrapped: any SessionSyncTransport
    let fault: Fault?
    private let isRelaunched: Bool
    /// Reads ahead of its own subscribers, as `DiagnosticsSession` once did: it acknowledges messages, and then loses them.
    private let relay: TransportInbox?
    /// Earlier messages, for faults that depend on them.
    let memory = FaultMemory()
    private let urgent = Locked<Set<UUID>>([])

    init(_ base: any SessionSyncTransport, _ fault: Fault?, isRelaunched: Bool = false) {
        wrapped = base
        self.fault = fault
        self.isRelaunched = isRelaunched
        relay = fault == .readsAhead ? TransportInbox(bufferLimit: TransportPair.narrowLimit) : nil
        guard let relay else { return }
        let envelopes = wrapped.receiveEnvelopes()
        Task {
            for await envelope in envelopes { relay.deliver(envelope) }
            relay.close()
        }
    }

    var knownPeers: [SessionPeer] {
        switch fault {
        case .knowsItself: wrapped.knownPeers + [localPeer]
        case .knowsTwice: wrapped.knownPeers + wrapped.knownPeers
        case .forgetsAtRelaunch where isRelaunched: []
        default: wrapped.knownPeers + memory.strangers
        }
    }

    var capabilities: SessionTransportCapabilities {
        let real = wrapped.capabilities
        let size = fault == .understatesItsLimit ? real.maximumPayloadSize.map { $0 / 2 } : real.maximumPayloadSize
        return SessionTransportCapabilities(
            supportsRealtime: real.supportsRealtime, supportsDurableQueue: real.supportsDurableQueue,
            supportsLatestStateReplacement: real.supportsLatestStateReplacement,
            supportsRequestReply: real.supportsRequestReply, supportsBroadcast: real.supportsBroadcast,
            supportsPeerDiscovery: real.supportsPeerDiscovery, maximumPayloadSize: size,
            expectedLatency: real.expectedLatency, extras: real.extras)
    }

    // MARK: Sending

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        switch fault {
        case .neverReturns:
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        case .acceptsWithoutEnd: Task { try await wrapped.send(envelope, mode: mode, to: peer) }
        case .trustsTheWall where memory.hasJumped: return
        case .sharesOneQueue:
            let shared = try envelope.renamed("shared")
            try await wrapped.send(shared, mode: mode, to: peer)
        case .losesOneInTen where mode == .reliableEventually && memory.count() % 10 == 9: return
        case .losesBestEffort where mode != .reliableEventually: return
        case .swapsNeighbours:
            guard let earlier = memory.pair(envelope) else { return }
            try await wrapped.send(envelope, mode: mode, to: peer)
            try await wrapped.send(earlier, mode: mode, to: peer)
        case .dropsWhatWaits: try? await wrapped.send(envelope, mode: .realtimeBestEffort, to: peer)
        case .holdsTheLastBack:
            guard let earlier = memory.exchange(envelope) else { return }
            try await wrapped.send(earlier, mode: mode, to: peer)
        case .repeatsTheUrgent where urgent.withLock({ $0.contains(envelope.metadata.eventID) }):
            try await wrapped.send(envelope, mode: mode, to: peer)
            try await wrapped.send(envelope, mode: .realtimeBestEffort, to: peer)
        case .storesBestEffort: try await wrapped.send(envelope, mode: .reliableEventually, to: peer)
        case .sendsToEveryPeer: try await wrapped.send(envelope, mode: mode, to: nil)
        case .sendsOnlyToTheFirst: try await wrapped.send(envelope, mode: mode, to: peer ?? wrapped.knownPeers.first)
        case .echoes:
            try await wrapped.send(envelope, mode: mode, to: peer)
            memory.echo(envelope)
        default: try await sendPastChecks { try await self.wrapped.send(envelope, mode: mode, to: peer) }
        }
    }

    func expedite(eventID: UUID, featureID: String) {
        urgent.withLock { _ = $0.insert(eventID) }
        wrapped.expedite(eventID: eventID, featureID: featureID)
    }

    func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        if fault == .replaysEverySnapshot, mode == .latestSnapshot {
            return try await wrapped.sendSnapshot(snapshot, mode: .reliableEventually, to: peer)
        }
        if fault == .publishesOnce {
            try? await wrapped.sendSnapshot(snapshot, mode: .realtimeBestEffort, to: peer)
            return
        }
        let peer = fault == .sendsToEveryPeer ? nil : peer
        try await sendPastChecks { try await self.wrapped.sendSnapshot(snapshot, mode: mode, to: peer) }
    }

    func requestSnapshot(sessionID: UUID, from peer: SessionPeer?) async throws {
        if fault == .losesRequests { return }
        let peer = fault == .sendsToEveryPeer ? nil : peer
        try await sendPastChecks { try await self.wrapped.requestSnapshot(sessionID: sessionID, from: peer) }
    }

    func send(
        _ envelopes: [AnySessionSyncEnvelope], mode: SessionDeliveryMode, to peer: SessionPeer?,
        isolation: isolated (any Actor)?
    ) async throws {
        if fault == nil { return try await wrapped.send(envelopes, mode: mode, to: peer, isolation: isolation) }
        for envelope in envelopes { try await send(envelope, mode: mode, to: peer) }
    }

    func sendWithNext(_ envelopes: [AnySessionSyncEnvelope], to peer: SessionPeer?) -> Bool {
        fault == .forgetsForTheNext || fault == nil && wrapped.sendWithNext(envelopes, to: peer)
    }

    /// Sends with the error that the fault suppresses or changes.
    private func sendPastChecks(_ send: @escaping @Sendable () async throws -> Void) async throws {
        if fault == .ignoresCancellation { return try await Task(operation: send).value }
        do {
            try await send()
        } catch SessionSyncError.payloadTooLarge where fault == .acceptsAnySize {
        } catch SessionSyncError.payloadTooLarge(let bytes, let limit, _) where fault == .refusesUnderAnotherName {
            throw SessionSyncError.payloadTooLarge(bytes: bytes, limit: limit, limitID: "too large")
        } catch SessionSyncError.unknownPeer where fault == .acceptsStrangers {
        } catch SessionSyncError.closed where fault == .sendsAfterClosing {
        } catch SessionSyncError.unsupportedDeliveryMode where fault == .takesAnyMode {
        }
    }

    // MARK: Receiving

    func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> {
        if let relay { return relay.receiveEnvelopes() }
        let stream = wrapped.receiveEnvelopes()
        switch fault {
        case .sharesOneStream: return memory.forFirstOnly(stream)
        case .echoes, .passesGarbageOn: return memory.withEchoes(stream)
        case .deliversTwice: return doubled(stream)
        case .losesTheStamp:
            return changed(stream) { envelope in
                var envelope = envelope
                envelope.metadata.stamp = .zero
                return envelope
            }
        case .mixesFeatures:
            return changed(stream) { envelope in
                var envelope = envelope
                envelope.metadata.featureID = "workout"
                return envelope
            }
        case .changesThePayload:
            return changed(stream) { envelope in
                try? AnySessionSyncEnvelope(
                    SessionSyncEnvelope(metadata: envelope.metadata, payload: ["something else"]))
            }
        default: return ending(stream)
        }
    }

    /// The batches of a transport that relies on the default.
    func envelopeBatches(where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool) -> EnvelopeBatches {
        guard fault == .readsForOthers else { return wrapped.envelopeBatches(where: isWanted) }
        let envelopes = receiveEnvelopes()
        return EnvelopeBatches { _ in await envelopes.first { isWanted($0.metadata) }.map { [$0] } }
    }

    func cancel(eventID: UUID, featureID: String) -> Bool {
        fault == .keepsWhatIsCancelled || wrapped.cancel(eventID: eventID, featureID: featureID)
    }

    func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> {
        let stream = wrapped.receiveSnapshots()
        switch fault {
        case .losesTheCheckpoint:
            return changed(stream) { snapshot in
                var snapshot = snapshot
                snapshot.checkpoint = nil
                return snapshot
            }
        case .losesTheVector:
            return changed(stream) { snapshot in
                var snapshot = snapshot
                snapshot.peerSequenceVector = [:]
                return snapshot
            }
        case .forgetsSnapshots: return memory.forFirstOnly(stream)
        case .returnsToOldSnapshots: return doubled(stream) { first, _ in first }
        default: return ending(stream)
        }
    }

    func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> {
        let stream = wrapped.receiveSnapshotRequests()
        guard fault == .forgetsTheRequester else { return ending(stream) }
        return changed(stream) { SessionSnapshotRequest(sessionID: $0.sessionID) }
    }

    func reachabilityChanges() -> AsyncStream<SessionPeerReachability> {
        let stream = wrapped.reachabilityChanges()
        switch fault {
        case .staysSilentAboutPeers: return changed(stream) { SessionPeerReachability($0.isReachable) }
        case .neverReportsLoss: return changed(stream) { $0.isReachable ? $0 : nil }
        case .announcesTwice: return doubled(stream)
        case .announcesToTheFirst: return memory.forFirstOnly(stream)
        case .believesTheCable:
            return doubled(stream) { $1.isReachable ? $1 : SessionPeerReachability(true, peer: $1.peer) }
        default: return ending(stream)
        }
    }

    func latestPeerSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        switch fault {
        case .looksUpNothing: return nil
        case .looksUpAnyFeature: return wrapped.latestPeerSnapshot(featureID: "workout")
        case .olderReplacesNewer:
            var snapshot = wrapped.latestPeerSnapshot(featureID: featureID)
            snapshot?.revision = 6
            return snapshot
        default: return wrapped.latestPeerSnapshot(featureID: featureID)
        }
    }

    private func ending<Element: Sendable>(_ stream: AsyncStream<Element>) -> AsyncStream<Element> {
        switch fault {
        case .leavesStreamsOpen: changed(stream, ends: false) { $0 }
        case .endsStreamsEarly: AsyncStream { $0.finish() }
        default: stream
        }
    }
}

/// The stream with each element changed, or omitted if `change` returns nil.
private func changed<Element: Sendable>(
    _ stream: AsyncStream<Element>, ends: Bool = true, _ change: @escaping @Sendable (Element) -> Element?
) -> AsyncStream<Element> {
    let (result, continuation) = AsyncStream.makeStream(of: Element.self)
    Task {
        for await element in stream {
            if let element = change(element) { continuation.yield(element) }
        }
        if ends { continuation.finish() }
    }
    return result
}

/// The stream with another element after each one, made of the first element and that one.
private func doubled<Element: Sendable>(
    _ stream: AsyncStream<Element>, _ other: @escaping @Sendable (_ first: Element, Element) -> Element = { $1 }
) -> AsyncStream<Element> {
    let (result, continuation) = AsyncStream.makeStream(of: Element.self)
    Task {
        var first: Element?
        for await element in stream {
            first = first ?? element
            continuation.yield(element)
            continuation.yield(other(first ?? element, element))
        }
        continuation.finish()
    }
    return result
}

extension AnySessionSyncEnvelope {
    fileprivate func renamed(_ feature: String) throws -> AnySessionSyncEnvelope {
        var envelope = self
        envelope.metadata.featureID = feature
        return envelope
    }
}

/// The earlier messages that a faulty transport remembers.
final class FaultMemory: Sendable {
    private struct State {
        var count = 0
        var held: AnySessionSyncEnvelope?
        var subscriberCount = 0
        var echoes: [AsyncStream<AnySessionSyncEnvelope>.Continuation] = []
        var strangers: [SessionPeer] = []
        var hasJumped = false
    }

    private let state = Locked(State())

    var strangers: [SessionPeer] { state.withLock { $0.strangers } }
    var hasJumped: Bool { state.withLock { $0.hasJumped } }

    func meet(_ stranger: SessionPeer) { state.withLock { $0.strangers.append(stranger) } }
    func jump() { state.withLock { $0.hasJumped = true } }

    /// Returns the number of earlier calls.
    func count() -> Int {
        state.withLock { state in
            defer { state.count += 1 }
            return state.count
        }
    }

    /// Keeps every other envelope, and returns it with the next one.
    func pair(_ envelope: AnySessionSyncEnvelope) -> AnySessionSyncEnvelope? {
        state.withLock { state in
            defer { state.held = state.held == nil ? envelope : nil }
            return state.held
        }
    }

    /// Keeps each envelope, and returns the one before.
    func exchange(_ envelope: AnySessionSyncEnvelope) -> AnySessionSyncEnvelope? {
        state.withLock { state in
            defer { state.held = envelope }
            return state.held
        }
    }

    /// Returns the stream to the first caller, and a silent one to all others.
    func forFirstOnly<Element: Sendable>(_ stream: AsyncStream<Element>) -> AsyncStream<Element> {
        let isFirst = state.withLock { state in
            state.subscriberCount += 1
            return state.subscriberCount == 1
        }
        return isFirst ? stream : AsyncStream { _ in }
    }

    func withEchoes(_ stream: AsyncStream<AnySessionSyncEnvelope>) -> AsyncStream<AnySessionSyncEnvelope> {
        let (result, continuation) = AsyncStream.makeStream(of: AnySessionSyncEnvelope.self)
        state.withLock { $0.echoes.append(continuation) }
        Task {
            for await envelope in stream { continuation.yield(envelope) }
            continuation.finish()
        }
        return result
    }

    func echo(_ envelope: AnySessionSyncEnvelope) {
        for continuation in state.withLock({ $0.echoes }) { continuation.yield(envelope) }
    }
}
