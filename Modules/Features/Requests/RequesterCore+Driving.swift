import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport

/// Chooses the lanes of a call, and makes its attempts.
extension RequesterCore {
    /// The lifetime of a fire-and-forget request on the lanes `queue` and `latest`.
    static let keptLifetime = Duration.seconds(7 * 24 * 3600)

    /// Hands a copy to the transport, unless the call must first wait for the peer or fall back.
    mutating func attempt(_ id: UUID, _ now: RequestContext) {
        guard let call = calls[id] else { return }
        guard !call.isConfirmed else { return setPhase(.awaitingReply, of: id) }
        if !isReachable(call.options.peer?.id) {
            if call.method != .live {
                guard enqueue(call, now) else { return }
            } else if call.options.strategy.hasFallback {
                return fallBack(call, now)
            } else if !call.hasWaited {
                calls[id]?.hasWaited = true
                return retry(call, after: .notReachable, now)
            }
        }
        calls[id]?.hasWaited = false
        submit(call, over: call.method, to: call.options.peer, isAttempt: true, now)
    }

    /// Continues after the transport has accepted the copy of the last attempt.
    mutating func sent(_ call: RequestCall, _ now: RequestContext) {
        if call.method == .live {
            dequeue(now) { $0.id == call.id }
            direct(.wake(call.id, true))
            setPhase(.listening(until: now.elapsed + call.options.policy.patience), of: call.id)
        } else if call.isFireAndForget {
            release(call, now)
        } else {
            setPhase(.awaitingReply, of: call.id)
        }
    }

    /// Continues after the transport has refused the copy of the last attempt.
    mutating func failed(_ call: RequestCall, _ error: ConnectionError, _ now: RequestContext) {
        guard call.method == .live, call.options.strategy.hasFallback, call.options.policy.shouldRetry(error) else {
            return retry(call, after: error, now)
        }
        report(.deliveryFailed(requestType: call.type, error: error, willRetry: true))
        fallBack(call, now)
    }

    /// Sends another copy, because the peer hasn't confirmed a live one. The receiver recognizes a duplicate by its ID.
    mutating func handleSilence(of call: RequestCall, _ now: RequestContext) {
        let silence = ConnectionError.deliveryFailed(reason: "the other device didn't respond")
        if call.options.strategy.hasFallback { return failed(call, silence, now) }
        guard countAttempt(of: call, after: silence) else { return setPhase(.awaitingReply, of: call.id) }
        attempt(call.id, now)
    }

    /// - Returns: true if another attempt may follow.
    private mutating func countAttempt(of call: RequestCall, after error: ConnectionError) -> Bool {
        guard call.attempts < call.options.policy.maxAttempts, call.options.policy.shouldRetry(error) else {
            return false
        }
        calls[call.id]?.attempts += 1
        report(.deliveryFailed(requestType: call.type, error: error, willRetry: true))
        return true
    }

    private mutating func fallBack(_ call: RequestCall, _ now: RequestContext) {
        guard let method = call.options.strategy.fallbackMethod else { return }
        report(.fallbackUsed(from: call.options.strategy.primaryMethod, to: method))
        calls[call.id]?.hasFallenBack = true
        attempt(call.id, now)
    }

    /// Waits before the next attempt. If none is left, the call fails with the error.
    private mutating func retry(_ call: RequestCall, after error: ConnectionError, _ now: RequestContext) {
        var gap = RetryPolicy.gap
        if error == .notReachable, call.options.delivery == .queued {
            guard enqueue(call, now) else { return }
            // A fire-and-forget request counts as accepted now if its first lane is live. On other lanes, it counts
            // once the transport has it.
            if call.options.strategy.primaryMethod == .live { direct(.wake(call.id, true)) }
            gap = calls[call.id]?.backoff.next() ?? gap
        } else if !countAttempt(of: call, after: error) {
            return finish(call.id, .failure(error), now)
        }
        setPhase(.pausing(until: now.elapsed + gap), of: call.id)
    }

    /// Sets the phase. A call that the peer has confirmed waits for the reply instead of trying again.
    private mutating func setPhase(_ phase: RequestCall.Phase, of id: UUID) {
        let isOver = phase.due != nil && calls[id]?.isConfirmed == true
        calls[id]?.phase = isOver ? .awaitingReply : phase
        if let due = phase.due { wake(by: due) }
    }

    /// Notes that the peer has the request, so nothing more is sent.
    mutating func confirmReceipt(of id: UUID, _ now: RequestContext) {
        calls[id]?.isConfirmed = true
        dequeue(now) { $0.id == id }
        if let phase = calls[id]?.phase { setPhase(phase, of: id) }
    }
}

// MARK: - Copies

extension RequesterCore {
    /// - Parameter isAttempt: true if the result decides the call's next step.
    mutating func submit(
        _ call: RequestCall, over method: DeliveryMethod, to peer: SessionPeer?, isAttempt: Bool, _ now: RequestContext
    ) {
        if method == .latest { occupySlot(call, of: peer, now) }
        let copy = submit(message(of: call, over: method, to: peer, now), mode: method.mode, to: peer, of: call.id)
        if isAttempt { setPhase(.submitting(copy), of: call.id) }
        writeNext(now)
    }

    private func message(
        of call: RequestCall, over method: DeliveryMethod, to peer: SessionPeer?, _ now: RequestContext
    ) -> RequestMessage {
        var message = RequestMessage(.request, id: call.id, type: call.type, body: call.payload)
        message.legacyBody = call.legacyPayload
        message.method = method
        message.isFireAndForget = call.isFireAndForget
        message.stamp = call.stamp
        let isKeptLong = call.isFireAndForget && method != .live
        let lifetime = isKeptLong ? Self.keptLifetime : call.deadline - now.elapsed
        message.expiresAt = wallClock(of: peer, now).advanced(byMilliseconds: max(0, lifetime.milliseconds))
        return message
    }

    /// Returns the peer's wall clock, as far as it is known.
    private func wallClock(of peer: SessionPeer?, _ now: RequestContext) -> UInt64 {
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
