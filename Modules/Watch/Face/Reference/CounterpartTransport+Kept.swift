import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRequests
import MeshTransport

/// Requests sent in the mesh's frames before the counterpart has proved that it understands them.
extension CounterpartTransport {
    func sendAndKeep(
        _ message: RequestMessage, _ envelope: AnySessionSyncEnvelope, _ mode: SessionDeliveryMode, _ peer: SessionPeer?
    ) async throws {
        try await sendByMesh(envelope, mode, peer)
        let copy = (eventID: envelope.metadata.eventID, isReliable: mode == .reliableEventually)
        let isUnderstood = state.withLock { state in
            if let index = state.keptRequests.firstIndex(where: { $0.message.id == message.id }) {
                state.keptRequests[index].message = message
                state.keptRequests[index].copies.append(copy)
            } else {
                if state.keptRequests.count == Self.keptMax { state.keptRequests.removeFirst() }
                state.keptRequests.append(KeptRequest(message: message, copies: [copy]))
            }
            return state.dialect != .reference
        }
        if !isUnderstood { await resendKept() }
    }

    /// Sends the kept requests again in the counterpart's own frames, unless they expired or have arrived.
    func resendKept() async {
        while let item = takeKept() {
            if withdraw(item) { try? await send(item.message) }
        }
    }

    /// Takes the oldest kept request. The others stay in `keptRequests`, where they can still be cancelled or expire.
    private func takeKept() -> KeptRequest? {
        let wall = clock.wall.millisecondsSince1970
        return state.withLock { state in
            guard state.dialect == .reference else { return nil }
            state.keptRequests.removeAll { $0.message.expiresAt.map { $0 <= wall } ?? false }
            return state.keptRequests.isEmpty ? nil : state.keptRequests.removeFirst()
        }
    }

    /// Cancels the mesh's copies, so that an app that is updated later doesn't run the request again.
    /// - Returns: False if the counterpart already has the request: the mesh no longer keeps a reliable copy.
    private func withdraw(_ item: KeptRequest) -> Bool {
        var isWaiting = !item.copies.contains(where: \.isReliable)
        for copy in item.copies {
            let isGone = wrapped.cancel(eventID: copy.eventID, featureID: RequestMessage.featureID)
            if copy.isReliable, isGone { isWaiting = true }
        }
        return isWaiting
    }
}
