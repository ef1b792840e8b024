import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshStorage
import MeshTransport

/// Runs all file transfers of one connection. Only this actor changes the outgoing records and the inbox, except that
/// `InboxCarrierObserver` adds carried files.
///
/// Only the messages that begin or end a transfer are sent reliably. Lost messages of other kinds are requested again.
actor FileExchange {
    /// A change that the app sees. At most 130 for each transfer, and two for each file that waits for the app.
    enum Event: Sendable {
        case began(TransferKey, path: String, metadata: [String: MetadataValue]?)
        case progressed(TransferKey, Double)
        case ended(TransferKey, ConnectionError?)
        /// A file is ready for the app.
        case received(ReceivedFile, key: String)
        /// The app has taken a file.
        case taken(key: String)
    }

    /// Maximum number of control messages waiting for the transport. Excess ones are dropped, and the peer asks again.
    static let postingMax = 256
    /// Maximum number of peers whose connection number is remembered. Equals the bound in MeshDelivery.
    static let connectionsMax = 1024
    /// Time of silence before the first repeated offer. The wait doubles each time.
    static let offerPatience = Duration.seconds(5)

    nonisolated let connection: any SessionConnection
    nonisolated let inbox: FileInbox
    nonisolated let system: SystemFiles
    nonisolated let carrier: (any FileCarrier)?
    nonisolated let events: AsyncStream<Event>.Continuation
    /// True if the transport loses chunks only when the connection ends. Decides how both sides retry.
    nonisolated let isLossless: Bool

    var outgoing: [UUID: Outgoing] = [:]
    var incoming: [String: Incoming] = [:]
    /// Files that `transferFile` is hashing.
    var starting: Set<UUID> = []
    /// Files of earlier launches with a changed date or inode, in the order of hashing. The first is being hashed.
    var rehashQueue: [UUID] = []
    /// Failed transfers whose records the store couldn't delete. A relaunch would send their files. At most
    /// `FileTransferLimits.outstandingMax`, because each record that the store accepts is written with their deletion.
    var undeleted: Set<UUID> = []
    /// The schedule for deleting them.
    var deletions = RetryPlan(from: FileExchange.offerPatience, to: .seconds(60))
    var arrivals: UInt64 = 0
    /// The schedule of checks for files that the app has moved away.
    var claims = RetryPlan(from: .seconds(1), to: .seconds(60))
    lazy var timer = RetryTimer(connection.clock) { [weak self] in Task { await self?.tick() } }
    /// The last connection number at which each peer was reachable. At most `connectionsMax` entries.
    private var connectionNumbers: [String: UInt64] = [:]
    private var postingCount = 0
    private var unsentMessages: [(message: FileMessage, peerID: String?)] = []
    private var isRestored = false
    /// True once the stored transfers were read. Until then, this device tells no peer that a transfer doesn't exist.
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

    /// Indicates whether a file is being hashed, which may take long.
    var isReading: Bool {
        !starting.isEmpty || !rehashQueue.isEmpty || incoming.values.contains { $0.phase == .verifying }
    }
    /// Indicates whether the transport has yet to accept a message.
    var isSending: Bool { postingCount > 0 || outgoing.values.contains(where: \.isPumping) }

    var now: Duration { connection.clock.elapsed }

    /// Restores the transfers of earlier launches. Idempotent; called before every other operation.
    func restore() {
        guard !isStopped else { return }
        if !isRestored {
            isRestored = true
            restoreIncoming()
        }
        if !knowsOutgoing { restoreOutgoing() }
    }

    /// Stops sending, writing and reporting. Files on disk and records in the store stay.
    func stop() {
        isStopped = true
        outgoing = [:]
        incoming = [:]
        events.finish()
    }
}

/// Identifies a transfer on this connection.
enum TransferKey: Hashable, Sendable {
    case outgoing(UUID)
    /// The inbox's key, and the sender's ID of the transfer.
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

    /// Sends without waiting. Keeps a reliable message that can't be sent, until its peer becomes reachable.
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
        if let unsent, unsentMessages.count < Self.postingMax { unsentMessages.append(unsent) }
    }

    /// Sends failed messages again, if they are for this peer.
    private func resendUnsent(to peer: SessionPeer?) {
        let due = unsentMessages
        unsentMessages = []
        for (message, peerID) in due {
            if peer.map({ $0.id == peerID }) ?? true {
                post(message, to: peerID)
            } else {
                unsentMessages.append((message, peerID))
            }
        }
    }

    func report(_ event: DiagnosticEvent) { connection.diagnostics.publish(event) }
}

extension SessionConnection {
    /// Maximum number of bytes in one chunk.
    var chunkBytesMax: Int {
        guard let limit = transport.capabilities.maximumPayloadSize else { return FileFlow.chunkBytesMax }
        // A text codec encodes three bytes as four characters (Base64).
        return min(max(1, (limit - FileMessage.chunkOverhead) / 4 * 3), FileFlow.chunkBytesMax)
    }

    /// - Parameter peerID: nil for all peers.
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
        // A loopback returns only messages to all peers.
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
        checkUnclaimed()
        deleteRecords()
    }

    func reachabilityChanged(_ change: SessionPeerReachability) {
        restore()
        guard !isStopped else { return }
        let files = incoming.sorted(by: { $0.value.arrival < $1.value.arrival }).filter { _, file in
            change.peer.map { $0.id == file.offer.peerID } ?? true
        }
        guard change.isReachable else {
            // On a lossy lane, the retry timer notices by itself.
            if isLossless { for (key, _) in files { incoming[key]?.flow?.disconnected(now: now) } }
            return activate()
        }
        let isNewConnection = hasNewConnection(change)
        resendUnsent(to: change.peer)
        for (key, file) in files {
            incoming[key]?.noteSenderActivity()
            incoming[key]?.flow?.reconnected(isNewConnection: isNewConnection)
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

    /// Returns false if the peer is on the same connection as before, or is reported for the first time. In both cases
    /// earlier requests went over this connection and may still be answered. Also returns false beyond `connectionsMax`
    /// peers.
    private func hasNewConnection(_ change: SessionPeerReachability) -> Bool {
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
