import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport

/// The lanes of a call, and its attempts.
extension RequesterCore {
    /// The lifetime of a fire-and-forget request on a kept lane.
    static let keptLifetime = Duration.seconds(7 * 24 * 3600)

    /// Hands a copy to the transport, unless the call must first wait for the peer or fall back.
    mutating func attempt(_ id: UUID, _ now: RequestMoment) {
        guard let call = calls[id] else { return }
        guard !call.isHeard else { return setPhase(.resting, of: id) }
        if !isReachable(call.wish.peer?.id) {
            if call.method != .live {
                guard enqueue(call, now) else { return }
            } else if call.wish.strategy.hasFallback {
                return fallBack(call, now)
            } else if !call.hasWaited {
                calls[id]?.hasWaited = true
                return retry(call, after: .notReachable, now)
            }
        }
        calls[id]?.hasWaited = false
        hand(call, over: call.method, to: call.wish.peer, isAttempt: true, now)
    }

    /// Continues after the transport has accepted the copy of the last attempt.
    mutating func sent(_ call: RequestCall, _ now: RequestMoment) {
        if call.method == .live {
            dequeue(now) { $0.id == call.id }
            direct(.wake(call.id, true))
            setPhase(.listening(until: now.elapsed + call.wish.policy.patience), of: call.id)
        } else if call.isFireAndForget {
            release(call, now)
        } else {
            setPhase(.resting, of: call.id)
        }
    }

    /// Continues after the transport has refused the copy of the last attempt.
    mutating func failed(_ call: RequestCall, _ error: ConnectionError, _ now: RequestMoment) {
        guard call.method == .live, call.wish.strategy.hasFallback, call.wish.policy.shouldRetry(error) else {
            return retry(call, after: error, now)
        }
        report(.deliveryFailed(requestType: call.type, error: error, willRetry: true))
        fallBack(call, now)
    }

    /// Sends another copy, because the peer hasn't confirmed a live one. The receiver recognizes a duplicate by its ID.
    mutating func heardNothing(of call: RequestCall, _ now: RequestMoment) {
        let silence = ConnectionError.deliveryFailed(reason: "the other device didn't respond")
        if call.wish.strategy.hasFallback { return failed(call, silence, now) }
        guard countAttempt(of: call, after: silence) else { return setPhase(.resting, of: call.id) }
        attempt(call.id, now)
    }

    /// - Returns: true if another attempt may follow.
    private mutating func countAttempt(of call: RequestCall, after error: ConnectionError) -> Bool {
        guard call.attempts < call.wish.policy.maxAttempts, call.wish.policy.shouldRetry(error) else { return false }
        calls[call.id]?.attempts += 1
        report(.deliveryFailed(requestType: call.type, error: error, willRetry: true))
        return true
    }

    private mutating func fallBack(_ call: RequestCall, _ now: RequestMoment) {
        guard let method = call.wish.strategy.fallbackMethod else { return }
        report(.fallbackUsed(from: call.wish.strategy.primaryMethod, to: method))
        calls[call.id]?.hasFallenBack = true
        attempt(call.id, now)
    }

    /// Waits before the next attempt. If there is none, the call fails with the error.
    private mutating func retry(_ call: RequestCall, after error: ConnectionError, _ now: RequestMoment) {
        var gap = RetryPolicy.gap
        if error == .notReachable, call.wish.delivery == .queued {
            guard enqueue(call, now) else { return }
            // A live request counts as accepted now. A kept one counts once the transport has it.
            if call.wish.strategy.primaryMethod == .live { direct(.wake(call.id, true)) }
            gap = calls[call.id]?.backoff.next() ?? gap
        } else if !countAttempt(of: call, after: error) {
            return finish(call.id, .failure(error), now)
        }
        setPhase(.pausing(until: now.elapsed + gap), of: call.id)
    }

    /// Sets the phase. A call that the peer has confirmed rests instead of trying again.
    private mutating func setPhase(_ phase: RequestCall.Phase, of id: UUID) {
        let isOver = phase.due != nil && calls[id]?.isHeard == true
        calls[id]?.phase = isOver ? .resting : phase
        if let due = phase.due { wake(by: due) }
    }

    /// Notes that the peer has the request, so nothing more is sent.
    mutating func hear(_ id: UUID, _ now: RequestMoment) {
        calls[id]?.isHeard = true
        dequeue(now) { $0.id == id }
        if let phase = calls[id]?.phase { setPhase(phase, of: id) }
    }
}

// MARK: - Copies

extension RequesterCore {
    /// - Parameter isAttempt: true if the result decides the call's next step.
    mutating func hand(
        _ call: RequestCall, over method: DeliveryMethod, to peer: SessionPeer?, isAttempt: Bool, _ now: RequestMoment
    ) {
        if method == .latest { occupySlot(call, of: peer, now) }
        let copy = hand(message(of: call, over: method, to: peer, now), mode: method.mode, to: peer, of: call.id)
        if isAttempt { setPhase(.handing(copy), of: call.id) }
        writeNext(now)
    }

    private func message(
        of call: RequestCall, over method: DeliveryMethod, to peer: SessionPeer?, _ now: RequestMoment
    ) -> RequestMessage {
        var message = RequestMessage(.request, id: call.id, type: call.type, body: call.payload)
        message.plainBody = call.plainPayload
        message.method = method
        message.isFireAndForget = call.isFireAndForget
        message.stamp = call.stamp
        let isKeptLong = call.isFireAndForget && method != .live
        let life = isKeptLong ? Self.keptLifetime : call.deadline - now.elapsed
        message.expiresAt = theirWall(peer, now).advanced(byMilliseconds: max(0, life.milliseconds))
        return message
    }

    /// Returns the peer's wall clock, as far as it is known.
    private func theirWall(_ peer: SessionPeer?, _ now: RequestMoment) -> UInt64 {
        guard let id = peer?.id ?? (now.peers.count == 1 ? now.peers.first?.id : nil) else { return now.wall }
        return now.wall.advanced(byMilliseconds: clockAhead[id] ?? 0)
    }
}

extension DeliveryMethod {
    fileprivate var mode: SessionDeliveryMode {
        switch self {
        case .live: .realtimeBestEffort
        case .queue: .reliableEventually
        case .latest: .latestSnapshot
        }
    }
}

extension UInt64 {
    /// Saturates on overflow.
    func advanced(byMilliseconds milliseconds: Int64) -> UInt64 {
        let (sum, overflow) =
            milliseconds < 0
            ? subtractingReportingOverflow(milliseconds.magnitude) : addingReportingOverflow(milliseconds.magnitude)
        return overflow ? (milliseconds < 0 ? 0 : .max) : sum
    }

    /// Saturates on overflow.
    func millisecondsSince(_ other: UInt64) -> Int64 {
        self >= other
            ? Int64(clamping: self - other) : -Int64(clamping: other - self)
    }
}
