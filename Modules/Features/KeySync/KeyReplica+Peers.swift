import MeshBase
import MeshRegister

// Adds and removes peers, and plans retries.
extension KeyReplica {
    /// Adds a reachable peer, and plans a request. Called at activation, and when pairing or reachability changes.
    mutating func meet(_ id: String) {
        guard peers[id] != nil || evictPeerIfNeeded() else { return }
        var peer = peers[id] ?? KeyPeer()
        peer.isReachable = true
        let newest = peers.values.map(\.order).max() ?? 0
        if newest == 0 || peer.order < newest { peer.order = newest &+ 1 }
        changedPeers.insert(id)
        peer.retry.reset()
        peer.sentRecord = StateVector()
        if !peer.awaitsAnswer { peer.needsRequest = true }
        peers[id] = peer
    }

    mutating func lose(_ id: String) { peers[id]?.isReachable = false }

    mutating func forget(_ id: String) {
        guard peers.removeValue(forKey: id) != nil else { return }
        changedPeers.insert(id)
        changedDownloads.insert(id)
    }

    /// Repeats unanswered requests and unconfirmed items, after 2 s, 4 s, … 5 min.
    /// - Parameter isUndelivered: returns true if the last message to a peer hasn't arrived. Then nothing is repeated.
    mutating func tick(at now: Duration, isUndelivered: (String) -> Bool = { _ in false }) {
        planRetries(at: now)
        for (id, var peer) in peers {
            guard peer.retry.takeDue(at: now) else { continue }
            peer.retry.plan(at: now)
            if !isUndelivered(id) {
                peer.requeueUnconfirmed()
                if peer.awaitsAnswer || hasKeysWithUnknownStatus(of: peer) {
                    (peer.awaitsAnswer, peer.needsRequest) = (false, true)
                }
            }
            peers[id] = peer
        }
    }

    /// Plans a retry for each reachable peer that owes an answer or a confirmation, or whose status for some key is
    /// unknown. Cancels all other retries, so that an old one doesn't fire for a new message.
    /// - Returns: the time of the first retry; nil if there is none.
    @discardableResult
    mutating func planRetries(at now: Duration) -> Duration? {
        for (id, peer) in peers {
            let waits = peer.isReachable && (peer.isWaiting || hasKeysWithUnknownStatus(of: peer))
            if waits { peers[id]?.retry.plan(at: now) } else { peers[id]?.retry.cancel() }
        }
        return peers.values.compactMap(\.retry.dueAt).min()
    }

    /// Returns true if the peer's status is unknown for a key that is sent automatically. Only a request can find it
    /// out. Complexity: O(keys).
    private func hasKeysWithUnknownStatus(of peer: KeyPeer) -> Bool {
        table.records.indices.contains { place in
            peer.isStatusUnknown(place) && table.records[place].entry != nil && isAutomatic(place)
                && refusal(table.records[place].rule) == nil
        }
    }
}
