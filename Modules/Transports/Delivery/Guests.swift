import MeshFoundation
import MeshIdentity
import MeshTransport
import MeshWire

/// Who may come in for one session alone, beside those whom the link trusts by itself: what sessions have said last.
///
/// In memory only. Whoever finds no room is not let in until it is named again.
struct Guests: Sendable {
    /// What a guest is let in for.
    struct Scope: Hashable {
        let sessionID: UUID
        let featureID: String
    }

    /// Of all sessions together, each peer once.
    static let peersMax = 64
    static let sessionsMax = 16

    private var peerIDs: [Scope: Set<String>] = [:]

    /// Each once.
    var all: Set<String> { peerIDs.values.reduce(into: []) { $0.formUnion($1) } }

    func contains(_ peerID: String) -> Bool { peerIDs.values.contains { $0.contains(peerID) } }

    /// Whether that message may pass between this side and the guest. Greetings, farewells and reports do: they are of the
    /// connection. A request for a snapshot names no feature, so that of any in its session will do.
    func mayPass(_ message: WireMessage, _ peerID: String) -> Bool {
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

    /// Takes the place of what was said of that session and feature.
    /// - Returns: whether anything is different now, and who has found no room: of those that are new the highest ids.
    mutating func admit(_ named: Set<String>, to scope: Scope) -> (hasChanged: Bool, refused: [String]) {
        let before = peerIDs[scope] ?? []
        guard named != before else { return (false, []) }
        peerIDs[scope] = nil
        guard !named.isEmpty else { return (true, []) }
        guard peerIDs.count < Self.sessionsMax else { return (false, named.sorted()) }
        let others = all
        // Whoever is in stays in.
        var admitted = named.filter { before.contains($0) || others.contains($0) }
        var room = Self.peersMax - others.union(admitted).count
        var refused: [String] = []
        for peerID in named.subtracting(admitted).sorted() {
            guard room > 0 else {
                refused.append(peerID)
                continue
            }
            admitted.insert(peerID)
            room -= 1
        }
        if !admitted.isEmpty { peerIDs[scope] = admitted }
        return (admitted != before, refused)
    }
}

extension DeliveryCore {
    /// Whether that message may pass between this side and the peer, in either direction.
    func mayPass(_ message: WireMessage, _ index: Int) -> Bool {
        !peers[index].isGuest || guests.mayPass(message, peers[index].peer.id)
    }

    /// Of a guest nothing is taken but what is of its sessions. Told once of each guest.
    mutating func takes(_ message: WireMessage, _ index: Int) -> Bool {
        guard !mayPass(message, index) else { return true }
        peers[index].refusedCount += 1
        guard peers[index].refusedCount == 1 else { return false }
        let what = message.metadata.map { "something of '\($0.featureID)'" } ?? "a request"
        report(
            .rejected(
                peerID: peers[index].peer.id,
                reason: "it sent \(what) in a session of which it is no guest; no more of these are told"))
        return false
    }

    /// - Returns: whether anything is different now.
    mutating func admit(guests named: Set<String>, to scope: Guests.Scope) -> Bool {
        let (hasChanged, refused) = guests.admit(named.subtracting([localPeer.id]), to: scope)
        if let first = refused.first {
            let bounds = "\(Guests.peersMax) guests of \(Guests.sessionsMax) sessions"
            report(.rejected(peerID: first, reason: "\(refused.count) of more than \(bounds) are not let in"))
        }
        guard hasChanged else { return false }
        for index in peers.indices where peers[index].isGuest {
            // There may be more that it is to have, and room where something is withdrawn.
            peers[index].hasLatestDue = true
            withdrawFromGuest(index)
            markWritable(index)
        }
        for peerID in peers.filter({ $0.isGuest && $0.address == nil }).map(\.peer.id) { forgetFormerGuest(peerID) }
        return true
    }

    /// What was accepted for a peer before it was a guest, or for a session of which it is none any more, is owed no longer.
    mutating func withdrawFromGuest(_ index: Int) {
        guard peers[index].isGuest, peers[index].outstandingCount > 0 else { return }
        let (guests, peerID) = (guests, peers[index].peer.id)
        let gone = withdraw(index) { !guests.mayPass($0.message, peerID) }
        guard !gone.isEmpty else { return }
        report(.dropped(count: gone.count, reason: "'\(peerID)' is a guest, and of other sessions"))
    }

    /// Of a guest of nothing nothing is kept, once it has gone.
    mutating func forgetFormerGuest(_ peerID: String) {
        guard let index = peerIndex[peerID], peers[index].isGuest, peers[index].address == nil, !guests.contains(peerID)
        else { return }
        forget(peerID)
    }
}
