import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport
import Testing

@testable import MeshRequests

/// The requesting side without a transport, a task or a clock.
@Suite struct RequesterCoreTests {
    @Test(arguments: DeliveryStrategy.allCases)
    func `In every order of events a request ends once and leaves nothing`(strategy: DeliveryStrategy) async {
        var visits = 0
        for (delivery, isFireAndForget) in [(DeliveryMode.queued, false), (.immediate, false), (.queued, true)] {
            for isReachable in [true, false] {
                var play = Play(strategy, delivery, isFireAndForget: isFireAndForget)
                if isReachable { play.take(.peerComes) }
                play.take(.ask)
                for next in play.next {
                    if let complaint = next.explore(depth: 2, &visits) {
                        Issue.record("\(complaint)")
                        return
                    }
                    await Task.yield()
                }
            }
        }
        // A search that ends early would find nothing.
        #expect(visits > 1000, "\(visits)")
    }

    @Test func `The check detects a fault`() {
        var play = Play(.queueOnly, .queued, isFireAndForget: false)
        play.take(.peerComes)
        play.take(.ask)
        var forgotten = play
        forgotten.core.calls = [:]
        #expect(forgotten.complaint != nil)
        var twice = play
        twice.take(.cancel)
        #expect(twice.complaint == nil)
        twice.ends[twice.asked[0], default: 0] += 1
        #expect(twice.complaint != nil)
        var left = play
        left.take(.submitted(nil))
        left.taken.insert(UUID())
        left.runOut()
        #expect(left.remains != nil)
    }

    @Test func `A bounded number of peers' clocks is remembered, and reachable peers keep theirs`() {
        var core = RequesterCore(localPeer: phone) { UUID() }
        let near = SessionPeer(id: "near", deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
        let moment = RequestContext(elapsed: .zero, wall: 0, peers: [])
        core.changeReachability(SessionPeerReachability(true, peer: near), moment)
        core.noteClock(of: "near", aheadBy: 7)
        for number in 0..<3 * RequesterCore.clocksMax { core.noteClock(of: "peer \(number)", aheadBy: 1) }
        #expect(core.clockAhead.count <= RequesterCore.clocksMax)
        #expect(core.clockAhead["near"] == 7)
    }

    @Test func `Waits end when they are due, in order, and not after they were ended`() {
        var core = RequesterCore(localPeer: phone) { UUID() }
        let ids = (0..<8).map { _ in UUID() }
        func wait(_ index: Int, until milliseconds: Int) {
            core.wait(.init(id: ids[index], event: .none, due: .milliseconds(milliseconds)))
        }
        var ended: [Int] = []
        func advance(to milliseconds: Int) {
            while let due = core.deadline, due <= .milliseconds(milliseconds) {
                core.tick(RequestContext(elapsed: due, wall: 0, peers: []))
                for case .wake(let id, false) in core.takeDirectives() {
                    guard let index = ids.firstIndex(of: id) else { continue }
                    ended.append(index)
                    if index == 6 { wait(7, until: 26) }
                }
            }
        }
        for (index, due) in [50, 10, 30, 10, 40, 20].enumerated() { wait(index, until: due) }
        core.endWait(ids[2])
        _ = core.takeDirectives()
        advance(to: 20)
        #expect(ended == [1, 3, 5])
        wait(6, until: 25)
        advance(to: 100)
        #expect(ended == [1, 3, 5, 6, 7, 4, 0])
        #expect(core.deadline == nil && core.waits.isEmpty)
    }

    @Test func `However many requests wait, few clock calls are scheduled`() {
        var core = RequesterCore(localPeer: phone) { UUID() }
        for due in 1...1000 {
            let id = UUID()
            core.wait(.init(id: id, event: .none, due: .milliseconds(1000 + due)))
            core.endWait(id)
        }
        #expect(core.takeDirectives().count { if case .tick = $0 { true } else { false } } == 1)
    }

    /// A clock call that an earlier call has overtaken changes nothing, and requests no other call.
    @Test func `The number of clock calls doesn't grow`() {
        var core = RequesterCore(localPeer: phone) { UUID() }
        var calls: [Duration] = []
        func takeCalls() { for case .tick(let due) in core.takeDirectives() { calls.append(due) } }
        for round in 0..<50 {
            for due in [30, 20, 10] {
                core.wait(.init(id: UUID(), event: .none, due: .milliseconds(round * 10 + due)))
            }
            takeCalls()
            let due = calls.min() ?? .zero
            for call in calls where call <= due {
                core.tick(RequestContext(elapsed: due, wall: 0, peers: []))
                calls.remove(at: calls.firstIndex(of: call) ?? 0)
                takeCalls()
            }
            #expect(calls.count <= 4)
        }
    }

    @Test func `A copy sent again because of differing clocks decides nothing`() {
        var play = Play(.queueOnly, .queued, isFireAndForget: false)
        play.take(.peerComes)
        play.take(.ask)
        play.take(.reply(.late))
        #expect(play.submitting.count == 2)
        play.take(.submitted(nil))
        play.take(.submitted(.payloadTooLarge(bytes: 2, limit: 1, limitID: "x")))
        #expect(play.ends.isEmpty && play.core.calls.count == 1)
        play.runOut()
        #expect(play.ends[play.asked[0]] == 1 && play.remains == nil)
    }

    @Test func `An answer that arrives before the send returns ends the request and withdraws the copy`() {
        var play = Play(.queueOnly, .queued, isFireAndForget: false)
        play.take(.peerComes)
        play.take(.ask)
        play.take(.reply(.answer))
        #expect(play.ends[play.asked[0]] == 1)
        // The transport takes the copy nevertheless. Only now can it be withdrawn.
        play.take(.submitted(nil))
        #expect(play.taken.isEmpty)
    }
}

// MARK: - One course of events

/// A core and the knowledge of its shell and callers. It is a value, so that every course can be tried from every state.
struct Play {
    enum Event {
        /// Sends a request. A second one, while the first is pending, uses the same slot.
        case ask
        case cancel
        /// The transport is done with the oldest copy.
        case submitted(ConnectionError?)
        case peerComes, peerGoes
        case reply(RequestMessage.Kind)
        /// Time passes until something is due.
        case time
    }

