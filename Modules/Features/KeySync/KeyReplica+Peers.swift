import MeshBase
import MeshRegister

// Peers come, go, and are asked again.
extension KeyReplica {
    /// A peer is there: at activation, at a change of pairing, when it comes into reach.
    mutating func meet(_ id: String) {
        guard peers[id] != nil || makeRoom() else { return }
        var peer = peers[id] ?? KeyPeer()
        peer.isReachable = true
        let newest = peers.values.map(\.order).max() ?? 0
        if newest == 0 || peer.order < newest { peer.order = newest &+ 1 }
        changedPeers.insert(id)
        peer.retry.reset()
        peer.told = StateVector()
        if !peer.isAsked { peer.isToBeAsked = true }
        peers[id] = peer
    }

    mutating func lose(_ id: String) { peers[id]?.isReachable = false }

    mutating func forget(_ id: String) {
        guard peers.removeValue(forKey: id) != nil else { return }
        changedPeers.insert(id)
        changedDownloads.insert(id)
    }

    /// What waits too long is asked and sent again: after 2 s, 4 s, … 5 min.
    /// - Parameter isUndelivered: whether what a peer was sent last has yet to arrive. Then it is only waited for.
    mutating func tick(at now: Duration, isUndelivered: (String) -> Bool = { _ in false }) {
        planRetries(at: now)
        for (id, var peer) in peers {
            guard peer.retry.takeDue(at: now) else { continue }
            peer.retry.plan(at: now)
            if !isUndelivered(id) {
                peer.takeBack()
                if peer.isAsked || hasLooseKeys(of: peer) { (peer.isAsked, peer.isToBeAsked) = (false, true) }
            }
            peers[id] = peer
        }
    }

    /// Gives what waits a time. One that was planned for what has been answered since is not for what is sent next.
    /// - Returns: the first; nil where nothing waits.
    @discardableResult
    mutating func planRetries(at now: Duration) -> Duration? {
        for (id, peer) in peers {
            let waits = peer.isReachable && (peer.isWaiting || hasLooseKeys(of: peer))
            if waits { peers[id]?.retry.plan(at: now) } else { peers[id]?.retry.cancel() }
        }
        return peers.values.compactMap(\.retry.dueAt).min()
    }

    /// Whether there is a key that should travel and of which nothing is known or under way: only asking can tell.
    /// Complexity: O(keys).
    private func hasLooseKeys(of peer: KeyPeer) -> Bool {
        table.records.indices.contains { place in
            peer.isLoose(place) && table.records[place].entry != nil && isAutomatic(place)
                && refusal(table.records[place].rule) == nil
        }
    }
}
