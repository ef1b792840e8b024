import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport

/// Sends replies, receipts and echoes.
extension Responder {
    /// Answers a request that isn't run, even a fire-and-forget request: its sender has no other way to learn of the error.
    func reply(_ outcome: RequestOutcome, to request: RequestMessage, of peerID: String) {
        var answer = RequestMessage.reply(outcome, to: request)
        answer.isFireAndForget = request.isFireAndForget
        send(answer, to: peerID, mode: .reliableEventually)
    }

    /// Sends replies of an earlier process to peers that are known by now.
    func sendRestoredReplies() {
        let known = Set(sender.transport.knownPeers.map(\.id) + [sender.localPeerID])
        let replies = state.withLock { state in
            defer { state.restoredReplies.removeAll { known.contains($0.peerID) } }
            return state.restoredReplies.filter { known.contains($0.peerID) }
        }
        for (peerID, reply) in replies { send(reply, to: peerID, mode: .reliableEventually) }
    }

    /// Sends in a separate task, so that a slow peer doesn't block incoming requests.
    func send(_ message: RequestMessage, to peerID: String, mode: SessionDeliveryMode) {
        let hasRoom = state.withLock { state in
            guard state.sendingCount < Self.sendingMax,
                state.sendingBytes == 0 || state.sendingBytes + message.body.count <= Self.bytesMax
            else { return false }
            state.sendingCount += 1
            state.sendingBytes += message.body.count
            return true
        }
        guard hasRoom else { return failed(message, "too many replies wait to be sent") }
        Task {
            await deliver(message, to: peerID, mode: mode)
            state.withLock { state in
                state.sendingCount -= 1
                state.sendingBytes -= message.body.count
            }
        }
    }

    private func deliver(_ message: RequestMessage, to peerID: String, mode: SessionDeliveryMode) async {
        guard let peer = sender.peer(peerID) else { return failed(message, "the transport doesn't know '\(peerID)'") }
        var message = message
        message.clock = sender.wall
        do {
            try await sender.send(message, mode: mode, to: peer)
        } catch {
            let error = ConnectionError(error)
            failed(message, "\(error)")
            guard case .payloadTooLarge = error, message.kind != RequestMessage.Kind.failure.rawValue else { return }
            var shorter = RequestMessage.failure(error, id: message.id, type: message.type)
            shorter.method = message.method
            await ledger.answer(RequestKey(peerID: peerID, id: message.id), with: shorter)
            try? await sender.send(shorter, mode: mode, to: peer)
        }
    }

    private func failed(_ message: RequestMessage, _ reason: String) {
        // A lost receipt does no harm: the next copy triggers another one.
        guard ![.received, .late, .echo].contains(RequestMessage.Kind(rawValue: message.kind)) else { return }
        report(.deliveryFailed(requestType: message.type, error: .replyFailed(reason: reason), willRetry: false))
    }
}
