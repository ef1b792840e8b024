import Foundation
import MeshConnection
import MeshIdentity
import MeshTransport

// Terms of the asking side. A call is one request from `begin` to its end, and its phase is its next step. A copy is one
// message that carries it. A lane is the way of a copy: live, queue, or a slot that holds the newest request of a type.
// Every method takes the current time and peers, and appends directives for the driver (`Requester`). The core has no
// clock, generates no random values and sends nothing, so tests can run it in virtual time.
// Docs/Internals/Glossary.md defines the terms.

/// The asking side of requests: all unanswered calls and the state of the peers.
///
/// A call is in `calls` from `begin` until the directive that ends it. It may also be in `queue` and `slots`, and its copies
/// in `submitting`. At most 4096 requests are under way, and 256 of them may wait for a peer. Further ones fail with
/// `deliveryFailed`.
struct RequesterCore: Sendable {
    static let callsMax = 4096
    static let queueMax = 256

    /// A caller that waits for an event.
    struct Wait: Sendable {
        enum Event: Sendable {
            case none
            /// The peer with that ID, or any peer, becomes reachable.
            case arrival(String?)
            /// The peer with that ID, or any peer, answers a probe.
            case echo(String?)
        }

        let id: UUID
        let event: Event
        var due: Duration?
    }

    let localPeer: SessionPeer
    /// Generates the ID of each copy.
    let makeID: @Sendable () -> UUID
    var calls: [UUID: RequestCall] = [:]
    /// Calls that wait for a peer, in order of arrival.
    private(set) var queue: [UUID] = []
    var slots: [Slot] = []
    /// Copies to be written into slots after the current one.
    var writes: [RequestCopy] = []
    var currentWrite: UUID?
    /// Copies that the transport hasn't accepted yet: the call's ID by the copy's ID. A withdrawn copy is removed.
    private(set) var submitting: [UUID: UUID] = [:]
    private(set) var waits: [Wait] = []
    /// IDs of reachable peers. The empty ID stands for a peer that the transport can't name.
    private(set) var reachable: Set<String> = []
    /// Milliseconds by which each peer's wall clock is ahead of this one.
    private(set) var clockAhead: [String: Int64] = [:]
    var ignoredReplyCount = 0
    /// The time of the next tick, or nil.
    private(set) var deadline: Duration?
    private(set) var directives: [RequestDirective] = []

    mutating func takeDirectives() -> [RequestDirective] {
        defer { directives = [] }
        return directives
    }

    mutating func direct(_ directive: RequestDirective) { directives.append(directive) }
    mutating func report(_ event: DiagnosticEvent) { direct(.report(event)) }

    /// Maximum number of peers whose clocks are remembered. Equals the bound in MeshDelivery.
    static let clocksMax = 1024

    /// Remembers a peer's clock. If there are too many, forgets those of unreachable peers; requests to such a peer
    /// then expire by this device's clock.
    mutating func noteClock(of peerID: String, aheadBy milliseconds: Int64) {
        if clockAhead[peerID] == nil, clockAhead.count >= Self.clocksMax {
            clockAhead = clockAhead.filter { reachable.contains($0.key) }
            guard clockAhead.count < Self.clocksMax else { return }
        }
        clockAhead[peerID] = milliseconds
    }

    func peer(_ id: String, _ now: RequestContext) -> SessionPeer? {
        id == localPeer.id ? localPeer : now.peers.first { $0.id == id }
    }
}

// MARK: - Time

extension RequesterCore {
    /// Does everything that is due and plans the next tick. Complexity: O(requests and waits).
    mutating func tick(_ now: RequestContext) {
        guard let deadline, deadline <= now.elapsed else { return }
        self.deadline = nil
        let due = calls.values.filter { $0.due <= now.elapsed }.sorted { $0.stamp < $1.stamp }
        for call in due where calls[call.id] != nil {
            if call.deadline <= now.elapsed {
                finish(call.id, .failure(.timeout), now)
            } else if case .listening = call.phase {
                handleSilence(of: call, now)
            } else {
                attempt(call.id, now)
            }
        }
        resume(waits.filter { $0.due.map { $0 <= now.elapsed } ?? false }, false)
        if let next = (calls.values.map(\.due) + waits.compactMap(\.due)).min() { wake(by: next) }
    }

