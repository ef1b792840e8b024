import MeshBase
import MeshTransport

/// For networks in virtual time, which have to know when nothing more is to be expected.
extension LinkTransport {
    /// Whether something is still to come of peers that are there: a greeting, an answer, an acknowledgement. A probe of a
    /// peer that is well does not count.
    package var isAwaitingAnswers: Bool { shell.state.withLock { $0.core.isAwaitingAnswers } }

    /// Ends it as its process would by dying: without a farewell.
    package func abandon() { shell.abandon() }
}

extension DeliveryCore {
    fileprivate var isAwaitingAnswers: Bool {
        connections.values.contains { $0.isAwaited } || peers.indices.contains { isAwaited($0) }
    }

    private func isAwaited(_ index: Int) -> Bool {
        let peer = peers[index]
        guard let address = peer.address, connections[address]?.isOver == false,
            peer.standing.health != .gone || peer.standing.isAwaited
        else { return false }
        return peer.standing.health != .reachable || peer.reportAt != .max || peer.outstandingCount > 0
            || published.keys.contains { feature in
                let progress = peer.latest[feature] ?? LatestProgress()
                return offer(feature, progress, index).map { $0.version > progress.acknowledged } ?? false
            }
            || peer.latest.values.contains { $0.sent > $0.acknowledged }
    }
}

extension DeliveryConnection {
    /// Has something to say, or is greeted again and again; a few times without an answer mean that nobody is there.
    fileprivate var isAwaited: Bool {
        !isOver && isLive && (!control.isEmpty || !immediate.isEmpty || (helloAt != nil && helloCount < 8))
    }
}
