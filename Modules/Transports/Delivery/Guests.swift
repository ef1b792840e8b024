import MeshFoundation
import MeshIdentity
import MeshTransport
import MeshWire

/// The guests that each session and feature admits, in addition to the peers that the link trusts. Holds the set that
/// each session and feature named last.
///
/// Kept in memory only. A guest for which there was no space isn't admitted until a session names it again.
struct Guests: Sendable {
    /// The session and feature to which a guest is admitted.
    struct Scope: Hashable {
        let sessionID: UUID
        let featureID: String
    }

    /// Maximum number of guests of all sessions together, each peer counted once.
    static let peersMax = 64
    static let sessionsMax = 16

    private var peerIDs: [Scope: Set<String>] = [:]

    /// All guests, each once.
    var all: Set<String> { peerIDs.values.reduce(into: []) { $0.formUnion($1) } }

    func contains(_ peerID: String) -> Bool { peerIDs.values.contains { $0.contains(peerID) } }

    /// Returns true if the message may pass between this side and the guest. Hellos, goodbyes and reports always may:
    /// they concern the connection. A snapshot request names no feature, so it may pass if any feature of its session
    /// admits the guest.
    func isVisible(_ message: WireMessage, to peerID: String) -> Bool {
        switch message {
        case .envelope(let envelope): contains(peerID, envelope.metadata)
        case .snapshot(let snapshot): contains(peerID, snapshot.metadata)
        case .snapshotRequest(let request):
            peerIDs.contains { $0.key.sessionID == request.sessionID && $0.value.contains(peerID) }
        case .hello, .goodbye, .report: true
        }
    }

    private func contains(_ peerID: String, _ metadata: SessionSyncMetadata) -> Bool {
        let scope = Scope(sessionID: metadata.sessionID, featureID: metadata.featureID)
        return peerIDs[scope]?.contains(peerID) == true
    }

    /// Replaces the guests of a session and feature.
    /// - Returns: whether the guests have changed, and the rejected peers. Without space for all new guests, those with
    ///   the highest IDs are rejected.
    mutating func admit(_ named: Set<String>, to scope: Scope) -> (hasChanged: Bool, refused: [String]) {
        let before = peerIDs[scope] ?? []
        guard named != before else { return (false, []) }
        peerIDs[scope] = nil
        guard !named.isEmpty else { return (true, []) }
        guard peerIDs.count < Self.sessionsMax else { return (false, named.sorted()) }
        let others = all
        // Admitted guests stay.
        var admitted = named.filter { before.contains($0) || others.contains($0) }
        var freeCount = Self.peersMax - others.union(admitted).count
        var refused: [String] = []
        for peerID in named.subtracting(admitted).sorted() {
            guard freeCount > 0 else {
                refused.append(peerID)
                continue
            }
            admitted.insert(peerID)
            freeCount -= 1
        }
        if !admitted.isEmpty { peerIDs[scope] = admitted }
        return (admitted != before, refused)
    }
}

extension DeliveryCore {
    /// Returns true if the message may pass between this side and the peer, in either direction.
    func isVisible(_ message: WireMessage, to index: Int) -> Bool {
        !peers[index].isGuest || guests.isVisible(message, to: peers[index].peer.id)
    }

    /// Returns false for a guest's message that belongs to none of its sessions. Reports the first such message of each
    /// guest.
    mutating func acceptsFromGuest(_ message: WireMessage, _ index: Int) -> Bool {
        guard !isVisible(message, to: index) else { return true }
        peers[index].refusedCount += 1
        guard peers[index].refusedCount == 1 else { return false }
        let what = message.metadata.map { "a message of '\($0.featureID)'" } ?? "a snapshot request"
        report(
            .rejected(
                peerID: peers[index].peer.id,
                reason: "a guest sent \(what) in a session that doesn't admit it; later ones aren't reported"))
        return false
    }

    /// - Returns: true if the guests have changed.
    mutating func admit(guests named: Set<String>, to scope: Guests.Scope) -> Bool {
        let (hasChanged, refused) = guests.admit(named.subtracting([localPeer.id]), to: scope)
        if let first = refused.first {
            let bounds = "\(Guests.peersMax) guests of \(Guests.sessionsMax) sessions"
            report(.rejected(peerID: first, reason: "\(refused.count) guests exceed the limit of \(bounds)"))
        }
        guard hasChanged else { return false }
        for index in peers.indices where peers[index].isGuest {
            // The guest may now be allowed more snapshots, and withdrawn messages free space.
            peers[index].hasLatestDue = true
            withdrawFromGuest(index)
            markWritable(index)
        }
        for peerID in peers.filter({ $0.isGuest && $0.address == nil }).map(\.peer.id) { forgetFormerGuest(peerID) }
        return true
    }

    /// Withdraws messages that the guest must not get: accepted before it was a guest, or for a session that no longer
    /// names it.
    mutating func withdrawFromGuest(_ index: Int) {
        guard peers[index].isGuest, peers[index].outstandingCount > 0 else { return }
        let (guests, peerID) = (guests, peers[index].peer.id)
        let gone = withdraw(index) { !guests.isVisible($0.message, to: peerID) }
        guard !gone.isEmpty else { return }
        report(.dropped(count: gone.count, reason: "the sessions of these messages don't admit the guest '\(peerID)'"))
    }

    /// Forgets a disconnected guest that no session names.
    mutating func forgetFormerGuest(_ peerID: String) {
        guard let index = peerIndex[peerID], peers[index].isGuest, peers[index].address == nil, !guests.contains(peerID)
        else { return }
        forget(peerID)
    }
}
