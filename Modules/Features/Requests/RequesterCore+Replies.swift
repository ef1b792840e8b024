import MeshBase
import MeshConnection
import MeshIdentity

// Replies also carry the peer's wall clock. As in Cristian's algorithm, it is taken as the time in the middle of the round
// trip, and the difference from this clock is remembered. Deadlines are sent in the peer's time, so a wrong clock on either
// side expires no request that the caller still waits for.

/// Handles messages that peers send back.
extension RequesterCore {
    /// The longest round trip after which a reply is used to estimate the peer's clock.
    static let clockPatience = Duration.seconds(2)

    mutating func receive(_ message: RequestMessage, from peerID: String, _ now: RequestContext) {
        switch RequestMessage.Kind(rawValue: message.kind) {
        case .answer, .failure, .handlerFailure: receiveAnswer(message, from: peerID, now)
        case .received: receiveReceipt(message, from: peerID, now)
        case .late: receiveLate(message, from: peerID, now)
        case .echo: receiveEcho(message, from: peerID)
        case .request, .probe, .none?: break
        case nil:
            let error = ConnectionError.incompatiblePeer(
                reason: "'\(message.kind)' isn't a kind of message about a request")
            report(.deliveryFailed(requestType: message.type, error: error, willRetry: false))
        }
    }

    /// Ends a call with its reply. The reply's ID, peer and type must match an unanswered request.
    private mutating func receiveAnswer(_ message: RequestMessage, from peerID: String, _ now: RequestContext) {
        guard calls[message.id] != nil else {
            if message.method == .latest { emptySlotOfEarlierLaunch(by: message, now) }
            if message.isFireAndForget == true, let error = message.failure {
                return report(.deliveryFailed(requestType: message.type, error: error, willRetry: false))
            }
            return ignore(message, because: "its request has already ended")
        }
        guard var call = call(message, of: peerID, now) else {
            return ignore(message, because: "its type or sender doesn't match the request")
        }
        learnClock(message, of: peerID, call, now)
        if case .handlerNotRegistered = message.failure, call.options.peer == nil, now.peers.count > 1 {
            call.refusals.insert(peerID)
            calls[call.id] = call
            // Other peers were asked too and may still answer.
            if call.refusals.count < now.peers.count { return direct(.peerResponded) }
        }
        finish(call.id, .success(message), now)
    }

    /// Returns the message's call, if the type matches and the peer was asked.
    private func call(_ message: RequestMessage, of peerID: String, _ now: RequestContext) -> RequestCall? {
        guard let call = calls[message.id], call.type == message.type else { return nil }
        return (call.options.peer?.id ?? peer(peerID, now)?.id) == peerID ? call : nil
    }

    private mutating func ignore(_ message: RequestMessage, because reason: String) {
        ignoredReplyCount += 1
        report(
            .deliveryFailed(
                requestType: message.type, error: .replyFailed(reason: "a reply was ignored: \(reason)"),
                willRetry: false))
    }

    /// Notes that the peer has the request, so nothing more is sent.
    private mutating func receiveReceipt(_ message: RequestMessage, from peerID: String, _ now: RequestContext) {
        if message.method == .latest, calls[message.id]?.isFireAndForget != false {
            recordReceiver(of: message, by: peerID, now)
        }
        guard let call = call(message, of: peerID, now) else { return }
        learnClock(message, of: peerID, call, now)
        direct(.peerResponded)
        confirmReceipt(of: call.id, now)
        guard call.isFireAndForget else { return }
        withdrawRedundantCopies(of: call, now)
        release(call, now)
    }

    /// Handles a report that a copy has expired by the peer's clock. If the call still waits, the clocks differ: this notes
    /// the difference and sends a new copy, at most three times per call.
    private mutating func receiveLate(_ message: RequestMessage, from peerID: String, _ now: RequestContext) {
        if message.method == .latest, calls[message.id] == nil { recordReceiver(of: message, by: peerID, now) }
        guard var call = call(message, of: peerID, now), let peer = peer(peerID, now), let clock = message.clock,
            call.lateCount < 3
        else { return }
        call.lateCount += 1
        calls[call.id] = call
        noteClock(of: peerID, aheadBy: clock.millisecondsSince(now.wall))
        submit(call, over: message.method ?? .live, to: peer, isAttempt: false, now)
    }

    private mutating func learnClock(
        _ message: RequestMessage, of peerID: String, _ call: RequestCall, _ now: RequestContext
    ) {
        guard let clock = message.clock, let sentAt = call.sentAt, now.elapsed - sentAt <= Self.clockPatience
        else { return }
        let middle = now.wall.advanced(byMilliseconds: -((now.elapsed - sentAt).milliseconds / 2))
        noteClock(of: peerID, aheadBy: clock.millisecondsSince(middle))
    }

    private mutating func receiveEcho(_ message: RequestMessage, from peerID: String) {
        let probes = waits.filter { wait in
            guard wait.id == message.id, case .echo(let asked) = wait.event else { return false }
            return asked == nil || asked == peerID
        }
        resume(probes, true)
    }
}
