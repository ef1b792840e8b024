import MeshBase
import MeshFoundation
import MeshIdentity
import MeshTransport
import MeshWire

/// The driver of the core: owns the lock, the link, the lines and the subscribers.
///
/// Every call consists of turns. A turn works on the core under the lock and collects the work to do outside it. After
/// unlocking, it wakes waiting tasks, schedules the clock, and adds addresses with frames to the call's agenda. The
/// call then sends packets until the agenda is empty, with turns that may add more addresses. Only one caller at a time
/// sends to an address; others leave their packets to it. So a link may call the observer from within `send`, and woken
/// tasks may call the transport. All work runs on the threads of callers, of the link and of the clock.
final class DeliveryShell: LinkObserver {
    struct State: ~Copyable, Sendable {
        var core: DeliveryCore
        var lines: [LinkAddress: DeliveryLine] = [:]
        var phase = Phase.idle
        /// Sends that wait for space.
        var waiters: [UInt64: CheckedContinuation<Void, any Error>?] = [:]
        var nextWaiter: UInt64 = 0
        /// True if the frames that this turn makes ready leave in the next turn, together with that turn's frames.
        var holdsFrames = false
        /// The addresses of such frames, each once.
        var heldAddresses: [LinkAddress] = []
        /// The requested wake-ups. They are few: while one is outstanding, no later one is requested.
        var wakes: [UInt64] = []
        /// The peers that were connected when another device last greeted with this device's ID.
        var peersDuringConflict: Set<String> = []
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
    /// True if payloads are encoded before they are accepted. Otherwise values pass unchanged.
    let writesPayloads: Bool
    let archive: DeliveryArchive?
    let setup: LineSetup
    let state: Locked<State>
    /// The lock that is held while the link gets the set of guests. Never take it while holding `state`.
    let guestUpdate = Locked(())
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

    // MARK: - Turns

    /// The work to do after unlocking.
    private struct Work {
        /// The handover, to complete outside the lock. Waking a task takes that task's lock. A caller that cancels the
        /// task holds that lock during the cancellation handlers, which may call the transport.
        var handover = TopicHandover()
        var addresses: [LinkAddress] = []
        var disconnects: [LinkAddress] = []
        var diagnostics: [SessionDiagnosticEvent] = []
        var waiters: [CheckedContinuation<Void, any Error>] = []
        var wakesAt: UInt64?
        var hasChanges = false
        var isStalled = false
        var abandonsFull = false
    }

    /// Addresses with frames to send, in the order in which they were found, each once.
    private struct Agenda {
        private var addresses = FirstInFirstOut<LinkAddress>()
        private var disconnects: [LinkAddress] = []

        mutating func add(_ work: Work) {
            for address in work.addresses where !addresses.contains(address) { addresses.append(address) }
            disconnects += work.disconnects
        }

        mutating func next() -> LinkAddress? { addresses.takeFirst() }

        /// Returns true if the address must be disconnected after its goodbye.
        mutating func takeDisconnect(of address: LinkAddress) -> Bool {
            guard let index = disconnects.firstIndex(of: address) else { return false }
            disconnects.remove(at: index)
            return true
        }
    }

    /// Calls `body` on the state and does the work that follows.
    ///
    /// - Parameter passesOn: true if `body` may pass durable elements to subscribers, so that their space must be
    ///   known.
    func perform<Result>(
        passesOn: Bool = false, _ body: (inout State, DeliveryTime) throws -> Result
    ) rethrows -> Result {
        var agenda = Agenda()
        defer { drain(agenda) }
        return try turn(passesOn: passesOn, &agenda, body)
    }

    /// Calls `body` on the state and does at once the work that follows, except sending.
    private func turn<Result>(
        passesOn: Bool = false, _ agenda: inout Agenda, _ body: (inout State, DeliveryTime) throws -> Result
    ) rethrows -> Result {
        var work = Work()
        defer {
            carryOut(work)
            agenda.add(work)
        }
        return try state.withLock { state in
            // Read under the lock, so that the core's time never goes back.
            let now = DeliveryTime(clock, steadyClock)
            defer { work = collect(&state, now) }
            // If own packets come back, every call may pass messages on.
            let passesOn = passesOn || state.core.settings.returnsOwnPackets
            let space = passesOn ? inbox.durableSpace : nil
            (state.core.availableCount, state.core.availableBytes) = (space?.count ?? 0, space?.bytes ?? 0)
            state.core.reportsAcknowledgements = passesOn && diagnostics.subscriberCount > 0
            return try body(&state, now)
        }
    }

