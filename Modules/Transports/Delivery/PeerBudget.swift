import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

/// The memory that one peer occupies on this side, in bytes. Charged when this side starts to hold data of the peer,
/// and released when it drops the data.
///
/// A peer that respects the limits for senders never reaches these: it has at most 64 MiB in flight, in 4096 messages.
/// Messages beyond a limit are refused and not acknowledged, so they come again. An accepted message is never dropped.
struct PeerBudget: Sendable {
    enum Holding: Int, CaseIterable, Sendable {
        /// Numbered messages that came early, or wait for subscribers or the store.
        case messages
        /// The newest snapshots in the store.
        case snapshots

        var bytesMax: Int {
            switch self {
            // The bytes that a sender may have in flight, plus the overhead of its messages.
            case .messages: 80 << 20
            case .snapshots: 64 << 20
            }
        }
    }

    /// Maximum size of the best-effort messages that wait for one connection.
    static let immediateBytesMax = 64 << 20
    /// Maximum number of peers to remember.
    static let peersMax = 1024
    /// Maximum length of the name of a feature, a peer or a payload type. Longer names are never read.
    static let nameBytesMax = WireLimits.identifierBytesMax

    private var held = [Int](repeating: 0, count: Holding.allCases.count)

    subscript(holding: Holding) -> Int { held[holding.rawValue] }

    func hasSpace(for bytes: Int, as holding: Holding) -> Bool { self[holding] + bytes <= holding.bytesMax }

    mutating func charge(_ bytes: Int, as holding: Holding) { held[holding.rawValue] += bytes }

    /// Releases bytes, down to 0: data restored from the store was never charged.
    mutating func release(_ bytes: Int, as holding: Holding) {
        held[holding.rawValue] = max(0, held[holding.rawValue] - bytes)
    }
}

extension WireMessage {
    /// The approximate memory that the message takes.
    var heldBytes: Int {
        switch self {
        case .envelope(let envelope): (envelope.encodedByteCount ?? 0) + envelope.metadata.heldBytes
        case .snapshot(let snapshot): snapshot.heldBytes + snapshot.metadata.heldBytes
        case .hello, .snapshotRequest, .goodbye, .report: SessionSyncMetadata.fixedBytes
        }
    }
}

extension SessionSyncMetadata {
    /// Approximate memory of a small waiting message. Measured: 1.9 KB each.
    static let fixedBytes = 2048

    fileprivate var heldBytes: Int {
        Self.fixedBytes + featureID.utf8.count + sourcePeerID.utf8.count + payloadType.utf8.count
    }

    /// - Throws: `payloadTooLarge`, with the limit, for a name that no peer would read.
    func checkNames() throws(SessionSyncError) {
        let longest = max(featureID.utf8.count, sourcePeerID.utf8.count, payloadType.utf8.count)
        guard longest > PeerBudget.nameBytesMax else { return }
        throw .payloadTooLarge(bytes: longest, limit: PeerBudget.nameBytesMax, limitID: "wire.identifier")
    }
}

/// Best-effort messages that wait, oldest first, with their size.
struct WaitingMessages: Sendable {
    private var messages = FirstInFirstOut<WireMessage>()
    private(set) var bytes = 0

    var count: Int { messages.count }
    var isEmpty: Bool { messages.isEmpty }

    /// Returns true if another message may wait. The last one may exceed the limit in bytes.
    func hasSpace(countMax: Int) -> Bool { count < countMax && bytes < PeerBudget.immediateBytesMax }

    mutating func append(_ message: WireMessage) {
        messages.append(message)
        bytes += message.heldBytes
    }

    mutating func takeFirst() -> WireMessage? {
        guard let first = messages.takeFirst() else { return nil }
        bytes -= first.heldBytes
        return first
    }

    /// Removes the first message, and returns whether half of the space has just become free.
    mutating func takeFirst(countMax: Int) -> (message: WireMessage, freedHalf: Bool)? {
        let before = bytes
        guard let first = takeFirst() else { return nil }
        let half = PeerBudget.immediateBytesMax / 2
        return (first, count == countMax / 2 || (before > half && bytes <= half))
    }
}

extension DeliveryCore {
    /// Makes space for one more peer. Forgets the first peer met that has no address and no waiting messages. Messages
    /// for a guest that no session names don't count.
    /// - Throws: `oversized` if there is no such peer.
    mutating func makeSpace(forPeer id: String) throws(WireError) {
        guard peerIndex[id] == nil, peers.count >= PeerBudget.peersMax else { return }
        let absent = peers.first { peer in
            peer.address == nil && peer.keptAddress == nil
                && (peer.outstandingCount == 0 || (peer.isGuest && !guests.contains(peer.peer.id)))
        }
        guard let absent else { throw WireError(.oversized, "more than \(peers.count) peers") }
        forget(absent.peer.id)
    }
}

// MARK: - For tests

extension DeliveryPeer {
    /// Bytes of numbered messages that aren't passed on, counted again. O(messages).
    var heldBytes: Int { incoming.values.reduce(0) { $0 + $1.heldBytes } }
}

extension DeliveryCore {
    /// True if no peer exceeds its budget by more than one message, and the count is exact.
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
        // The promised bound and one message beyond it. Fixed, so that a bound that grew by mistake fails the check.
        let inboxBytesMax = 66 << 20
        return shell.state.withLock { $0.core.isWithinBudgets } && held.waiting <= inboxBytesMax
            && held.newest <= inboxBytesMax
    }
}
