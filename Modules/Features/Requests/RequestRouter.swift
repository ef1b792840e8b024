import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport

/// The entry point for messages about requests on every lane.
struct RequestRouter: Sendable {
    private weak let requester: Requester?
    private weak let responder: Responder?

    init(requester: Requester, responder: Responder) {
        self.requester = requester
        self.responder = responder
    }

    func pass(_ envelope: AnySessionSyncEnvelope) async {
        do {
            await pass(try envelope.decodePayload(as: RequestMessage.self), from: envelope.metadata.sourcePeerID)
        } catch {
            reject(envelope.metadata, error)
        }
    }

    func pass(_ snapshot: AnySessionSyncSnapshot) async {
        guard ContextFeature.isSlot(snapshot.metadata.featureID),
            snapshot.metadata.sessionID == requester?.connection.sessionID
        else { return }
        do {
            let message = try snapshot.decodeState(as: RequestMessage.self)
            // The slot's name must match the transport's sender and the message's type, so a peer can't write to another slot.
            let slot = ContextFeature(requester: snapshot.metadata.sourcePeerID, type: message.type)
            guard snapshot.metadata.featureID == slot.featureID else {
                let name = snapshot.metadata.featureID
                throw ConnectionError.incompatiblePeer(reason: "the slot '\(name)' doesn't match its sender and type")
            }
            await pass(message, from: snapshot.metadata.sourcePeerID)
        } catch {
            reject(snapshot.metadata, error)
        }
    }

    private func pass(_ message: RequestMessage, from peerID: String) async {
        guard message.type.utf8.count <= RequestMessage.typeBytesMax else {
            let error = ConnectionError.incompatiblePeer(
                reason: "a type's name has \(message.type.utf8.count) bytes, more than \(RequestMessage.typeBytesMax)")
            requester?.connection.diagnostics.publish(.deliveryFailed(requestType: "", error: error, willRetry: false))
            return
        }
        switch RequestMessage.Kind(rawValue: message.kind) {
        case .request: await responder?.receive(message, from: peerID)
        case .probe: responder?.echo(message, to: peerID)
        default: requester?.receive(message, from: peerID)
        }
    }

    private func reject(_ metadata: SessionSyncMetadata, _ error: any Error) {
        let reason = "'\(metadata.sourcePeerID)' sent an invalid message about a request: \(error)"
        requester?.connection.diagnostics.publish(
            .deliveryFailed(
                requestType: metadata.payloadType, error: .incompatiblePeer(reason: reason), willRetry: false))
    }
}
