import MeshBase
import MeshFoundation
import MeshIdentity
import MeshTransport
import MeshWire

/// What carries out what the core wants: holds the lock, the link, the lines and the subscribers.
///
/// Every call is one or more turns. A turn works on the core under the lock and collects what has to be done outside; with
/// the lock let go it wakes those who wait and asks the clock, and enters the addresses to send to in the call's agenda.
/// The call then hands packets to the link (for one address only ever one caller; another one leaves its packets to
/// that), by turns that enter more, until the agenda is empty. So a link may call the observer from within `send`, whoever
/// is woken may call the transport, and nothing runs but on the threads of callers, of the link and of the clock.
final class DeliveryShell: LinkObserver {
    struct State: ~Copyable, Sendable {
        var core: DeliveryCore
        var lines: [LinkAddress: DeliveryLine] = [:]
        var phase = Phase.idle
        /// Sends that wait for room.
        var waiters: [UInt64: CheckedContinuation<Void, any Error>?] = [:]
        var nextWaiter: UInt64 = 0
        /// When the clock will call. A few at most: a later one is not asked for while an earlier one is to come.
        var wakes: [UInt64] = []
    }

    enum Phase {
        case idle, open, closing, closed
    }

    let localPeer: SessionPeer
    let link: any TransportLink
    let clock: any DeliveryClock
    let steadyClock: SteadyClock
    let inbox: TransportInbox
    let diagnostics: Topic<SessionDiagnosticEvent>
    let budget: PayloadBudget
    /// Payloads are written before they are accepted; otherwise values pass as they are.
    let writesPayloads: Bool
    let archive: DeliveryArchive?
    let setup: LineSetup
    let state: Locked<State>
    /// Held while the link is told who is a guest, and by nobody who holds `state`.
    let guestHandover = Locked(())
    let problems = ProblemBoard()

    init(
        localPeer: SessionPeer, link: any TransportLink, clock: any DeliveryClock, steadyClock: SteadyClock,
        inbox: TransportInbox, diagnostics: Topic<SessionDiagnosticEvent>, budget: PayloadBudget, writesPayloads: Bool,
        archive: DeliveryArchive?, setup: LineSetup, core: DeliveryCore
    ) {
        self.localPeer = localPeer
        self.link = link
        self.clock = clock
        self.steadyClock = steadyClock
        self.inbox = inbox
        self.diagnostics = diagnostics
        self.budget = budget
        self.writesPayloads = writesPayloads
        self.archive = archive
        self.setup = setup
        state = Locked(State(core: core))
    }

    // MARK: - The core and what follows from it

    /// What is to be done with the lock let go.
    private struct Work {
        /// Waking takes the woken task's lock, and whoever cancels a task holds that while it calls the task's handlers,
        /// which may call the transport.
        var handover = TopicHandover()
        var addresses: [LinkAddress] = []
        var hopeless: [LinkAddress] = []
        var diagnostics: [SessionDiagnosticEvent] = []
        var waiters: [CheckedContinuation<Void, any Error>] = []
        var wakesAt: UInt64?
        var hasChanges = false
        var isStalled = false
        var abandonsFull = false
    }

    /// Addresses to which there is something to send, in the order in which that was found, each once.
    private struct Agenda {
        private var addresses = FirstInFirstOut<LinkAddress>()
        private var hopeless: [LinkAddress] = []

        mutating func enter(_ work: Work) {
            for address in work.addresses where !addresses.contains(address) { addresses.append(address) }
            hopeless += work.hopeless
        }

        mutating func next() -> LinkAddress? { addresses.takeFirst() }

        /// Whether the address was to be disconnected once it has its goodbye.
        mutating func isHopeless(_ address: LinkAddress) -> Bool {
            guard let index = hopeless.firstIndex(of: address) else { return false }
            hopeless.remove(at: index)
            return true
        }
    }

    /// Calls `body` on the state and does what follows.
    ///
    /// - Parameter passesOn: the subscribers may get something that must not be lost; their room is looked up.
    func perform<Result>(
        passesOn: Bool = false, _ body: (inout State, DeliveryTime) throws -> Result
    ) rethrows -> Result {
        var agenda = Agenda()
        defer { settle(agenda) }
        return try turn(passesOn: passesOn, &agenda, body)
    }

