import Foundation
import MeshBus
import MeshConnection
import MeshIdentity
import MeshTransport

/// What comes back.
extension Requester {
    /// A reply that took longer says nothing about what time it is over there.
    static let clockPatience = Duration.seconds(2)

    func receive(_ message: RequestMessage, from peerID: String) {
        switch RequestMessage.Kind(rawValue: message.kind) {
        case .answer, .failure, .handlerFailure: settle(message, from: peerID)
        case .received: noteReceived(message, from: peerID)
        case .late: noteLate(message, from: peerID)
        case .echo: noteEcho(message, from: peerID)
        case .request, .probe, .none?: break
        case nil:
            let error = ConnectionError.incompatiblePeer(reason: "it says '\(message.kind)' about a request")
            report(.deliveryFailed(requestType: message.type, error: error, willRetry: false))
        }
    }

    /// A reply counts when its id, its peer and its type are those of a request that has none yet.
    private func settle(_ message: RequestMessage, from peerID: String) {
        guard let call = call(message.id) else {
            if message.method == .context { vacateForeignSlot(message) }
            if message.isFireAndForget == true, let error = message.failure {
                return report(.deliveryFailed(requestType: message.type, error: error, willRetry: false))
            }
            return ignore(message, because: "nobody waits for it any more")
        }
        guard call.type == message.type, isAsked(peerID, call) else {
            return ignore(message, because: "it is not what was asked, or not who was asked")
        }
        learnClock(message, of: peerID, call)
        if isRefusal(message), call.wish.peer == nil, post.transport.knownPeers.count > 1,
            call.noteRefusal(of: peerID) < post.transport.knownPeers.count
        {
            // Others were asked too, and may not have heard of it yet.
            return connection.health.succeeded()
        }
        finish(call, .success(message))
    }

    private func isRefusal(_ message: RequestMessage) -> Bool {
        if case .handlerNotRegistered = message.failure { return true }
        return false
    }

    private func isAsked(_ peerID: String, _ call: RequestCall) -> Bool {
        guard let peer = call.wish.peer else { return post.peer(peerID) != nil }
        return peer.id == peerID
    }

    private func ignore(_ message: RequestMessage, because reason: String) {
        state.withLock { $0.ignoredReplyCount += 1 }
        report(
            .deliveryFailed(
                requestType: message.type, error: .replyFailed(reason: "a reply was ignored: \(reason)"),
                willRetry: false))
    }

    /// The peer has it: nothing more needs to be sent.
    private func noteReceived(_ message: RequestMessage, from peerID: String) {
        if message.method == .context, call(message.id)?.isFireAndForget != false { noteTaken(message, by: peerID) }
        guard let call = call(message.id), call.type == message.type, isAsked(peerID, call) else { return }
        learnClock(message, of: peerID, call)
        connection.health.succeeded()
        dequeue { $0 === call }
        call.hear()
        guard call.isFireAndForget else { return }
        noteArrived(call)
        release(call)
    }

    /// It came too late by the clock over there. When it is still wanted here, the clocks differ.
    private func noteLate(_ message: RequestMessage, from peerID: String) {
        if message.method == .context, call(message.id) == nil { noteTaken(message, by: peerID) }
        guard let call = call(message.id), call.type == message.type, isAsked(peerID, call),
            let peer = post.peer(peerID), let clock = message.clock, call.noteLate()
        else { return }
        state.withLock { $0.clockAhead[peerID] = clock.millisecondsSince(post.wall) }
        let method = message.method ?? .message
        Task { try? await hand(call, over: method, to: peer) }
    }

    private func learnClock(_ message: RequestMessage, of peerID: String, _ call: RequestCall) {
        guard let clock = message.clock, let sentAt = call.sentAt, now - sentAt <= Self.clockPatience else { return }
        let middle = post.wall.advanced(byMilliseconds: -((now - sentAt).milliseconds / 2))
        state.withLock { $0.clockAhead[peerID] = clock.millisecondsSince(middle) }
    }

    private func call(_ id: UUID) -> RequestCall? { state.withLock { $0.calls[id] } }
}

// MARK: - Probes

extension Requester {
    private static let probeGap = Duration.seconds(1)

    /// - Returns: the round trip.
    /// - Throws: `notReachable` when nothing could be sent, `timeout`, `cancelled`.
    func probe(_ peer: SessionPeer?, timeout: Duration) async throws(ConnectionError) -> Duration {
        let message = RequestMessage(.probe, id: UUID(), type: "")
        let end = now + timeout
        var failure = ConnectionError.notReachable
        while now < end, !Task.isCancelled {
            let echo = Once<Bool>()
            state.withLock { $0.probes[message.id] = Probe(peerID: peer?.id, echo: echo) }
            defer { state.withLock { state in _ = state.probes.removeValue(forKey: message.id) } }
            let sentAt = now
            do {
                try await post.send(message, mode: .realtimeBestEffort, to: peer)
                failure = .timeout
            } catch {}
            let isBack = await withTaskCancellationHandler {
                await alarm.wait(for: echo, until: min(end, now + Self.probeGap))
            } onCancel: {
                echo.resolve(false)
            }
            guard isBack else { continue }
            connection.health.succeeded()
            return now - sentAt
        }
        if Task.isCancelled { throw .cancelled }
        throw failure
    }

    private func noteEcho(_ message: RequestMessage, from peerID: String) {
        let probe = state.withLock { $0.probes[message.id] }
        guard let probe, probe.peerID == nil || probe.peerID == peerID else { return }
        probe.echo.resolve(true)
    }
}
