import Foundation
import MeshBus
import MeshConnection
import MeshIdentity
import MeshTransport

/// Which lane a call takes, and when it takes another one.
extension Requester {
    /// How long a fire-and-forget request on a kept lane is wanted.
    static let keptLifetime = Duration.seconds(7 * 24 * 3600)
    /// The longest wait between two attempts at a peer that is said to be away.
    static let waitMax = Duration.seconds(2)

    /// Runs until the request is where it should be, has been answered, or has failed.
    func drive(_ call: RequestCall) async {
        do {
            switch call.wish.strategy.primaryMethod {
            case .message: try await sendLive(call)
            case .userInfo: try await sendKept(call, by: .userInfo)
            case .context: try await sendKept(call, by: .context)
            }
        } catch {
            finish(call, .failure(ConnectionError(error)))
        }
    }

    private func sendLive(_ call: RequestCall) async throws {
        var attempts = Attempts(call.wish)
        while !call.isDone {
            if !isReachable(call.wish.peer) {
                if call.wish.strategy.hasFallback { return try await fallBack(call, &attempts) }
                try await wait(call, after: .notReachable, &attempts)
                if call.isDone { return }
            }
            do {
                try await hand(call, over: .message, to: call.wish.peer)
                dequeue { $0 === call }
            } catch {
                let error = ConnectionError(error)
                guard call.wish.strategy.hasFallback, call.wish.policy.shouldRetry(error) else {
                    try await wait(call, after: error, &attempts)
                    continue
                }
                report(.deliveryFailed(requestType: call.type, error: error, willRetry: true))
                return try await fallBack(call, &attempts)
            }
            call.accepted.resolve(true)
            let patienceEnds = now + call.wish.policy.patience
            guard await !alarm.wait(for: call.makeSign(), until: patienceEnds), !call.isDone else { return }
            // Nothing says that it has arrived. The receiver knows a second copy by its id.
            let silence = ConnectionError.deliveryFailed(reason: "no sign of the other device")
            if call.wish.strategy.hasFallback {
                report(.deliveryFailed(requestType: call.type, error: silence, willRetry: true))
                return try await fallBack(call, &attempts)
            }
            guard attempts.isAnotherLeft else { return }
            attempts.count += 1
            report(.deliveryFailed(requestType: call.type, error: silence, willRetry: true))
        }
    }

    private func fallBack(_ call: RequestCall, _ attempts: inout Attempts) async throws {
        guard let method = call.wish.strategy.fallbackMethod else { return }
        report(.fallbackUsed(from: call.wish.strategy.primaryMethod, to: method))
        try await sendKept(call, by: method, &attempts)
    }

    private func sendKept(_ call: RequestCall, by method: DeliveryMethod) async throws {
        var attempts = Attempts(call.wish)
        try await sendKept(call, by: method, &attempts)
    }

    private func sendKept(_ call: RequestCall, by method: DeliveryMethod, _ attempts: inout Attempts) async throws {
        while !call.isDone {
            if !isReachable(call.wish.peer) { try enqueue(call) }
            do {
                try await hand(call, over: method, to: call.wish.peer)
                if call.isFireAndForget { release(call) }
                return
            } catch {
                try await wait(call, after: ConnectionError(error), &attempts)
            }
        }
    }

    /// Waits for the next attempt.
    /// - Throws: the error, when there is none.
    private func wait(
        _ call: RequestCall, after error: ConnectionError, _ attempts: inout Attempts
    ) async throws(ConnectionError) {
        if error == .notReachable, call.wish.delivery == .queued {
            try enqueue(call)
            // What is to be kept is promised when the transport has it.
            if call.wish.strategy.primaryMethod == .message { call.accepted.resolve(true) }
            _ = await alarm.wait(for: call.makeSign(), until: now + attempts.nextWait())
            return
        }
        guard attempts.isAnotherLeft, call.wish.policy.shouldRetry(error) else { throw error }
        attempts.count += 1
        report(.deliveryFailed(requestType: call.type, error: error, willRetry: true))
        _ = await alarm.wait(for: call.makeSign(), until: now + RetryPolicy.gap)
    }

    private struct Attempts {
        let most: Int
        var count = 1
        private var gap = RetryPolicy.gap

        init(_ wish: RequestCall.Wish) { most = wish.policy.maxAttempts }

        var isAnotherLeft: Bool { count < most }

        /// What is said about reachability may be a lie, so that waiting alone is not enough.
        mutating func nextWait() -> Duration {
            gap = min(gap * 2, Requester.waitMax)
            return gap
        }
    }
}

// MARK: - Copies

extension Requester {
    /// Gives one copy to the transport.
    /// - Throws: `CancellationError` when the call has been taken back.
    func hand(_ call: RequestCall, over method: DeliveryMethod, to peer: SessionPeer?) async throws {
        guard !call.isTakenBack else { throw CancellationError() }
        let message = message(of: call, over: method, to: peer)
        switch method {
        case .message: try await sendCopy(message, of: call, mode: .realtimeBestEffort, to: peer)
        case .userInfo: try await sendCopy(message, of: call, mode: .reliableEventually, to: peer)
        case .context:
            try await occupySlot(call, to: peer)
            if call.isOver { vacateSlot(of: call.id) }
        }
        call.noteSent(at: now)
    }

    /// A live copy too may be kept somewhere on its way, and run when nobody wants it any more.
    private func sendCopy(
        _ message: RequestMessage, of call: RequestCall, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        let envelope = try post.envelope(message)
        let id = envelope.metadata.eventID
        guard call.noteCopy(id) else { throw CancellationError() }
        do {
            try await post.transport.send(envelope, mode: mode, to: peer)
        } catch {
            call.dropCopy(id)
            throw error
        }
        // Whoever took the call back before the transport had the copy could not withdraw it.
        if call.isTakenBack { post.transport.cancel(eventID: id, featureID: RequestMessage.featureID) }
    }

    func message(of call: RequestCall, over method: DeliveryMethod, to peer: SessionPeer?) -> RequestMessage {
        var message = RequestMessage(.request, id: call.id, type: call.type, body: call.payload)
        message.method = method
        message.isFireAndForget = call.isFireAndForget
        message.stamp = call.stamp
        let isKeptLong = call.isFireAndForget && method != .message
        let life = isKeptLong ? Self.keptLifetime : call.deadline - now
        message.expiresAt = theirs(post.wall, peer).advanced(byMilliseconds: max(0, life.milliseconds))
        return message
    }

    /// What a peer's wall clock shows when the local one shows that, as far as it has been learnt.
    private func theirs(_ wall: UInt64, _ peer: SessionPeer?) -> UInt64 {
        let known = post.transport.knownPeers
        guard let id = peer?.id ?? (known.count == 1 ? known.first?.id : nil) else { return wall }
        return wall.advanced(byMilliseconds: state.withLock { $0.clockAhead[id] } ?? 0)
    }
}

extension UInt64 {
    /// Saturates.
    func advanced(byMilliseconds milliseconds: Int64) -> UInt64 {
        let (sum, overflow) =
            milliseconds < 0
            ? subtractingReportingOverflow(milliseconds.magnitude) : addingReportingOverflow(milliseconds.magnitude)
        return overflow ? (milliseconds < 0 ? 0 : .max) : sum
    }

    /// Saturates.
    func millisecondsSince(_ other: UInt64) -> Int64 {
        self >= other
            ? Int64(clamping: self - other) : -Int64(clamping: other - self)
    }
}