    /// Calls `body` on the state and does at once what follows, save to send.
    private func turn<Result>(
        passesOn: Bool = false, _ agenda: inout Agenda, _ body: (inout State, DeliveryTime) throws -> Result
    ) rethrows -> Result {
        var work = Work()
        defer {
            carryOut(work)
            agenda.enter(work)
        }
        return try state.withLock { state in
            // Read under the lock: what the core is told never goes back.
            let now = DeliveryTime(clock, steadyClock)
            defer { work = collect(&state, now) }
            // Where own packets come back, every call may pass something on.
            let passesOn = passesOn || state.core.settings.returnsOwnPackets
            let space = passesOn ? inbox.durableSpace : nil
            (state.core.room, state.core.roomBytes) = (space?.count ?? 0, space?.bytes ?? 0)
            state.core.tellsAcknowledgements = passesOn && diagnostics.subscriberCount > 0
            return try body(&state, now)
        }
    }

    private func collect(_ state: inout State, _ now: DeliveryTime) -> Work {
        var work = Work()
        state.core.takeBackFrames(now)
        let directives = state.core.takeDirectives()
        work.handover = handOver(directives.arrivals)
        work.diagnostics = directives.diagnostics
        work.isStalled = directives.isStalled
        work.abandonsFull = directives.abandonsFull
        if let archive {
            archive.note(directives.changes)
            work.hasChanges = !directives.changes.isEmpty
            // What subscribers are done with is forgotten with the next write, and soon if there is none.
            if archive.hasInbox { state.core.wake(by: now.elapsed + Self.inboxInterval) }
        }
        for (address, farewell) in directives.hopeless {
            state.core.say(.goodbye(farewell), at: address)
            work.addresses.append(address)
            work.hopeless.append(address)
        }
        for address in directives.writable where !work.addresses.contains(address) { work.addresses.append(address) }
        if directives.hasRoom { work.waiters = state.takeWaiters() }
        // When it is closed no tick comes to what is due: to ask again for what has passed would never end.
        let deadline = state.phase == .closed ? .max : state.core.deadline
        if deadline < .max, !state.wakes.contains(where: { $0 <= deadline }) {
            state.wakes.append(deadline)
            work.wakesAt = deadline
        }
        return work
    }

    /// Neighbours of one kind are handed over at once.
    private func handOver(_ arrivals: [DeliveryDirectives.Arrival]) -> TopicHandover {
        var handover = TopicHandover()
        var batch: [AnySessionSyncEnvelope] = []
        var isDurable = false
        func flush() {
            guard !batch.isEmpty else { return }
            handover.merge(inbox.enqueue(batch, isDurable: isDurable))
            batch.removeAll(keepingCapacity: true)
        }
        for arrival in arrivals {
            switch arrival {
            case .envelope(let envelope):
                if isDurable { flush() }
                isDurable = false
                batch.append(envelope)
            case .envelopes(let envelopes):
                flush()
                handover.merge(inbox.enqueue(envelopes, isDurable: false))
            case .durable(let envelope):
                if !isDurable { flush() }
                isDurable = true
                batch.append(envelope)
            case .snapshot(let snapshot):
                flush()
                handover.merge(inbox.enqueue(snapshot))
            case .request(let request):
                flush()
                handover.merge(inbox.enqueue(request))
            case .reachability(let change):
                flush()
                handover.merge(inbox.enqueue(change))
            }
        }
        flush()
        return handover
    }

    private func carryOut(_ work: Work) {
        work.handover.complete()
        for waiter in work.waiters { waiter.resume() }
        if let time = work.wakesAt { scheduleWake(at: time) }
        if work.hasChanges { store() }
        if work.abandonsFull { inbox.abandonFullSubscribers() }
        if work.isStalled { inbox.whenDurableRoom { [weak self] in self?.tick() } }
        for event in work.diagnostics { diagnostics.publish(event) }
        for event in work.diagnostics { note(event) }
    }

    private func note(_ event: SessionDiagnosticEvent) {
        switch event {
        case .peerIDInUse(let id): problems.report(.peerIDInUse(id))
        // A device that was renamed greets anew.
        case .reachabilityChanged(_, isReachable: true): problems.solve(.peerIDInUse)
        default: break
        }
    }