    /// Requests a tick, unless an earlier one is planned.
    mutating func wake(by due: Duration) {
        if let deadline, deadline <= due { return }
        deadline = due
        direct(.tick(at: due))
    }
}

// MARK: - From the call to its end

extension RequesterCore {
    /// - Returns: false if too many calls are under way.
    mutating func begin(_ call: RequestCall, _ now: RequestContext) -> Bool {
        guard calls.count < Self.callsMax else { return false }
        calls[call.id] = call
        wake(by: call.deadline)
        attempt(call.id, now)
        return true
    }

    /// Cancels all calls.
    mutating func end(_ now: RequestContext) {
        for call in calls.values.sorted(by: { $0.stamp < $1.stamp }) { finish(call.id, .failure(.cancelled), now) }
    }

    /// Ends a call. Does nothing if it has ended before.
    /// - Parameter result: the answer, which may be an error of the peer.
    mutating func finish(_ id: UUID, _ result: Result<RequestMessage, ConnectionError>, _ now: RequestContext) {
        guard let call = calls.removeValue(forKey: id) else { return }
        let wasQueued = queue.contains(id)
        queue.removeAll { $0 == id }
        switch result {
        case .success(let answer):
            withdrawRedundantCopies(of: call, now)
            // A refused fire-and-forget request has no caller that could report the error.
            if call.isFireAndForget, let error = answer.failure {
                report(.deliveryFailed(requestType: call.type, error: error, willRetry: false))
            } else {
                report(.messageSent(requestType: call.type, duration: now.elapsed - call.startedAt))
            }
            direct(.peerResponded)
        case .failure(let error):
            report(.deliveryFailed(requestType: call.type, error: error, willRetry: false))
            let (isExpired, isUnsent) = (error == .timeout, wasQueued || call.sentAt == nil)
            if isExpired, isUnsent { report(.requestExpired(requestType: call.type)) }
            withdrawCopies(of: call, expired: isExpired && !isUnsent ? call.type : nil)
            // A slow peer that has the request doesn't count against the connection.
            if !call.isConfirmed { direct(.failed(error, isReachable: isReachable(call.options.peer?.id))) }
        }
        vacateSlot(of: id, now)
        direct(call.isFireAndForget ? .wake(id, false) : .end(id, result))
    }

    /// Ends a fire-and-forget request successfully.
    mutating func release(_ call: RequestCall, _ now: RequestContext) {
        calls[call.id] = nil
        queue.removeAll { $0 == call.id }
        report(.messageSent(requestType: call.type, duration: now.elapsed - call.startedAt))
        direct(.wake(call.id, true))
    }

    /// Withdraws all copies, because the peer has the request. Does nothing if several peers were asked, because each
    /// may run it.
    mutating func withdrawRedundantCopies(of call: RequestCall, _ now: RequestContext) {
        if call.options.peer != nil || now.peers.count <= 1 { withdrawCopies(of: call) }
    }

    private mutating func withdrawCopies(of call: RequestCall, expired: String? = nil) {
        for copy in call.copies { submitting[copy] = nil }
        if !call.copies.isEmpty { direct(.withdraw(call.copies, expired: expired)) }
    }
}

// MARK: - Copies

extension RequesterCore {
    /// Gives the transport a copy. A copy for a slot waits for its turn in `writeNext`.
    /// - Parameter call: the copy's call; nil if no call waits for it.
    /// - Returns: the copy's ID.
    mutating func submit(
        _ message: RequestMessage, mode: SessionDeliveryMode, to peer: SessionPeer?, of call: UUID?
    ) -> UUID {
        let copy = RequestCopy(id: makeID(), message: message, mode: mode, peer: peer)
        submitting[copy.id] = call ?? copy.id
        if let call { calls[call]?.copies.append(copy.id) }
        if mode == .latestSnapshot { writes.append(copy) } else { direct(.send(copy)) }
        return copy.id
    }