    private func collect(_ state: inout State, _ now: DeliveryTime) -> Work {
        var work = Work()
        state.core.loopBackFrames(now)
        let directives = state.core.takeDirectives()
        work.handover = handOver(directives.arrivals)
        work.diagnostics = directives.diagnostics
        work.isStalled = directives.isStalled
        work.abandonsFull = directives.abandonsFull
        if let archive {
            archive.note(directives.changes)
            work.hasChanges = !directives.changes.isEmpty
            // Finished inbox entries are removed with the next write. This makes sure that one comes soon.
            if archive.hasInbox { state.core.wake(by: now.elapsed + Self.inboxInterval) }
        }
        for (address, goodbye) in directives.connectionsToEnd {
            state.core.queueGoodbye(goodbye, to: address)
            work.addresses.append(address)
            work.disconnects.append(address)
        }
        if state.holdsFrames {
            state.holdsFrames = false
            state.heldAddresses += directives.writable.filter { !state.heldAddresses.contains($0) }
        } else {
            for address in state.heldAddresses where !work.addresses.contains(address) {
                work.addresses.append(address)
            }
            state.heldAddresses.removeAll(keepingCapacity: true)
            for address in directives.writable where !work.addresses.contains(address) {
                work.addresses.append(address)
            }
        }
        if directives.resumesWaiters { work.waiters = state.takeWaiters() }
        // A closed transport doesn't tick: a deadline in the past would be requested forever.
        let deadline = state.phase == .closed ? .max : state.core.deadline
        if deadline < .max, !state.wakes.contains(where: { $0 <= deadline }) {
            state.wakes.append(deadline)
            work.wakesAt = deadline
        }
        return work
    }

    /// Hands consecutive envelopes of one kind to the inbox together.
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

    /// Reports and solves the problems of which the event tells.
    func note(_ event: SessionDiagnosticEvent) {
        switch event {
        case .peerIDInUse(let id):
            state.withLock { state in
                let connected = state.core.peers.filter { $0.address != nil || $0.keptAddress != nil }
                state.peersDuringConflict = Set(connected.map(\.peer.id))
            }
            problems.report(.peerIDInUse(id))
        case .reachabilityChanged(let peerID?, isReachable: true):
            // The other device may have been renamed. A peer that was connected at the same time is a third device.
            if !state.withLock({ $0.peersDuringConflict.contains(peerID) }) { problems.solve(.peerIDInUse) }
        default: break
        }
    }

    /// Sends until the agenda is empty.
    private func drain(_ first: Agenda) {
        var agenda = first
        while let address = agenda.next() {
            send(to: address, &agenda)
            if agenda.takeDisconnect(of: address) { link.disconnect(address) }
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
        // After closing, another transport may own the store.
        if let archive, archive.hasInbox, !isClosed { store() }
    }

    // MARK: - To the link

    /// Sends the frames that are ready for these addresses.
    func flush(_ addresses: [LinkAddress]) {
        var (work, agenda) = (Work(), Agenda())
        work.addresses = addresses
        agenda.add(work)
        drain(agenda)
    }

    /// Hands packets to the link until there are none or the link is full. Only one caller at a time sends to an
    /// address; others leave their packets to it.
    private func send(to address: LinkAddress, _ agenda: inout Agenda) {
        var turn = nextTurn(after: nil, address, &agenda)
        while case (let line, var packets)? = turn {
            while let packet = packets.popFirst() {
                do throws(LinkError) {
                    try link.send(packet, to: address)
                } catch {
                    guard handleSendFailure(error, packet, packets, line, address, &agenda) else { return }
                    packets = []
                }
            }
            turn = nextTurn(after: line, address, &agenda)
        }
    }

    /// - Parameter sending: the line on which this caller is sending; nil to begin.
    /// - Returns: the line with one packet or several datagrams. nil ends the caller's turn: another caller sends
    ///   there, the link has no space, nothing is left to send, or another connection has the address now.
    private func nextTurn(
        after sending: DeliveryLine?, _ address: LinkAddress, _ agenda: inout Agenda
    ) -> (line: DeliveryLine, packets: ArraySlice<LinkPacket>)? {
        turn(&agenda) { state, now in
            guard let line = state.lines[address] else { return nil }
            guard sending.map({ $0 === line }) ?? line.outgoing.isIdle else { return nil }
            if line.outgoing.packets.isEmpty {
                for (frame, error) in line.makePackets(&state.core, for: address, now) {
                    state.core.report(.sendFailed(frame.message.metadata, mode: frame.mode, reason: "\(error)"))
                }
            }
            (line.outgoing.hasBecomeWritable, line.outgoing.connectionHasChanged) = (false, false)
            let packets = line.takePackets()
            line.outgoing.isSending = !packets.isEmpty
            return packets.isEmpty ? nil : (line, packets[...])
        }
    }

    /// - Returns: true if this caller may go on sending to the address.
    private func handleSendFailure(
        _ error: LinkError, _ packet: LinkPacket, _ rest: ArraySlice<LinkPacket>, _ line: DeliveryLine,
        _ address: LinkAddress, _ agenda: inout Agenda
    ) -> Bool {
        turn(&agenda) { state, now in
            guard state.lines[address] === line else { return false }
            if line.outgoing.connectionHasChanged {
                // The packet belongs to an earlier connection, and on a live lane it is lost with that connection. The
                // caller goes on with the packets of the current one.
                if !packet.lane.isLive { line.outgoing.packets.putBack(packet) }
                return true
            }
            for packet in rest.reversed() { line.outgoing.packets.putBack(packet) }
            switch error.code {
            case .full:
                line.outgoing.packets.putBack(packet)
                // The link may have reported space in the meantime.
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
                    // The peer's last messages may still be arriving. The link reports the end after them.
                    line.outgoing.isBlocked = true
                } else {
                    state.core.disconnected(address, reason: nil, now)
                }
                return false
            }
        }
    }
}
