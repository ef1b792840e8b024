import MeshIdentity
import MeshTransport
import MeshWire

/// What this peer sends to itself: nobody else sees its bytes, so none are made.
extension DeliveryCore {
    /// Passes an envelope on at once, if nothing waits before it and there is room for it.
    /// - Returns: whether it was.
    mutating func takeBack(_ item: Item, mode: SessionDeliveryMode) -> Bool {
        guard settings.returnsOwnPackets, !settings.isDurable, peers.count == 1, peers[0].outstandingCount == 0,
            peers[0].address != nil, case .envelope(let envelope) = item.message
        else { return false }
        switch mode {
        case .reliableEventually:
            guard room > 0 else { return false }
            guard peers[0].recent.insert(MessageID(envelope.metadata)) else { return true }
            room -= 1
            directives.arrivals.append(.durable(envelope))
        case .realtimeBestEffort, .acknowledgement:
            directives.arrivals.append(.envelope(envelope))
        case .latestSnapshot, .snapshotRequest:
            return false
        }
        return true
    }

    /// Takes back every frame that is to be sent.
    mutating func takeBackFrames(_ now: DeliveryTime) {
        guard settings.returnsOwnPackets else { return }
        while let address = directives.writable.popLast() {
            while let next = nextFrame(for: address, now) {
                do throws(WireError) {
                    try receive(next.frame, on: next.lane, from: address, now)
                } catch {
                    cannotRead(from: address, on: next.lane, error, now)
                }
            }
        }
    }
}