    /// Sends until there is nothing left that this call has found.
    private func settle(_ first: Agenda) {
        var agenda = first
        while let address = agenda.next() {
            send(to: address, &agenda)
            if agenda.isHopeless(address) { link.disconnect(address) }
        }
    }

    private static var inboxInterval: UInt64 { 200_000_000 }

    private func scheduleWake(at time: UInt64) {
        clock.wake(at: .nanoseconds(Int64(clamping: time))) { [weak self] in
            self?.state.withLock { $0.wakes.removeAll { $0 == time } }
            self?.tick()
        }
    }

    private func tick() {
        let isClosed = perform(passesOn: true) { state, now in
            if state.phase != .closed { state.core.tick(now) }
            return state.phase == .closed
        }
        // The store may be another transport's by then.
        if let archive, archive.hasInbox, !isClosed { store() }
    }

    // MARK: - To the link

    /// Hands what there is for these addresses to the link.
    func flush(_ addresses: [LinkAddress]) {
        var (work, agenda) = (Work(), Agenda())
        work.addresses = addresses
        agenda.enter(work)
        settle(agenda)
    }

    /// Hands packets to the link until there are none or it has no room. One caller for an address at a time: another one
    /// leaves its packets to that.
    private func send(to address: LinkAddress, _ agenda: inout Agenda) {
        var turn = nextTurn(after: nil, address, &agenda)
        while case (let line, var packets)? = turn {
            while let packet = packets.popFirst() {
                do throws(LinkError) {
                    try link.send(packet, to: address)
                } catch {
                    guard goesOn(after: error, packet, packets, line, address, &agenda) else { return }
                    packets = []
                }
            }
            turn = nextTurn(after: line, address, &agenda)
        }
    }

    /// - Parameter sending: the line on which this caller sends; nil begins.
    /// - Returns: the line with one packet, or several datagrams. nil when another caller sends there, the link has no room,
    ///   nothing is to be sent, or another connection has the address now. The caller's turn is over then.
    private func nextTurn(
        after sending: DeliveryLine?, _ address: LinkAddress, _ agenda: inout Agenda
    ) -> (line: DeliveryLine, packets: ArraySlice<LinkPacket>)? {
        turn(&agenda) { state, now in
            guard let line = state.lines[address] else { return nil }
            guard sending.map({ $0 === line }) ?? line.outgoing.isIdle else { return nil }
            if line.outgoing.packets.isEmpty {
                for (message, error) in line.makePackets(&state.core, for: address, now) {
                    state.core.report(.sendFailed(message.metadata, mode: .reliableEventually, reason: "\(error)"))
                }
            }
            (line.outgoing.hasBecomeWritable, line.outgoing.hasBegunAnew) = (false, false)
            let packets = line.takePackets()
            line.outgoing.isSending = !packets.isEmpty
            return packets.isEmpty ? nil : (line, packets[...])
        }
    }

    private func goesOn(
        after error: LinkError, _ packet: LinkPacket, _ rest: ArraySlice<LinkPacket>, _ line: DeliveryLine,
        _ address: LinkAddress, _ agenda: inout Agenda
    ) -> Bool {
        turn(&agenda) { state, now in
            guard state.lines[address] === line else { return false }
            if line.outgoing.hasBegunAnew {
                // What was live is gone with its connection, whose end says nothing of the one that there is now.
                if !packet.lane.isLive { line.outgoing.packets.putBack(packet) }
                return true
            }
            for packet in rest.reversed() { line.outgoing.packets.putBack(packet) }
            switch error.code {
            case .full:
                line.outgoing.packets.putBack(packet)
                // It may have said that it has room before this was known.
                line.outgoing.isBlocked = !line.outgoing.hasBecomeWritable
                line.outgoing.isSending = !line.outgoing.isBlocked
                return line.outgoing.isSending
            case .oversized:
                state.core.report(.dropped(count: 1, reason: "the link refused a packet: \(error)"))
                return true
            default:
                line.outgoing.isSending = false
                line.forgetUnsent()
                guard packet.lane.isLive else { return false }
                for message in line.messages(in: packet) { state.core.undelivered(message, at: address) }
                if state.core.settings.keptLane == nil {
                    // What the peer said before it went may still be on its way here: the link tells of the end after it.
                    line.outgoing.isBlocked = true
                } else {
                    state.core.disconnected(address, reason: nil, now)
                }
                return false
            }
        }
    }
}
