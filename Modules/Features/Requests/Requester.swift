import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport

/// The driver of `RequesterCore`: holds the lock, the transport, the clock, and the waiting callers.
///
/// Every call runs the core under the lock, then carries out its directives without the lock. Safe to use from any thread.
final class Requester: Sendable {
    struct State {
        var core: RequesterCore
        /// Callers that wait for the end of a request.
        var callers: [UUID: AsyncValue<Result<RequestMessage, ConnectionError>>] = [:]
        /// Callers that wait for another event, such as the acceptance of a fire-and-forget request.
        var waiters: [UUID: AsyncValue<Bool>] = [:]
        /// Tasks that give copies to the transport, by copy. They may have to wait for it.
        var sends: [UUID: Task<Void, Never>] = [:]
    }

    let connection: any SessionConnection
    let board: ProblemBoard
    let sender: RequestSender
    /// The number of requests that wait for a peer.
    let queueCounts = Topic<Int>(bufferLimit: 1, replaysLatest: true)
    private let state: Locked<State>

    init(_ connection: any SessionConnection, board: ProblemBoard = ProblemBoard()) {
        self.connection = connection
        self.board = board
        sender = RequestSender(connection: connection)
        state = Locked(State(core: RequesterCore(localPeer: sender.transport.localPeer) { UUID() }))
        queueCounts.publish(0)
    }

    var now: Duration { connection.clock.elapsed }

    func read<Value>(_ body: (RequesterCore) -> Value) -> Value { state.withLock { body($0.core) } }

    func report(_ event: DiagnosticEvent) {
        connection.diagnostics.publish(event)
        switch event {
        case .deliveryFailed(let type, let error, willRetry: false) where error.isLasting:
            let code: SessionProblem.Code = if case .payloadTooLarge = error { .valueTooLarge } else { .sendFailed }
            board.report(
                SessionProblem(
                    code, of: type, "\(type) couldn't be sent or was refused: \(error.description)",
                    advice: error.advice))
        case .messageSent(let type, _): board.solve(.sendFailed, of: type)
        default: break
        }
    }

    /// Ends all requests.
    func end() {
        perform { $0.core.end($1) }
        queueCounts.finish()
    }
}

// MARK: - The core and what follows from it

extension Requester {
    /// Runs `body` on the state and carries out the directives.
    /// - Parameter due: a lower bound of the current time, in case the clock rounds down.
    @discardableResult
    private func perform<Result>(at due: Duration = .zero, _ body: (inout State, RequestContext) -> Result) -> Result {
        let peers = sender.transport.knownPeers
        let (result, directives, handover) = state.withLock { state in
            let now = RequestContext(elapsed: max(connection.clock.elapsed, due), wall: sender.wall, peers: peers)
            let before = state.core.queue.count
            let result = body(&state, now)
            // Enqueued under the lock, so that counts are published in order.
            let count = state.core.queue.count
            let handover = count == before ? TopicHandover() : queueCounts.enqueue(count)
            return (result, state.core.takeDirectives(), handover)
        }
        handover.complete()
        for directive in directives { carryOut(directive) }
        return result
    }

    private func carryOut(_ directive: RequestDirective) {
        switch directive {
        case .send(let copy): send(copy)
        case .withdraw(let copies, let expired): withdraw(copies, expired: expired)
        case .end(let id, let result): state.withLock { $0.callers.removeValue(forKey: id) }?.resolve(result)
        case .wake(let id, let hasOccurred): state.withLock { $0.waiters.removeValue(forKey: id) }?.resolve(hasOccurred)
        case .tick(let due):
            connection.clock.wake(at: due) { [weak self] in self?.perform(at: due) { $0.core.tick($1) } }
        case .report(let event): report(event)
        case .peerResponded: connection.health.succeeded()
        case .failed(let error, let isReachable): connection.health.failed(error, isReachable: isReachable)
        }
    }

    private func send(_ copy: RequestCopy) {
        let task = Task { await submit(copy) }
        let isWanted = state.withLock { state in
            // The copy may already have been sent or withdrawn.
            let isWanted = state.core.isWanted(copy.id)
            if isWanted { state.sends[copy.id] = task }
            return isWanted
        }
        if !isWanted { task.cancel() }
    }

    private func submit(_ copy: RequestCopy) async {
        let failure: ConnectionError?
        do {
            guard read({ $0.isWanted(copy.id) }) else { throw CancellationError() }
            if copy.mode == .latestSnapshot {
                try await sender.publish(copy.message, to: copy.peer)
            } else {
                try await sender.send(copy.message, eventID: copy.id, mode: copy.mode, to: copy.peer)
            }
            failure = nil
        } catch {
            failure = ConnectionError(error)
        }
        perform { state, now in
            state.sends[copy.id] = nil
            state.core.handleResult(of: copy.id, failure, now)
        }
    }

    private func withdraw(_ copies: [UUID], expired: String?) {
        for copy in copies { state.withLock { $0.sends.removeValue(forKey: copy) }?.cancel() }
        let feature = RequestMessage.featureID
        let gone = copies.filter { sender.transport.cancel(eventID: $0, featureID: feature) }
        if let expired, !gone.isEmpty { report(.requestExpired(requestType: expired)) }
    }
}

// MARK: - Events