    static let events: [Event] = [
        .ask, .cancel, .submitted(nil), .submitted(.notReachable), .submitted(.deliveryFailed(reason: "full")),
        .submitted(.payloadTooLarge(bytes: 2, limit: 1, limitID: "x")), .peerComes, .peerGoes, .reply(.answer),
        .reply(.received), .reply(.late), .time,
    ]

    private static let idCount = Locked(UInt64(0))

    /// Counts ids up, because generating random ones would take most of the time.
    @Sendable private static func makeID() -> UUID {
        let number = idCount.withLock { count in
            count += 1
            return count
        }
        let bytes = withUnsafeBytes(of: (number, number)) { Array($0) }
        return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }

    let options: RequestCall.Options
    let isFireAndForget: Bool
    var core = RequesterCore(localPeer: phone, makeID: Self.makeID)
    var elapsed = Duration.zero
    /// The events so far, as indices of `events`.
    var course: [Int] = []
    var asked: [UUID] = []
    /// The number of times that each request's caller was notified of its end.
    var ends: [UUID: Int] = [:]
    /// The first result that each fire-and-forget caller got: true if the request was accepted.
    var accepted: [UUID: Bool] = [:]
    /// The copies that are being handed to the transport.
    var submitting: [RequestCopy] = []
    /// The copies that the transport has and could still withdraw.
    var taken: Set<UUID> = []
    /// The message in the slot.
    var slot: RequestMessage?
    var fault: String?

    init(_ strategy: DeliveryStrategy, _ delivery: DeliveryMode, isFireAndForget: Bool) {
        options = RequestCall.Options(strategy: strategy, delivery: delivery, policy: .default, peer: nil)
        self.isFireAndForget = isFireAndForget
    }

    private var now: RequestContext { RequestContext(elapsed: elapsed, wall: 1_000_000, peers: [watch]) }

