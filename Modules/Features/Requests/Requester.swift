import Foundation
import MeshBus
import MeshConnection
import MeshIdentity
import MeshTransport

/// The asking side: every request that has no answer yet, and what is known of the peers.
///
/// Safe to use from any thread. At most 4096 requests are under way, of which 256 wait for a peer; beyond that a request
/// fails with `deliveryFailed`.
final class Requester: Sendable {
    static let callsMax = 4096
    static let queueMax = 256

    struct State {
        var calls: [UUID: RequestCall] = [:]
        /// Those that wait for the peer, in the order in which they came.
        var queue: [UUID] = []
        var slots: [ContextSlot] = []
        /// Ids; empty for a peer that the transport cannot tell.
        var reachable: Set<String> = []
        /// Those who wait until somebody can be reached.
        var arrivals: [Once<Bool>] = []
        /// Milliseconds by which a peer's wall clock is ahead of this one.
        var clockAhead: [String: Int64] = [:]
        var probes: [UUID: Probe] = [:]
        var ignoredReplyCount = 0
    }

    struct Probe {
        let peerID: String?
        let echo: Once<Bool>
    }

    /// A request in the lane `latest`.
    struct ContextSlot {
        let id: UUID
        let type: String
        let peer: SessionPeer?
        /// Who has taken a fire-and-forget request out of it.
        var takers: Set<String> = []
    }

    let connection: any SessionConnection
    let post: RequestPost
    let alarm: Alarm
    let state = Locked(State())
    /// How many wait for the peer.
    let queueCounts = Topic<Int>(bufferLimit: 1, replaysLatest: true)
    private let counting = Locked(())
    let slotWriter = SlotWriter()

    init(_ connection: any SessionConnection) {
        self.connection = connection
        post = RequestPost(connection: connection)
        alarm = Alarm(connection.clock)
        queueCounts.publish(0)
    }

    var now: Duration { connection.clock.elapsed }

    func report(_ event: DiagnosticEvent) { connection.diagnostics.publish(event) }

    /// Nobody asks any more.
    func end() {
        for call in state.withLock({ Array($0.calls.values) }) { finish(call, .failure(.cancelled)) }
        alarm.cancelAll()
        queueCounts.finish()
    }
}

// MARK: - From the call to its end

extension Requester {
    /// - Throws: `deliveryFailed` when too many are under way.
    func begin(_ call: RequestCall) throws(ConnectionError) {
        let isTaken = state.withLock { state in
            guard state.calls.count < Self.callsMax else { return false }
            state.calls[call.id] = call
            return true
        }
        guard isTaken else { throw .deliveryFailed(reason: "\(Self.callsMax) requests are under way") }
        call.setAlarm(
            alarm.set(at: call.deadline) { [weak self, weak call] in
                if let call { self?.finish(call, .failure(.timeout)) }
            })
        call.setDriver(Task { await drive(call) })
    }

    /// Ends a call, once; whoever comes later changes nothing.
    /// - Parameter result: the answer, whatever it says.
    func finish(_ call: RequestCall, _ result: Result<RequestMessage, ConnectionError>) {
        let wasQueued: Bool? = state.withLock { state in
            guard state.calls[call.id] === call else { return nil }
            state.calls[call.id] = nil
            let before = state.queue.count
            state.queue.removeAll { $0 == call.id }
            return state.queue.count < before
        }
        guard let wasQueued else { return }
        if wasQueued { publishQueueCount() }
        end(call)
        switch result {
        case .success(let answer):
            noteArrived(call)
            vacateSlot(of: call.id)
            reportEnd(of: call, by: answer)
            connection.health.succeeded()
        case .failure(let error): giveUp(call, error, wasQueued: wasQueued)
        }
        call.outcome.resolve(result)
    }

    /// Of a fire-and-forget request that was refused nobody else is told.
    private func reportEnd(of call: RequestCall, by answer: RequestMessage) {
        if call.isFireAndForget, let error = answer.failure {
            report(.deliveryFailed(requestType: call.type, error: error, willRetry: false))
        } else {
            report(.messageSent(requestType: call.type, duration: now - call.startedAt))
        }
    }

    private func giveUp(_ call: RequestCall, _ error: ConnectionError, wasQueued: Bool) {
        let isWithdrawn = takeBack(call)
        vacateSlot(of: call.id)
        report(.deliveryFailed(requestType: call.type, error: error, willRetry: false))
        if error == .timeout, wasQueued || isWithdrawn || call.sentAt == nil {
            report(.requestExpired(requestType: call.type))
        }
        // A peer that has it and takes its time says nothing against the connection.
        if !call.isHeard { connection.health.failed(error, isReachable: isReachable(call.wish.peer)) }
    }