    /// Returns true if the transport has yet to accept the copy and the copy wasn't withdrawn.
    func isWanted(_ copy: UUID) -> Bool { submitting[copy] != nil }

    /// Handles the transport's result for a copy: accepted, or refused with an error.
    mutating func handleResult(of copy: UUID, _ error: ConnectionError?, _ now: RequestContext) {
        endWrite(copy, now)
        guard let id = submitting.removeValue(forKey: copy) else {
            // The copy was withdrawn before the transport had it, so it must be withdrawn again.
            if error == nil { direct(.withdraw([copy])) }
            return
        }
        if error == nil { calls[id]?.sentAt = now.elapsed } else { calls[id]?.copies.removeAll { $0 == copy } }
        guard let call = calls[id], call.phase == .submitting(copy) else { return }
        if let error { failed(call, error, now) } else { sent(call, now) }
    }
}

// MARK: - The queue

extension RequesterCore {
    /// Lets a call wait for the peer. Does nothing if it waits already.
    /// - Returns: false if too many wait. The call has then failed.
    mutating func enqueue(_ call: RequestCall, _ now: RequestContext) -> Bool {
        guard !queue.contains(call.id) else { return true }
        guard queue.count < Self.queueMax else {
            finish(call.id, .failure(.deliveryFailed(reason: "\(Self.queueMax) requests already wait for a peer")), now)
            return false
        }
        queue.append(call.id)
        report(.requestQueued(requestType: call.type, queueSize: queue.count))
        return true
    }

    /// Ends the wait of calls for which `isIncluded` is true.
    mutating func dequeue(_ now: RequestContext, where isIncluded: (RequestCall) -> Bool) {
        let ids = queue.filter { calls[$0].map(isIncluded) ?? false }
        guard !ids.isEmpty else { return }
        queue.removeAll { ids.contains($0) }
        report(.queueFlushed(count: ids.count))
        for id in ids { if case .pausing = calls[id]?.phase { attempt(id, now) } }
    }
}

// MARK: - Reachable peers and waiting requests

extension RequesterCore {
    func isReachable(_ peerID: String?) -> Bool {
        guard let peerID else { return !reachable.isEmpty }
        return reachable.contains(peerID) || reachable.contains("")
    }

    mutating func changeReachability(_ change: SessionPeerReachability, _ now: RequestContext) {
        let id = change.peer?.id ?? ""
        guard change.isReachable else { return reachable.subtract([id]) }
        reachable.insert(id)
        resume(waits.filter { if case .arrival(let peerID) = $0.event { isReachable(peerID) } else { false } }, true)
        dequeue(now) { $0.options.peer == nil || change.peer == nil || $0.options.peer?.id == id }
    }

    /// Adds a wait. A `wake` directive will report whether its event has happened in time.
    mutating func wait(_ wait: Wait) {
        if case .arrival(let peerID) = wait.event, isReachable(peerID) { return direct(.wake(wait.id, true)) }
        waits.append(wait)
        if let due = wait.due { wake(by: due) }
    }

    /// Shortens a wait.
    mutating func shortenWait(_ id: UUID, to due: Duration) {
        guard let index = waits.firstIndex(where: { $0.id == id }) else { return }
        waits[index].due = due
        wake(by: due)
    }

    mutating func endWait(_ id: UUID) { resume(waits.filter { $0.id == id }, false) }

    /// Ends waits, and reports whether their events have happened.
    mutating func resume(_ ended: [Wait], _ hasOccurred: Bool) {
        for wait in ended {
            waits.removeAll { $0.id == wait.id }
            direct(.wake(wait.id, hasOccurred))
        }
    }
}