    /// - Returns: false if the event can't happen or changes nothing.
    @discardableResult
    mutating func take(_ event: Event) -> Bool {
        switch event {
        case .ask:
            guard asked.count < 2 else { return false }
            let call = RequestCall(
                id: Self.makeID(), type: "Add", payload: Data(), isFireAndForget: isFireAndForget, options: options,
                stamp: HybridTimestamp(rawValue: UInt64(asked.count)), startedAt: elapsed)
            asked.append(call.id)
            guard core.begin(call, now) else { return false }
        case .cancel:
            guard !core.calls.isEmpty else { return false }
            core.finish(asked[0], .failure(.cancelled), now)
        case .submitted(let error):
            guard !submitting.isEmpty else { return false }
            let copy = submitting.removeFirst()
            if copy.mode == .latestSnapshot {
                // A slot that couldn't be emptied is left to the receiver, which checks the request's expiry.
                if error == nil || copy.message.kind == "none" { slot = copy.message }
            } else if error == nil {
                taken.insert(copy.id)
            }
            core.handleResult(of: copy.id, error, now)
        case .peerComes, .peerGoes:
            var isComing = false
            if case .peerComes = event { isComing = true }
            guard core.isReachable(watch.id) != isComing else { return false }
            core.changeReachability(SessionPeerReachability(isComing, peer: watch), now)
        case .reply(let kind):
            guard let id = asked.first else { return false }
            var message = RequestMessage(kind, id: id, type: "Add")
            message.clock = now.wall
            message.method = options.strategy.primaryMethod
            core.receive(message, from: watch.id, now)
        case .time:
            guard let due = core.deadline else { return false }
            elapsed = max(elapsed, due)
            core.tick(now)
        }
        for directive in core.takeDirectives() { carryOut(directive) }
        return true
    }

    private mutating func carryOut(_ directive: RequestDirective) {
        switch directive {
        case .send(let copy):
            submitting.append(copy)
            if copy.message.kind == "request", ends[copy.message.id] != nil { fault = "sent after its end" }
        case .withdraw(let copies, _): taken.subtract(copies)
        case .end(let id, _): ends[id, default: 0] += 1
        case .wake(let id, let isAccepted): accepted[id] = accepted[id] ?? isAccepted
        case .tick, .report, .peerResponded, .failed: break
        }
    }

    /// The violated invariant, or nil.
    var complaint: String? {
        if let fault { return fault }
        for id in asked {
            let isUnderWay = core.calls[id] != nil
            if isFireAndForget {
                if !isUnderWay, accepted[id] == nil { return "it ended without a report" }
            } else if ends[id, default: 0] != (isUnderWay ? 0 : 1) {
                return "under way: \(isUnderWay), ended \(ends[id, default: 0]) times"
            }
        }
        if core.queue.contains(where: { core.calls[$0] == nil }) { return "an ended request waits for the peer" }
        if !core.calls.isEmpty, core.deadline == nil { return "it waits forever" }
        return nil
    }

    /// Lets time pass and the transport take everything until nothing more happens.
    mutating func runOut() {
        for _ in 0..<1000 where take(.submitted(nil)) || take(.time) {}
    }

    /// Forbidden leftovers at the end, or nil. Copies of fire-and-forget requests may stay: they are wanted for days.
    var remains: String? {
        if let complaint { return complaint }
        if !core.calls.isEmpty || !core.queue.isEmpty || !core.submitting.isEmpty { return "something is in flight" }
        if core.deadline != nil || !core.writes.isEmpty || core.currentWrite != nil { return "something is due" }
        if isFireAndForget { return nil }
        if !taken.isEmpty { return "copies are left with the transport" }
        if !core.slots.isEmpty || slot?.kind == "request" { return "a slot is occupied" }
        return nil
    }

    /// Tries every course of `depth` events from here, each to its end.
    /// - Returns: the violation in the first faulty course, or nil.
    func explore(depth: Int, _ visits: inout Int) -> String? {
        visits += 1
        var end = self
        if depth == 0 { end.runOut() }
        if let complaint = depth == 0 ? end.remains : complaint {
            let course = course.map { "\(Self.events[$0])" }
            return "\(options.strategy) \(options.delivery), told \(isFireAndForget): \(course): \(complaint)"
        }
        guard depth > 0 else { return nil }
        for next in next {
            if let complaint = next.explore(depth: depth - 1, &visits) { return complaint }
        }
        return nil
    }

    /// The states after every event that can happen here.
    var next: [Play] {
        Self.events.indices.compactMap { index in
            var next = self
            next.course.append(index)
            return next.take(Self.events[index]) ? next : nil
        }
    }
}
