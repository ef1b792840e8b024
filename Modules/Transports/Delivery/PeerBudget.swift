import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

/// What one peer makes this side hold, in bytes: charged where something of the peer's is put away, released where it goes.
///
/// A peer that keeps to its own bounds meets none of these: it has 64 MiB under way at most, in 4096 messages. What is
/// beyond is refused and not acknowledged, so that it comes again; nothing that was taken is let go.
struct PeerBudget: Sendable {
    enum Holding: Int, CaseIterable, Sendable {
        /// Numbered messages that came before their turn, or wait for the subscribers or for the store.
        case messages
        /// The newest snapshots that the store keeps.
        case snapshots

        var bytesMax: Int {
            switch self {
            // What a sender may have under way, and what its messages take beside their payloads.
            case .messages: 80 << 20
            case .snapshots: 64 << 20
            }
        }
    }

    /// Messages that are now or never and wait for one connection.
    static let immediateBytesMax = 64 << 20
    /// Peers that are remembered.
    static let peersMax = 1024
    /// A name: of a feature, a peer, a kind of payload. Longer ones are read from nobody.
    static let nameBytesMax = WireLimits.identifierBytesMax

    private var held = [Int](repeating: 0, count: Holding.allCases.count)

    subscript(holding: Holding) -> Int { held[holding.rawValue] }

    func hasRoom(for bytes: Int, as holding: Holding) -> Bool { self[holding] + bytes <= holding.bytesMax }

    mutating func charge(_ bytes: Int, as holding: Holding) { held[holding.rawValue] += bytes }

    /// What was never charged, as it was here before the process began, costs nothing.
    mutating func release(_ bytes: Int, as holding: Holding) {
        held[holding.rawValue] = max(0, held[holding.rawValue] - bytes)
    }
}

extension WireMessage {
    /// About what it takes in memory.
    var heldBytes: Int {
        switch self {
        case .envelope(let envelope): (envelope.encodedByteCount ?? 0) + envelope.metadata.heldBytes
        case .snapshot(let snapshot): snapshot.heldBytes + snapshot.metadata.heldBytes
        case .hello, .snapshotRequest, .goodbye, .report: SessionSyncMetadata.fixedBytes
        }
    }
}

extension SessionSyncMetadata {
    /// Measured: small messages that wait take 1.9 KB each.
    static let fixedBytes = 2048

    fileprivate var heldBytes: Int {
        Self.fixedBytes + featureID.utf8.count + sourcePeerID.utf8.count + payloadType.utf8.count
    }

    /// - Throws: `payloadTooLarge`, naming the limit, for a name that no peer would read.
    func checkNames() throws(SessionSyncError) {
        let longest = max(featureID.utf8.count, sourcePeerID.utf8.count, payloadType.utf8.count)
        guard longest > PeerBudget.nameBytesMax else { return }
        throw .payloadTooLarge(bytes: longest, limit: PeerBudget.nameBytesMax, limitID: "wire.identifier")
    }
}

/// Messages that are now or never, in the order in which they came, and what they take.
struct WaitingMessages: Sendable {
    private var messages = FirstInFirstOut<WireMessage>()
    private(set) var bytes = 0

    var count: Int { messages.count }
    var isEmpty: Bool { messages.isEmpty }

    /// The last to find room may exceed the bytes.
    func hasRoom(countMax: Int) -> Bool { count < countMax && bytes < PeerBudget.immediateBytesMax }

    mutating func append(_ message: WireMessage) {
        messages.append(message)
        bytes += message.heldBytes
    }

    mutating func takeFirst() -> WireMessage? {
        guard let first = messages.takeFirst() else { return nil }
        bytes -= first.heldBytes
        return first
    }

    /// The same, and whether half of the room is free from now on.
    mutating func takeFirst(countMax: Int) -> (message: WireMessage, freesHalf: Bool)? {
        let before = bytes
        guard let first = takeFirst() else { return nil }
        let half = PeerBudget.immediateBytesMax / 2
        return (first, count == countMax / 2 || (before > half && bytes <= half))
    }
}

extension DeliveryCore {
    /// Of peers that are nowhere and are owed nothing, as a guest is when no session names it, the one met first makes room
    /// for one more.
    /// - Throws: `oversized` when there is none.
    mutating func makeRoom(forPeer id: String) throws(WireError) {
        guard peerIndex[id] == nil, peers.count >= PeerBudget.peersMax else { return }
        let absent = peers.first { peer in
            peer.address == nil && peer.keptAddress == nil
                && (peer.outstandingCount == 0 || (peer.isGuest && !guests.contains(peer.peer.id)))
        }
        guard let absent else { throw WireError(.oversized, "there is no room for more than \(peers.count) peers") }
        forget(absent.peer.id)
    }
}

// MARK: - For whoever examines it

extension DeliveryPeer {
    /// What numbered messages take that have not been passed on, counted anew. O(messages).
    var heldBytes: Int { incoming.values.reduce(0) { $0 + $1.heldBytes } }
}

extension DeliveryCore {
    /// Nobody makes this side hold more than its budget, or than one message beyond it.
    var isWithinBudgets: Bool {
        peers.count <= PeerBudget.peersMax
            && peers.allSatisfy { peer in
                peer.incoming.count <= DeliveryPeer.channelsMax && peer.newest.count <= DeliveryPeer.channelsMax
                    && peer.heldBytes + peer.unstoredBytes <= PeerBudget.Holding.messages.bytesMax + (2 << 20)
                    && peer.heldBytes + peer.unstoredBytes == peer.budget[.messages]
            }
    }
}

extension LinkTransport {
    package var isWithinBudgets: Bool {
        let held = shell.inbox.heldBytes
        // What is promised, and one message beyond it; a bound that grew by mistake shows as one that is not kept.
        let inboxBytesMax = 66 << 20
        return shell.state.withLock { $0.core.isWithinBudgets } && held.waiting <= inboxBytesMax
            && held.newest <= inboxBytesMax
    }
}
