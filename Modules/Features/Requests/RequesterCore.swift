import Foundation
import MeshConnection
import MeshIdentity
import MeshTransport

/// The asking side as a value: every request that has no answer yet, and what is known of the peers. It is told what
/// happens and when, and answers with directives; it has no clock, draws no ids and sends nothing.
///
/// A request is in `calls` from `begin` to its end, which is one directive. What it waits for at the moment is its phase;
/// beside that it may be in `queue`, in `slots` and, by its copies, in `handing`.
///
/// At most 4096 requests are under way, of which 256 wait for a peer; beyond that a request fails with `deliveryFailed`.
struct RequesterCore: Sendable {
    static let callsMax = 4096
    static let queueMax = 256

    /// Somebody who waits for a sign.
    struct Wait: Sendable {
        enum Sign: Sendable {
            case none
            /// The peer of that id can be reached, or anybody.
            case arrival(String?)
            /// A probe of that peer, or of anybody, has come back.
            case echo(String?)
        }

        let id: UUID
        let sign: Sign
        var due: Duration?
    }

    let localPeer: SessionPeer
    /// A new one for each copy.
    let makeID: @Sendable () -> UUID
    var calls: [UUID: RequestCall] = [:]
    /// Those that wait for the peer, in the order in which they came.
    private(set) var queue: [UUID] = []
    var slots: [Slot] = []
    /// Copies that are to be written into slots, after the one that is being written.
    var writes: [RequestCopy] = []
    var written: UUID?
    /// The copies that the transport is being given, and whose they are. One that is missing has been taken back.
    private(set) var handing: [UUID: UUID] = [:]
    private(set) var waits: [Wait] = []
    /// Ids; empty for a peer that the transport cannot tell.
    private(set) var reachable: Set<String> = []
    /// Milliseconds by which a peer's wall clock is ahead of this one.
    private(set) var clockAhead: [String: Int64] = [:]
    var ignoredReplyCount = 0
    /// When something is due; nil when time changes nothing.
    private(set) var deadline: Duration?
    private(set) var directives: [RequestDirective] = []

    mutating func takeDirectives() -> [RequestDirective] {
        defer { directives = [] }
        return directives
    }

    mutating func direct(_ directive: RequestDirective) { directives.append(directive) }
    mutating func report(_ event: DiagnosticEvent) { direct(.report(event)) }

    /// Maximum number of peers whose clocks are remembered. As many as delivery remembers.
    static let clocksMax = 1024

    /// Of too many, peers that can't be reached are forgotten: their requests expire by this clock then.
    mutating func noteClock(of peerID: String, aheadBy milliseconds: Int64) {
        if clockAhead[peerID] == nil, clockAhead.count >= Self.clocksMax {
            clockAhead = clockAhead.filter { reachable.contains($0.key) }
            guard clockAhead.count < Self.clocksMax else { return }
        }
        clockAhead[peerID] = milliseconds
    }

    func peer(_ id: String, _ now: RequestMoment) -> SessionPeer? {
        id == localPeer.id ? localPeer : now.peers.first { $0.id == id }
    }
}

// MARK: - Time

extension RequesterCore {
    /// Does what is due, and finds out when the next thing is. O(requests and waits).
    mutating func tick(_ now: RequestMoment) {
        guard let deadline, deadline <= now.elapsed else { return }
        self.deadline = nil
        let due = calls.values.filter { $0.due <= now.elapsed }.sorted { $0.stamp < $1.stamp }
        for call in due where calls[call.id] != nil {
            if call.deadline <= now.elapsed {
                finish(call.id, .failure(.timeout), now)
            } else if case .listening = call.phase {
                heardNothing(of: call, now)
            } else {
                attempt(call.id, now)
            }
        }
        resume(waits.filter { $0.due.map { $0 <= now.elapsed } ?? false }, false)
        if let next = (calls.values.map(\.due) + waits.compactMap(\.due)).min() { wake(by: next) }
    }

    /// Asks for a tick, unless one comes before.
    mutating func wake(by due: Duration) {
        if let deadline, deadline <= due { return }
        deadline = due
        direct(.tick(at: due))
    }
}

// MARK: - From the call to its end

extension RequesterCore {
    /// - Returns: false when too many are under way.
    mutating func begin(_ call: RequestCall, _ now: RequestMoment) -> Bool {
        guard calls.count < Self.callsMax else { return false }
        calls[call.id] = call
        wake(by: call.deadline)
        attempt(call.id, now)
        return true
    }

    /// Nobody asks any more.
    mutating func end(_ now: RequestMoment) {
        for call in calls.values.sorted(by: { $0.stamp < $1.stamp }) { finish(call.id, .failure(.cancelled), now) }
    }

    /// Ends a call, once; whoever comes later changes nothing.
    /// - Parameter result: the answer, whatever it says.
    mutating func finish(_ id: UUID, _ result: Result<RequestMessage, ConnectionError>, _ now: RequestMoment) {
        guard let call = calls.removeValue(forKey: id) else { return }
        let wasQueued = queue.contains(id)
        queue.removeAll { $0 == id }
        switch result {
        case .success(let answer):
            takeBackNeedless(call, now)
            // Of a fire-and-forget request that was refused nobody else is told.
            if call.isFireAndForget, let error = answer.failure {
                report(.deliveryFailed(requestType: call.type, error: error, willRetry: false))
            } else {
                report(.messageSent(requestType: call.type, duration: now.elapsed - call.startedAt))
            }
            direct(.heard)
        case .failure(let error):
            report(.deliveryFailed(requestType: call.type, error: error, willRetry: false))
            let (isExpired, isUnsent) = (error == .timeout, wasQueued || call.sentAt == nil)
            if isExpired, isUnsent { report(.requestExpired(requestType: call.type)) }
            takeBack(call, expired: isExpired && !isUnsent ? call.type : nil)
            // A peer that has it and takes its time says nothing against the connection.
            if !call.isHeard { direct(.failed(error, isReachable: isReachable(call.wish.peer?.id))) }
        }
        vacateSlot(of: id, now)
        direct(call.isFireAndForget ? .wake(id, false) : .end(id, result))
    }