extension Requester {
    /// Sends a request and waits for its answer.
    /// - Throws: the reason why no answer arrived; `cancelled` at once if the task is cancelled.
    func ask(_ call: RequestCall) async throws(ConnectionError) -> RequestMessage {
        let outcome = AsyncValue<Result<RequestMessage, ConnectionError>>()
        try begin(call) { $0.callers[call.id] = outcome }
        return try await withTaskCancellationHandler {
            await outcome.value()
        } onCancel: {
            perform { $0.core.finish(call.id, .failure(.cancelled), $1) }
        }.get()
    }

    /// Sends a fire-and-forget request.
    /// - Returns: true once the request is on its way or waits for the peer. On the lanes `queue` and `latest`, true
    ///   only once the transport has the request. False if it failed before that.
    func sendWithoutReply(_ call: RequestCall) async throws(ConnectionError) -> Bool {
        let accepted = AsyncValue<Bool>()
        try begin(call) { $0.waiters[call.id] = accepted }
        return await accepted.value()
    }

    private func begin(_ call: RequestCall, _ enter: (inout State) -> Void) throws(ConnectionError) {
        let hasBegun = perform { state, now in
            guard state.core.begin(call, now) else { return false }
            enter(&state)
            return true
        }
        guard hasBegun else {
            throw .deliveryFailed(reason: "\(RequesterCore.callsMax) requests are already under way")
        }
    }

    func receive(_ message: RequestMessage, from peerID: String) {
        perform { $0.core.receive(message, from: peerID, $1) }
    }

    func note(_ change: SessionPeerReachability) {
        perform { $0.core.changeReachability(change, $1) }
        if let peer = change.peer { board.solve(.unknownPeer, of: peer.id) }
    }

    /// - Throws: `deliveryFailed` if the transport doesn't know the peer but knows others, because the peer may never appear.
    ///   While the transport knows none, the peer may be the first.
    func checkIsKnown(_ peer: SessionPeer?) throws(ConnectionError) {
        let known = sender.transport.knownPeers.map(\.id).sorted()
        guard let peer, !known.isEmpty, !known.contains(peer.id), peer.id != sender.localPeerID else { return }
        let names = known.prefix(8).map { "'\($0)'" }.joined(separator: ", ") + (known.count > 8 ? ", …" : "")
        let text = "the transport doesn't know the peer '\(peer.id)', only \(names)"
        board.report(
            SessionProblem(
                .unknownPeer, of: peer.id, text,
                advice: "Send to one of transport.knownPeers, or wait with sendWhenReady."))
        throw .deliveryFailed(reason: text.printable())
    }
    func isReachable(_ peer: SessionPeer?) -> Bool { read { $0.isReachable(peer?.id) } }

    var queued: [RequestCall] { read { core in core.queue.compactMap { core.calls[$0] } } }

    /// Cancels the waiting requests for which `isIncluded` is true.
    /// - Returns: true if there were any.
    func cancelQueued(_ isIncluded: (UUID) -> Bool) -> Bool {
        perform { state, now in
            let ids = state.core.queue.filter(isIncluded)
            for id in ids { state.core.finish(id, .failure(.cancelled), now) }
            return !ids.isEmpty
        }
    }
}

// MARK: - Waiting

extension Requester {
    private static let probeGap = Duration.seconds(1)

    /// - Returns: true if the event has happened; false after the deadline or a cancellation.
    private func wait(
        _ id: UUID = UUID(), for event: RequesterCore.Wait.Event, until due: Duration?,
        after body: () async -> Void = {}
    ) async -> Bool {
        let waiter = AsyncValue<Bool>()
        perform { state, _ in
            state.waiters[id] = waiter
            state.core.wait(RequesterCore.Wait(id: id, event: event, due: due))
        }
        await body()
        return await withTaskCancellationHandler {
            await waiter.value()
        } onCancel: {
            perform { state, _ in state.core.endWait(id) }
        }
    }

    /// - Throws: `cancelled`.
    func pause(_ duration: Duration) async throws(ConnectionError) {
        _ = await wait(for: .none, until: now + duration)
        if Task.isCancelled { throw .cancelled }
    }

    /// - Throws: `timeout`, `cancelled`.
    func waitUntilReachable(_ peer: SessionPeer?, until due: Duration?) async throws(ConnectionError) {
        while !isReachable(peer) {
            let hasOccurred = await wait(for: .arrival(peer?.id), until: due)
            guard hasOccurred else { throw Task.isCancelled ? .cancelled : .timeout }
        }
    }

    /// - Returns: the round trip.
    /// - Throws: `notReachable` if nothing could be sent, `timeout`, `cancelled`.
    func probe(_ peer: SessionPeer?, timeout: Duration) async throws(ConnectionError) -> Duration {
        let message = RequestMessage(.probe, id: UUID(), type: "")
        let end = now + timeout
        var failure = ConnectionError.notReachable
        while now < end, !Task.isCancelled {
            let sentAt = now
            let isBack = await wait(message.id, for: .echo(peer?.id), until: end) {
                do {
                    try await sender.send(message, mode: .realtimeBestEffort, to: peer)
                    failure = .timeout
                } catch {}
                perform { $0.core.shortenWait(message.id, to: min(end, $1.elapsed + Self.probeGap)) }
            }
            guard isBack else { continue }
            connection.health.succeeded()
            return now - sentAt
        }
        if Task.isCancelled { throw .cancelled }
        throw failure
    }
}
