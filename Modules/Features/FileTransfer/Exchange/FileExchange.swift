import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshStorage
import MeshTransport

/// Everything that happens to the files of one connection: the one writer of the inbox, and of what is outstanding.
///
/// Sends nothing reliably but what begins or ends a transfer; all else is asked for again when it is missed.
actor FileExchange {
    /// What the app is to see. At most 130 events for each transfer, and two for each file that waits for the app.
    enum Event: Sendable {
        case began(TransferKey, path: String, metadata: [String: MetadataValue]?)
        case progressed(TransferKey, Double)
        case ended(TransferKey, ConnectionError?)
        /// The app may have it.
        case received(ReceivedFile, key: String)
        /// It has it.
        case taken(key: String)
    }

    /// Control messages that wait for the transport; more are let go, and the peer asks again.
    static let postingMax = 256
    /// Peers whose connection is remembered. As many as delivery remembers.
    static let connectionsMax = 1024
    /// Silence after which an offer is repeated, doubling.
    static let offerPatience = Duration.seconds(5)

    nonisolated let connection: any SessionConnection
    nonisolated let inbox: FileInbox
    nonisolated let system: SystemFiles
    nonisolated let carrier: (any FileCarrier)?
    nonisolated let events: AsyncStream<Event>.Continuation
    /// Whether chunks are lost only with the connection: what both halves do then follows from it.
    nonisolated let isLossless: Bool

    var outgoing: [UUID: Outgoing] = [:]
    var incoming: [String: Incoming] = [:]
    /// Files that are being read for the first time.
    var starting: Set<UUID> = []
    /// Files of earlier launches that have another date, in their turn to be read; the first is being read.
    var rereading: [UUID] = []
    var arrivals: UInt64 = 0
    /// When files that wait for the app are looked after.
    var claims = RetryPlan(from: .seconds(1), to: .seconds(60))
    lazy var timer = RetryTimer(connection.clock) { [weak self] in Task { await self?.tick() } }
    /// The number of the connection on which each peer was reachable last. At most `connectionsMax`.
    private var connectionNumbers: [String: UInt64] = [:]
    private var postingCount = 0
    private var unposted: [(message: FileMessage, peerID: String?)] = []
    private var isRestored = false
    /// False until the store could be read: of a transfer that is not known it cannot be said that there is none.
    var knowsOutgoing = false
    private(set) var isStopped = false

    init(
        connection: any SessionConnection, inbox: FileInbox, system: SystemFiles, carrier: (any FileCarrier)?,
        events: AsyncStream<Event>.Continuation
    ) {
        self.connection = connection
        self.inbox = inbox
        self.system = system
        self.carrier = carrier
        self.events = events
        isLossless = connection.transport.capabilities.deliversWhileConnected
    }

    deinit { events.finish() }

    /// Whether files are being read as a whole, which takes time of its own.
    var isReading: Bool {
        !starting.isEmpty || !rereading.isEmpty || incoming.values.contains { $0.phase == .verifying }
    }
    /// Whether the transport has been handed something that it has not taken.
    var isSending: Bool { postingCount > 0 || outgoing.values.contains(where: \.isPumping) }

    var now: Duration { connection.clock.elapsed }

    /// What an earlier launch has left. Idempotent; everything else calls it first.
    func restore() {
        guard !isStopped else { return }
        if !isRestored {
            isRestored = true
            restoreIncoming()
        }
        if !knowsOutgoing { restoreOutgoing() }
    }

    /// Nothing is sent, written or reported any more. What is on disk and in the store stays.
    func stop() {
        isStopped = true
        outgoing = [:]
        incoming = [:]
        events.finish()
    }
}

/// Tells the transfers of one connection apart.
enum TransferKey: Hashable, Sendable {
    case outgoing(UUID)
    /// The id is the sender's.
    case incoming(String, UUID)
}

// MARK: - Messages

extension FileExchange {
    func receive(_ envelope: AnySessionSyncEnvelope) {
        restore()
        guard !isStopped, envelope.metadata.payloadType == FileMessage.payloadType,
            let message = try? envelope.decodePayload(as: FileMessage.self)
        else { return }
        let peerID = envelope.metadata.sourcePeerID
        switch message {
        case .offer(let header, let chunkBytesMax):
            if let offer = FileOffer(header, from: peerID, chunkBytesMax: chunkBytesMax) { offered(offer) }
        case .chunk(let id, let offset, let checksum, let bytes):
            chunk(bytes, at: offset, checksum: checksum, of: FileInbox.key(peerID: peerID, id: id))
        case .withdrawn(let id): withdrawn(FileInbox.key(peerID: peerID, id: id))
        case .settled(let id): settled(FileInbox.key(peerID: peerID, id: id))
        case .ask(let id, let held, let ranges): asked(id, by: peerID, held: held, ranges)
        case .held(let id): held(id, by: peerID)
        case .imported(let id): imported(id, by: peerID)
        case .refused(let id, let error): refused(id, by: peerID, error)
        case .missing(let id): missing(id, by: peerID)
        }
    }