    /// A fire-and-forget request is where it should be.
    mutating func release(_ id: UUID) {
        calls[id] = nil
        queue.removeAll { $0 == id }
        direct(.wake(id, true))
    }

    /// The peer has it. Further copies are for nobody, unless several were asked: the others may still want to run it.
    mutating func takeBackNeedless(_ call: RequestCall, _ now: RequestMoment) {
        if call.wish.peer != nil || now.peers.count <= 1 { takeBack(call) }
    }

    private mutating func takeBack(_ call: RequestCall, expired: String? = nil) {
        for copy in call.copies { handing[copy] = nil }
        if !call.copies.isEmpty { direct(.withdraw(call.copies, expired: expired)) }
    }
}

// MARK: - Copies

extension RequesterCore {
    /// The transport is to be given a copy; one for a slot when `writeNext` finds that it is its turn.
    /// - Parameter call: whose it is; nil for one that no call waits for.
    /// - Returns: the copy's id.
    mutating func hand(
        _ message: RequestMessage, mode: SessionDeliveryMode, to peer: SessionPeer?, of call: UUID?
    ) -> UUID {
        let copy = RequestCopy(id: makeID(), message: message, mode: mode, peer: peer)
        handing[copy.id] = call ?? copy.id
        if let call { calls[call]?.copies.append(copy.id) }
        if mode == .latestSnapshot { writes.append(copy) } else { direct(.send(copy)) }
        return copy.id
    }

    /// Whether the transport is still to be given the copy.
    func isWanted(_ copy: UUID) -> Bool { handing[copy] != nil }

    /// The transport has the copy, or has not taken it.
    mutating func handed(_ copy: UUID, _ error: ConnectionError?, _ now: RequestMoment) {
        endWrite(copy, now)
        guard let id = handing.removeValue(forKey: copy) else {
            // When it was taken back, the transport did not have it yet, and could not withdraw it.
            if error == nil { direct(.withdraw([copy])) }
            return
        }
        if error == nil { calls[id]?.sentAt = now.elapsed } else { calls[id]?.copies.removeAll { $0 == copy } }
        guard let call = calls[id], call.phase == .handing(copy) else { return }
        if let error { failed(call, error, now) } else { sent(call, now) }
    }
}

// MARK: - The queue

extension RequesterCore {
    /// The call waits for the peer. Again changes nothing.
    /// - Returns: false when too many wait, which is the call's end.
    mutating func enqueue(_ call: RequestCall, _ now: RequestMoment) -> Bool {
        guard !queue.contains(call.id) else { return true }
        guard queue.count < Self.queueMax else {
            finish(call.id, .failure(.deliveryFailed(reason: "\(Self.queueMax) requests wait already")), now)
            return false
        }
        queue.append(call.id)
        report(.requestQueued(requestType: call.type, queueSize: queue.count))
        return true
    }

    /// These no longer wait.
    mutating func dequeue(_ now: RequestMoment, where isMeant: (RequestCall) -> Bool) {
        let ids = queue.filter { calls[$0].map(isMeant) ?? false }
        guard !ids.isEmpty else { return }
        queue.removeAll { ids.contains($0) }
        report(.queueFlushed(count: ids.count))
        for id in ids { if case .pausing = calls[id]?.phase { attempt(id, now) } }
    }
}

// MARK: - Who can be reached, and who waits for what

extension RequesterCore {
    func isReachable(_ peerID: String?) -> Bool {
        guard let peerID else { return !reachable.isEmpty }
        return reachable.contains(peerID) || reachable.contains("")
    }

    mutating func changeReachability(_ change: SessionPeerReachability, _ now: RequestMoment) {
        let id = change.peer?.id ?? ""
        guard change.isReachable else { return reachable.subtract([id]) }
        reachable.insert(id)
        resume(waits.filter { if case .arrival(let peerID) = $0.sign { isReachable(peerID) } else { false } }, true)
        dequeue(now) { $0.wish.peer == nil || change.peer == nil || $0.wish.peer?.id == id }
    }

    /// A directive will tell whether it has come by then.
    mutating func wait(_ wait: Wait) {
        if case .arrival(let peerID) = wait.sign, isReachable(peerID) { return direct(.wake(wait.id, true)) }
        waits.append(wait)
        if let due = wait.due { wake(by: due) }
    }

    /// Waits no longer than that.
    mutating func hurry(_ id: UUID, by due: Duration) {
        guard let index = waits.firstIndex(where: { $0.id == id }) else { return }
        waits[index].due = due
        wake(by: due)
    }

    mutating func endWait(_ id: UUID) { resume(waits.filter { $0.id == id }, false) }

    /// What these wait for has come, or never will.
    mutating func resume(_ ended: [Wait], _ hasCome: Bool) {
        for wait in ended {
            waits.removeAll { $0.id == wait.id }
            direct(.wake(wait.id, hasCome))
        }
    }
}
