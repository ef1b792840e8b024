import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRequests
import MeshTransport

/// Requests to a counterpart of which it is not proved that it understands the mesh's frames.
extension CounterpartTransport {
    func sendAndKeep(
        _ message: RequestMessage, _ envelope: AnySessionSyncEnvelope, _ mode: SessionDeliveryMode, _ peer: SessionPeer?
    ) async throws {
        try await sendByMesh(envelope, mode, peer)
        let copy = (eventID: envelope.metadata.eventID, isReliable: mode == .reliableEventually)
        let isUnderstood = state.withLock { state in
            if let index = state.kept.firstIndex(where: { $0.message.id == message.id }) {
                state.kept[index].message = message
                state.kept[index].copies.append(copy)
            } else {
                if state.kept.count == Self.keptMax { state.kept.removeFirst() }
                state.kept.append(Kept(message: message, copies: [copy]))
            }
            return state.dialect != .reference
        }
        if !isUnderstood { await resendKept() }
    }

    /// Sends in the counterpart's own frames what is still wanted of that which it has not understood.
    func resendKept() async {
        while let item = takeKept() {
            if withdraw(item) { try? await send(item.message) }
        }
    }

    /// One at a time, so that what is withdrawn or expires while others are sent stays here.
    private func takeKept() -> Kept? {
        let wall = clock.wall.millisecondsSince1970
        return state.withLock { state in
            guard state.dialect == .reference else { return nil }
            state.kept.removeAll { $0.message.expiresAt.map { $0 <= wall } ?? false }
            return state.kept.isEmpty ? nil : state.kept.removeFirst()
        }
    }

    /// Takes the mesh's copies back, which an app that is updated again would run once more.
    /// - Returns: false when the counterpart has had it: the mesh no longer has a copy that it keeps until then.
    private func withdraw(_ item: Kept) -> Bool {
        var isWaiting = !item.copies.contains(where: \.isReliable)
        for copy in item.copies {
            let isGone = wrapped.cancel(eventID: copy.eventID, featureID: RequestMessage.featureID)
            if copy.isReliable, isGone { isWaiting = true }
        }
        return isWaiting
    }
}
