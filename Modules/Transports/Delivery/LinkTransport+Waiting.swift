import MeshBase
import MeshTransport

// For networks in virtual time, which must know when nothing more will happen.
extension LinkTransport {
    /// True if a connected peer still owes a hello, an answer or an acknowledgement. Probes of a healthy peer don't
    /// count.
    package var isAwaitingAnswers: Bool { shell.state.withLock { $0.core.isAwaitingAnswers } }

    /// Ends the transport as a dying process would: without a goodbye.
    package func abandon() { shell.abandon() }
}

extension DeliveryCore {
    fileprivate var isAwaitingAnswers: Bool {
        connections.values.contains { $0.isAwaited } || peers.indices.contains { isAwaited($0) }
    }

    private func isAwaited(_ index: Int) -> Bool {
        let peer = peers[index]
        guard let address = peer.address, connections[address]?.isClosed == false,
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
    /// True if it has messages to send, or repeats its hello. After eight unanswered hellos it no longer counts.
    fileprivate var isAwaited: Bool {
        !isClosed && isLive && (!control.isEmpty || !immediate.isEmpty || (nextHelloAt != nil && helloCount < 8))
    }
}