    /// Sends without anybody waiting for it.
    func post(_ message: FileMessage, mode: SessionDeliveryMode = .reliableEventually, to peerID: String?) {
        guard postingCount < Self.postingMax else { return }
        postingCount += 1
        Task { [weak self, connection] in
            do {
                try await connection.send(message, mode: mode, to: peerID)
                await self?.posted()
            } catch {
                await self?.posted(unsent: mode == .reliableEventually ? (message, peerID) : nil)
            }
        }
    }

    private func posted(unsent: (message: FileMessage, peerID: String?)? = nil) {
        postingCount -= 1
        if let unsent, unposted.count < Self.postingMax { unposted.append(unsent) }
    }

    /// What was to be said to somebody whom the transport had not met yet.
    private func postAgain(to peer: SessionPeer?) {
        let due = unposted
        unposted = []
        for (message, peerID) in due {
            if peer.map({ $0.id == peerID }) ?? true {
                post(message, to: peerID)
            } else {
                unposted.append((message, peerID))
            }
        }
    }

    func report(_ event: DiagnosticEvent) { connection.diagnostics.publish(event) }
}

extension SessionConnection {
    /// What one chunk may have.
    var chunkBytesMax: Int {
        guard let limit = transport.capabilities.maximumPayloadSize else { return FileFlow.chunkBytesMax }
        // A codec for people writes four characters for three bytes.
        return min(max(1, (limit - FileMessage.chunkOverhead) / 4 * 3), FileFlow.chunkBytesMax)
    }

    /// - Parameter peerID: nil for whoever is there.
    func send(_ message: FileMessage, mode: SessionDeliveryMode, to peerID: String?) async throws {
        try await send([message], mode: mode, to: peerID)
    }

    func send(_ messages: [FileMessage], mode: SessionDeliveryMode, to peerID: String?) async throws {
        let envelopes = try messages.map { message in
            try AnySessionSyncEnvelope(
                SessionSyncEnvelope(
                    metadata: SessionSyncMetadata(
                        sessionID: sessionID, featureID: FileMessage.featureID, sourcePeerID: transport.localPeer.id,
                        sequence: 0, causalTimestamp: clock.wall, payloadType: FileMessage.payloadType),
                    payload: message))
        }
        try await transport.send(envelopes, mode: mode, to: try peer(peerID))
    }

    private func peer(_ id: String?) throws -> SessionPeer? {
        // A loopback comes back to whoever sends to all.
        guard let id, id != transport.localPeer.id else { return nil }
        guard let peer = transport.knownPeers.first(where: { $0.id == id }) else { throw ConnectionError.notReachable }
        return peer
    }
}

// MARK: - Time

extension FileExchange {
    private func tick() {
        guard !isStopped else { return }
        let now = now
        for (key, file) in incoming.sorted(by: { $0.value.arrival < $1.value.arrival }) where file.phase == .active {
            guard let due = file.flow?.deadline else { continue }
            if due <= now { ask(key) } else { timer.wake(at: due) }
        }
        for id in outgoing.keys.sorted(by: { $0.uuidString < $1.uuidString }) { repeatOffer(id) }
        lookAfterUnclaimed()
    }

    func reachabilityChanged(_ change: SessionPeerReachability) {
        restore()
        guard !isStopped else { return }
        let files = incoming.sorted(by: { $0.value.arrival < $1.value.arrival }).filter { _, file in
            change.peer.map { $0.id == file.offer.peerID } ?? true
        }
        guard change.isReachable else {
            // Lanes that lose chunks find out by themselves.
            if isLossless { for (key, _) in files { incoming[key]?.flow?.disconnected(now: now) } }
            return activate()
        }
        let isAnew = hasConnectedAnew(change)
        postAgain(to: change.peer)
        for (key, file) in files {
            incoming[key]?.heard()
            incoming[key]?.flow?.reconnected(isAnew: isAnew)
            if file.phase == .active { ask(key) }
            if file.phase == .unclaimed {
                post(.held(file.offer.header.id), mode: .realtimeBestEffort, to: file.offer.peerID)
            }
        }
        activate()
        for id in outgoing.keys.sorted(by: { $0.uuidString < $1.uuidString }) {
            guard let peerID = outgoing[id]?.record.peerID, let peer = change.peer, peer.id != peerID else {
                outgoing[id]?.offers.restart(dueAt: now)
                repeatOffer(id)
                continue
            }
        }
    }

    /// False when a peer that did not answer for a while is back on the same connection, and for the first one that is told
    /// of: what was asked before went over that one.
    private func hasConnectedAnew(_ change: SessionPeerReachability) -> Bool {
        guard let peer = change.peer, let number = change.connection else { return true }
        if connectionNumbers[peer.id] == nil, connectionNumbers.count >= Self.connectionsMax {
            let known = Set(connection.transport.knownPeers.map(\.id))
            connectionNumbers = connectionNumbers.filter { known.contains($0.key) }
            guard connectionNumbers.count < Self.connectionsMax else { return false }
        }
        guard let before = connectionNumbers.updateValue(number, forKey: peer.id) else { return false }
        return before != number
    }
}
