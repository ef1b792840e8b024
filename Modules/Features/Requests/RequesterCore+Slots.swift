import Foundation
import MeshConnection
import MeshIdentity
import MeshTransport

/// Requests in the lane `latest`: one for each type and peer, the newest.
extension RequesterCore {
    struct Slot: Sendable {
        /// The request's.
        let id: UUID
        let type: String
        let peer: SessionPeer?
        /// Who has taken a fire-and-forget request out of it.
        var takers: Set<String> = []
    }

    /// Takes the place of what is in the slot, whose caller gets `cancelled`.
    mutating func occupySlot(_ call: RequestCall, of peer: SessionPeer?, _ now: RequestMoment) {
        let superseded = slots.filter { slot in
            slot.type == call.type && slot.id != call.id
                && (slot.peer == nil || peer == nil || slot.peer?.id == peer?.id)
        }
        slots.removeAll { slot in slot.id == call.id || superseded.contains { $0.id == slot.id } }
        slots.append(Slot(id: call.id, type: call.type, peer: peer))
        for old in superseded { finish(old.id, .failure(.cancelled), now) }
    }

    /// What was in the slot is no longer asked.
    mutating func vacateSlot(of id: UUID, _ now: RequestMoment) {
        guard let index = slots.firstIndex(where: { $0.id == id }) else { return }
        let slot = slots.remove(at: index)
        emptySlot(id, type: slot.type, peer: slot.peer, now)
    }

    /// A peer has taken a fire-and-forget request out of its slot. The last of those who were to get it empties it.
    mutating func recordTaker(of message: RequestMessage, by peerID: String, _ now: RequestMoment) {
        guard let index = slots.firstIndex(where: { $0.id == message.id }) else {
            return vacateForeignSlot(message, now)
        }
        slots[index].takers.insert(peerID)
        let slot = slots[index]
        if slot.peer != nil || slot.takers.count >= now.peers.count { vacateSlot(of: message.id, now) }
    }

    /// A peer has answered what a process before this one had put into the slot.
    mutating func vacateForeignSlot(_ message: RequestMessage, _ now: RequestMoment) {
        let isTaken = slots.contains { $0.type == message.type }
        if !isTaken { emptySlot(message.id, type: message.type, peer: nil, now) }
    }

    private mutating func emptySlot(_ id: UUID, type: String, peer: SessionPeer?, _ now: RequestMoment) {
        // A peer can ask for it as often as it likes. What stays in its slot is asked of nobody once it has expired.
        guard writes.count < Self.callsMax else { return }
        _ = hand(RequestMessage(.none, id: id, type: type), mode: .latestSnapshot, to: peer, of: nil)
        writeNext(now)
    }

    /// The transport is done with that one, if it was a slot's.
    mutating func endWrite(_ copy: UUID, _ now: RequestMoment) {
        guard written == copy else { return }
        written = nil
        writeNext(now)
    }

    /// Gives the transport what is to be in the next slot, once it is done with the one before.
    mutating func writeNext(_ now: RequestMoment) {
        while written == nil, !writes.isEmpty {
            let copy = writes.removeFirst()
            if isDue(copy) {
                written = copy.id
                direct(.send(copy))
            } else if isWanted(copy.id) {
                handed(copy.id, nil, now)
            }
        }
    }

    /// A request that has left its slot is not written, nor is the slot emptied while one is in it.
    private func isDue(_ copy: RequestCopy) -> Bool {
        let occupant = slots.last { $0.type == copy.message.type && $0.peer?.id == copy.peer?.id }?.id
        let isEmptying = copy.message.kind == RequestMessage.Kind.none.rawValue
        return occupant == (isEmptying ? nil : copy.message.id)
    }
}
