import Foundation
import MeshConnection
import MeshIdentity
import MeshTransport

/// Requests in the lane `latest`. Each slot holds the newest request of one type to one peer.
extension RequesterCore {
    struct Slot: Sendable {
        /// The request's ID.
        let id: UUID
        let type: String
        let peer: SessionPeer?
        /// Peers that have taken a fire-and-forget request from the slot.
        var receivers: Set<String> = []
    }

    /// Puts a request into its slot. The callers of the requests that it replaces get `cancelled`.
    mutating func occupySlot(_ call: RequestCall, of peer: SessionPeer?, _ now: RequestContext) {
        let superseded = slots.filter { slot in
            slot.type == call.type && slot.id != call.id
                && (slot.peer == nil || peer == nil || slot.peer?.id == peer?.id)
        }
        slots.removeAll { slot in slot.id == call.id || superseded.contains { $0.id == slot.id } }
        slots.append(Slot(id: call.id, type: call.type, peer: peer))
        for old in superseded { finish(old.id, .failure(.cancelled), now) }
    }

    /// Empties the slot of a request that has ended.
    mutating func vacateSlot(of id: UUID, _ now: RequestContext) {
        guard let index = slots.firstIndex(where: { $0.id == id }) else { return }
        let slot = slots.remove(at: index)
        emptySlot(id, type: slot.type, peer: slot.peer, now)
    }

    /// Notes that a peer has taken a fire-and-forget request. Empties the slot once all its peers have.
    mutating func recordReceiver(of message: RequestMessage, by peerID: String, _ now: RequestContext) {
        guard let index = slots.firstIndex(where: { $0.id == message.id }) else {
            return emptySlotOfEarlierLaunch(by: message, now)
        }
        slots[index].receivers.insert(peerID)
        let slot = slots[index]
        if slot.peer != nil || slot.receivers.count >= now.peers.count { vacateSlot(of: message.id, now) }
    }

    /// Empties a slot that an earlier process has filled, after a peer has answered.
    mutating func emptySlotOfEarlierLaunch(by message: RequestMessage, _ now: RequestContext) {
        let isTaken = slots.contains { $0.type == message.type }
        if !isTaken { emptySlot(message.id, type: message.type, peer: nil, now) }
    }

    private mutating func emptySlot(_ id: UUID, type: String, peer: SessionPeer?, _ now: RequestContext) {
        // Bounded, because a peer could trigger this any number of times. A request that stays in its slot still
        // expires.
        guard writes.count < Self.callsMax else { return }
        _ = submit(RequestMessage(.none, id: id, type: type), mode: .latestSnapshot, to: peer, of: nil)
        writeNext(now)
    }

    /// Ends the current write, if it was for this copy, and starts the next one.
    mutating func endWrite(_ copy: UUID, _ now: RequestContext) {
        guard currentWrite == copy else { return }
        currentWrite = nil
        writeNext(now)
    }

    /// Gives the transport the next copy for a slot once it has finished the last one, so that writes keep their order.
    mutating func writeNext(_ now: RequestContext) {
        while currentWrite == nil, !writes.isEmpty {
            let copy = writes.removeFirst()
            if isDue(copy) {
                currentWrite = copy.id
                direct(.send(copy))
            } else if isWanted(copy.id) {
                handleResult(of: copy.id, nil, now)
            }
        }
    }

    /// Returns false for a request that has left its slot, and for a copy that would empty an occupied slot.
    private func isDue(_ copy: RequestCopy) -> Bool {
        let occupant = slots.last { $0.type == copy.message.type && $0.peer?.id == copy.peer?.id }?.id
        let isEmptying = copy.message.kind == RequestMessage.Kind.none.rawValue
        return occupant == (isEmptying ? nil : copy.message.id)
    }
}
