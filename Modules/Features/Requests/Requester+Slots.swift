import Foundation
import MeshBus
import MeshConnection
import MeshIdentity
import MeshTransport

/// Runs one body after another, in the order in which they came. A body is cancelled with its caller.
actor SlotWriter {
    private var last: Task<Void, Never>?

    func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task { [last] in
            await last?.value
            try await body()
        }
        last = Task { _ = await task.result }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}

/// Requests in the lane `latest`: one for each type and peer, the newest.
extension Requester {
    /// Takes the place of what is in the slot, whose caller gets `cancelled`.
    func occupySlot(_ call: RequestCall, to peer: SessionPeer?) async throws {
        let superseded = state.withLock { state in
            let isMeant = { (slot: ContextSlot) in
                slot.type == call.type && slot.id != call.id
                    && (slot.peer == nil || peer == nil || slot.peer?.id == peer?.id)
            }
            let superseded = state.slots.filter(isMeant).compactMap { state.calls[$0.id] }
            state.slots.removeAll { isMeant($0) || $0.id == call.id }
            state.slots.append(ContextSlot(id: call.id, type: call.type, peer: peer))
            return superseded
        }
        for old in superseded { finish(old, .failure(.cancelled)) }
        try await writeSlot(type: call.type, peer: peer, message: message(of: call, over: .context, to: peer))
    }

    /// What was in the slot is no longer asked.
    func vacateSlot(of id: UUID) {
        let slot = state.withLock { state in
            let index = state.slots.firstIndex { $0.id == id }
            return index.map { state.slots.remove(at: $0) }
        }
        if let slot { emptySlot(slot) }
    }

    /// A peer has taken a fire-and-forget request out of its slot. The last of those who were to get it empties it.
    func noteTaken(_ message: RequestMessage, by peerID: String) {
        let peerCount = post.transport.knownPeers.count
        let isDone: Bool? = state.withLock { state in
            guard let index = state.slots.firstIndex(where: { $0.id == message.id }) else { return nil }
            state.slots[index].takers.insert(peerID)
            return state.slots[index].peer != nil || state.slots[index].takers.count >= peerCount
        }
        guard let isDone else { return vacateForeignSlot(message) }
        if isDone { vacateSlot(of: message.id) }
    }

    /// A peer has answered what a process before this one had put into the slot.
    func vacateForeignSlot(_ message: RequestMessage) {
        let isTaken = state.withLock { state in state.slots.contains { $0.type == message.type } }
        if !isTaken { emptySlot(ContextSlot(id: message.id, type: message.type, peer: nil)) }
    }

    private func emptySlot(_ slot: ContextSlot) {
        let empty = RequestMessage(.none, id: slot.id, type: slot.type)
        Task { try? await writeSlot(type: slot.type, peer: slot.peer, message: empty) }
    }

    /// One after another. A request that has left the slot is not written, nor is the slot emptied while one is in it.
    private func writeSlot(type: String, peer: SessionPeer?, message: RequestMessage) async throws {
        try await slotWriter.run { [self] in
            let occupant = state.withLock { state in
                state.slots.last { $0.type == type && $0.peer?.id == peer?.id }?.id
            }
            let isEmptying = message.kind == RequestMessage.Kind.none.rawValue
            if occupant == (isEmptying ? nil : message.id) { try await post.publish(message, to: peer) }
        }
    }
}