    /// Further copies are for nobody, unless several were asked: the others may still want to run it.
    func noteArrived(_ call: RequestCall) {
        if call.wish.peer != nil || post.transport.knownPeers.count <= 1 { takeBack(call) }
    }

    /// - Returns: whether any copy had not arrived yet.
    @discardableResult
    private func takeBack(_ call: RequestCall) -> Bool {
        let gone = call.takeBack().filter { post.transport.cancel(eventID: $0, featureID: RequestMessage.featureID) }
        return !gone.isEmpty
    }

    /// A fire-and-forget request is where it should be, unless its time is over and its copies are being withdrawn.
    func release(_ call: RequestCall) {
        let wasUnderWay = state.withLock { state in
            state.queue.removeAll { $0 == call.id }
            return state.calls.removeValue(forKey: call.id) != nil
        }
        guard wasUnderWay else { return }
        publishQueueCount()
        call.accepted.resolve(true)
        end(call)
    }

    private func end(_ call: RequestCall) {
        if let id = call.alarm { alarm.cancel(id) }
        call.end()
    }
}

// MARK: - The queue

extension Requester {
    /// The call waits for the peer. Again changes nothing.
    /// - Throws: `deliveryFailed` when too many wait.
    func enqueue(_ call: RequestCall) throws(ConnectionError) {
        let size: Int? = state.withLock { state in
            guard state.calls[call.id] != nil, !state.queue.contains(call.id) else { return nil }
            state.queue.append(call.id)
            return state.queue.count
        }
        guard let size else { return }
        guard size <= Self.queueMax else { throw .deliveryFailed(reason: "\(Self.queueMax) requests wait already") }
        report(.requestQueued(requestType: call.type, queueSize: size))
        publishQueueCount()
    }

    /// These no longer wait.
    func dequeue(_ isMeant: (RequestCall) -> Bool) {
        let calls = state.withLock { state in
            let calls = state.queue.compactMap { state.calls[$0] }.filter(isMeant)
            let ids = Set(calls.map(\.id))
            state.queue.removeAll { ids.contains($0) }
            return calls
        }
        guard !calls.isEmpty else { return }
        report(.queueFlushed(count: calls.count))
        publishQueueCount()
        for call in calls { call.wake() }
    }

    /// Counts and publishes in one turn, so that of two the later count is the later news.
    private func publishQueueCount() {
        counting.withLock { _ in queueCounts.publish(state.withLock { $0.queue.count }) }
    }

    var queued: [RequestCall] { state.withLock { state in state.queue.compactMap { state.calls[$0] } } }
}

// MARK: - Who can be reached

extension Requester {
    func isReachable(_ peer: SessionPeer?) -> Bool { state.withLock { $0.isReachable(peer?.id) } }

    func note(_ change: SessionPeerReachability) {
        let id = change.peer?.id ?? ""
        guard change.isReachable else { return state.withLock { state in _ = state.reachable.remove(id) } }
        let arrivals = state.withLock { state in
            state.reachable.insert(id)
            defer { state.arrivals = [] }
            return state.arrivals
        }
        for arrival in arrivals { arrival.resolve(true) }
        dequeue { $0.wish.peer == nil || change.peer == nil || $0.wish.peer?.id == id }
    }

    /// - Throws: `timeout`, `cancelled`.
    func waitUntilReachable(_ peer: SessionPeer?, until due: Duration?) async throws(ConnectionError) {
        while !isReachable(peer) {
            let arrival = Once<Bool>()
            let isThere = state.withLock { state in
                if !state.isReachable(peer?.id) { state.arrivals.append(arrival) }
                return state.isReachable(peer?.id)
            }
            if isThere { return }
            let hasCome = await withTaskCancellationHandler {
                guard let due else { return await arrival.value() }
                return await alarm.wait(for: arrival, until: due)
            } onCancel: {
                arrival.resolve(false)
            }
            guard !hasCome else { continue }
            state.withLock { state in state.arrivals.removeAll { $0 === arrival } }
            throw Task.isCancelled ? .cancelled : .timeout
        }
    }
}

extension Requester.State {
    func isReachable(_ peerID: String?) -> Bool {
        guard let peerID else { return !reachable.isEmpty }
        return reachable.contains(peerID) || reachable.contains("")
    }
}

extension Requester {
    /// - Throws: `cancelled`.
    func pause(_ duration: Duration) async throws(ConnectionError) {
        let sign = Once<Bool>()
        _ = await withTaskCancellationHandler {
            await alarm.wait(for: sign, until: now + duration)
        } onCancel: {
            sign.resolve(false)
        }
        if Task.isCancelled { throw .cancelled }
    }
}
