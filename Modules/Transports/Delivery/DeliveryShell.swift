import MeshBus
import MeshIdentity
import MeshTransport
import MeshWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What carries out what the core wants: holds the lock, the link, the lines and the subscribers.
///
/// Every call works on the core under the lock and then, with the lock let go, does what has to be done outside:
/// handing packets to the link (for one address only ever one caller; another one leaves its packets to that), waking
/// those who wait, asking the clock. So a link may call the observer from within `send`, and nothing runs but on the
/// threads of callers, of the link and of the clock.
final class DeliveryShell: LinkObserver {
    struct State: ~Copyable, Sendable {
        var core: DeliveryCore
        var lines: [LinkAddress: DeliveryLine] = [:]
        var phase = Phase.idle
        /// Sends that wait for room.
        var waiters: [UInt64: CheckedContinuation<Void, any Error>?] = [:]
        var nextWaiter: UInt64 = 0
        /// When the clock will call; .max for never.
        var wakesAt = UInt64.max
    }

    enum Phase {
        case idle, open, closing, closed
    }

    let localPeer: SessionPeer
    let link: any TransportLink
    let clock: any DeliveryClock
    let inbox: TransportInbox
    let diagnostics: Topic<SessionDiagnosticEvent>
    let budget: PayloadBudget
    /// Payloads are written before they are accepted; otherwise values pass as they are.
    let writesPayloads: Bool
    let archive: DeliveryArchive?
    let setup: LineSetup
    let state: Locked<State>

    init(
        localPeer: SessionPeer, link: any TransportLink, clock: any DeliveryClock, inbox: TransportInbox,
        diagnostics: Topic<SessionDiagnosticEvent>, budget: PayloadBudget, writesPayloads: Bool,
        archive: DeliveryArchive?,
        setup: LineSetup, core: DeliveryCore
    ) {
        self.localPeer = localPeer
        self.link = link
        self.clock = clock
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
        var addresses: [LinkAddress] = []
        var hopeless: [LinkAddress] = []
        var diagnostics: [SessionDiagnosticEvent] = []
        var waiters: [CheckedContinuation<Void, any Error>] = []
        var wakesAt: UInt64?
        var hasChanges = false
        var isStalled = false
        var abandonsFull = false
    }

    /// Calls `body` on the state and does what follows.
    ///
    /// - Parameter passesOn: the subscribers may get something that must not be lost; their room is looked up.
    func perform<Result>(
        passesOn: Bool = false, _ body: (inout State, DeliveryTime) throws -> Result
    ) rethrows -> Result {
        let now = DeliveryTime(clock)
        var work = Work()
        defer { carryOut(work) }
        return try state.withLock { state in
            defer { work = collect(&state, now) }
            state.core.room = passesOn ? inbox.durableRoom : 0
            state.core.tellsAcknowledgements = passesOn && diagnostics.subscriberCount > 0
            return try body(&state, now)
        }
    }

    private func collect(_ state: inout State, _ now: DeliveryTime) -> Work {
        var work = Work()
        state.core.takeBackFrames(now)
        let directives = state.core.takeDirectives()
        handOver(directives.arrivals)
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
        if state.core.deadline < state.wakesAt {
            state.wakesAt = state.core.deadline
            work.wakesAt = state.wakesAt
        }
        return work
    }

    /// Neighbours of one kind are handed over at once.
    private func handOver(_ arrivals: [DeliveryDirectives.Arrival]) {
        guard !arrivals.isEmpty else { return }
        var batch: [AnySessionSyncEnvelope] = []
        var isDurable = false
        func flush() {
            guard !batch.isEmpty else { return }
            inbox.deliver(batch, isDurable: isDurable)
            batch.removeAll(keepingCapacity: true)
        }
        for arrival in arrivals {
            switch arrival {
            case .envelope(let envelope):
                if isDurable { flush() }
                isDurable = false
                batch.append(envelope)
            case .durable(let envelope):
                if !isDurable { flush() }
                isDurable = true
                batch.append(envelope)
            case .snapshot(let snapshot):
                flush()
                inbox.deliver(snapshot)
            case .request(let request):
                flush()
                inbox.deliver(request)
            case .reachability(let change):
                flush()
                inbox.deliver(change)
            }
        }
        flush()
    }

    private func carryOut(_ work: Work) {
        if work.hasChanges { store() }
        for address in work.addresses { pump(address) }
        for address in work.hopeless { link.disconnect(address) }
        if work.abandonsFull { inbox.abandonFullSubscribers() }
        if work.isStalled { inbox.whenDurableRoom { [weak self] in self?.tick() } }
        for event in work.diagnostics { diagnostics.publish(event) }
        for waiter in work.waiters { waiter.resume() }
        if let time = work.wakesAt { scheduleWake(at: time) }
    }

    private static var inboxInterval: UInt64 { 200_000_000 }

    private func scheduleWake(at time: UInt64) {
        clock.wake(at: .nanoseconds(Int64(clamping: time))) { [weak self] in self?.tick() }
    }

    private func tick() {
        perform(passesOn: true) { state, now in
            guard state.phase != .closed else { return }
            // Asked to be called again by whoever finds the next deadline.
            state.wakesAt = .max
            state.core.tick(now)
        }
        if let archive, archive.hasInbox { store() }
    }

    // MARK: - To the link

    /// Hands packets to the link until there are none or it has no room. One caller for an address at a time: another one
    /// leaves its packets to that.
    func pump(_ address: LinkAddress) {
        var isFirst = true
        while let packet = nextPacket(address, isFirst: isFirst) {
            isFirst = false
            do throws(LinkError) {
                try link.send(packet, to: address)
            } catch {
                guard goesOn(after: error, packet, address) else { return }
            }
        }
    }

    /// - Returns: nil when somebody else sends, or nothing is to be sent; the turn is over then.
    private func nextPacket(_ address: LinkAddress, isFirst: Bool) -> LinkPacket? {
        perform { state, now in
            guard let line = state.lines[address] else { return nil }
            if isFirst {
                guard !line.outgoing.isSending, !line.outgoing.isBlocked else { return nil }
                line.outgoing.isSending = true
            }
            if line.outgoing.packets.isEmpty {
                for (message, error) in line.makePackets(&state.core, for: address, now) {
                    state.core.report(.sendFailed(message.metadata, mode: .reliableEventually, reason: "\(error)"))
                }
            }
            line.outgoing.hasBecomeWritable = false
            let packet = line.outgoing.packets.takeFirst()
            line.outgoing.isSending = packet != nil
            return packet
        }
    }

    private func goesOn(after error: LinkError, _ packet: LinkPacket, _ address: LinkAddress) -> Bool {
        perform { state, now in
            guard let line = state.lines[address] else { return false }
            switch error.code {
            case .full:
                line.outgoing.putBack(packet)
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
                if packet.lane.isLive { state.core.disconnected(address, reason: nil, now) }
                return false
            }
        }
    }
}

// MARK: - From the link

extension DeliveryShell {
    func found(_ address: LinkAddress) {
        perform { state, now in
            guard state.phase != .closed else { return }
            _ = state.line(at: address, setup)
            state.core.found(address, now)
        }
    }

    func connected(_ address: LinkAddress, as peerID: String?) {
        perform { state, now in
            guard state.phase != .closed else { return }
            let line = state.line(at: address, setup)
            line.beginWriting()
            line.beginReading()
            state.core.connected(address, as: peerID, now)
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
        guard let line = state.withLock({ $0.lines[address] }) else { return }
        let (frames, failure) = line.frames(in: bytes, on: lane, now: clock.elapsed)
        guard !frames.isEmpty || failure != nil else { return }
        perform(passesOn: true) { state, now in
            guard state.phase != .closed else { return }
            do throws(WireError) {
                for frame in frames { try state.core.receive(frame, on: lane, from: address, now) }
                if let failure { throw failure }
            } catch {
                state.core.cannotRead(from: address, on: lane, error, now)
            }
        }
    }

    func writable(_ address: LinkAddress) {
        state.withLock { state in
            state.lines[address]?.outgoing.hasBecomeWritable = true
            state.lines[address]?.outgoing.isBlocked = false
        }
        pump(address)
    }

    func disconnected(_ address: LinkAddress, reason: String?) {
        perform { state, now in
            let line = state.lines[address]
            let isCut = line.map { !$0.isAtFrameBoundary } ?? false
            line?.outgoing.encoder = nil
            line?.forgetUnsent()
            line?.beginReading()
            if state.core.settings.keptLane == nil { state.lines[address] = nil }
            state.core.disconnected(address, reason: reason ?? (isCut ? "the input ended within a frame" : nil), now)
        }
    }

    func failed(_ reason: String) {
        perform { state, now in
            for address in state.lines.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
                state.core.disconnected(address, reason: reason, now)
            }
            if state.lines.isEmpty { state.core.report(.rejected(peerID: nil, reason: reason)) }
            state.lines.removeAll()
        }
    }
}

// MARK: - From callers

extension DeliveryShell {
    /// Takes the messages, all for the same receivers, waiting for room where there is none.
    /// - Returns: the change that must be stored before they count.
    func submit(_ items: [DeliveryCore.Item], mode: SessionDeliveryMode, to peerID: String?) async throws {
        let notedCount = archive?.notedCount ?? 0
        var next = 0
        while next < items.count {
            try Task.checkCancellation()
            let waiter: UInt64? = try perform { state, now in
                guard state.phase == .idle || state.phase == .open else { throw SessionSyncError.closed }
                while next < items.count {
                    switch try state.core.send(items[next], mode: mode, to: peerID, now) {
                    case .taken: next += 1
                    case .full: return state.addWaiter()
                    }
                }
                return nil
            }
            if let waiter { try await wait(waiter) }
        }
        if let archive, mode == .reliableEventually { try await archive.flush(since: notedCount) }
    }

    private func wait(_ waiter: UInt64) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isDue = state.withLock { state in
                    guard state.waiters[waiter] != nil else { return true }
                    state.waiters[waiter] = .some(continuation)
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { $0.waiters.removeValue(forKey: waiter) ?? nil }
            continuation?.resume(throwing: CancellationError())
        }
    }
}

extension DeliveryShell.State {
    /// Entered in the same turn in which there was no room, so that room that comes meanwhile is not missed.
    mutating func addWaiter() -> UInt64 {
        nextWaiter += 1
        waiters.updateValue(nil, forKey: nextWaiter)
        return nextWaiter
    }

    mutating func takeWaiters() -> [CheckedContinuation<Void, any Error>] {
        defer { waiters.removeAll() }
        return waiters.keys.sorted().compactMap { waiters[$0] ?? nil }
    }

    mutating func line(at address: LinkAddress, _ setup: LineSetup) -> DeliveryLine {
        if let line = lines[address] { return line }
        let line = DeliveryLine(setup)
        lines[address] = line
        return line
    }
}

// MARK: - Beginning and end

extension DeliveryShell {
    func open() throws {
        try state.withLock { state in
            switch state.phase {
            case .idle: state.phase = .open
            case .open: throw DeliveryError(.alreadyStarted, "a transport starts once")
            case .closing, .closed: throw SessionSyncError.closed
            }
        }
        do {
            try link.open(self)
        } catch {
            state.withLock { $0.phase = .idle }
            throw error
        }
    }

    /// Hands over what was accepted, says farewell and ends. What the link does not take within `grace` is given up.
    func close(grace: Duration) async {
        let (isMine, waiters) = state.withLock { state in
            let isMine = state.phase == .idle || state.phase == .open
            if isMine { state.phase = .closing }
            return (isMine, state.takeWaiters())
        }
        for waiter in waiters { waiter.resume() }
        guard isMine else { return }
        if let archive { try? await archive.flush(since: archive.notedCount) }
        perform { state, _ in state.core.reportNow() }
        let deadline = ContinuousClock.now + grace
        while hasUnsent(), ContinuousClock.now < deadline { try? await Task.sleep(for: .milliseconds(1)) }
        for address in say(goodbye: WireGoodbye(.closing)) { pump(address) }
        await link.close()
        // What subscribers have dealt with is not offered again.
        if archive != nil { store() }
        end()
    }

    /// Without a farewell: nobody holds the transport any more.
    func abandon() {
        let isMine = state.withLock { state in
            defer { state.phase = .closed }
            return state.phase == .open || state.phase == .idle
        }
        guard isMine else { return }
        let link = link
        Task { await link.close() }
        end()
    }

    private func end() {
        state.withLock { state in
            state.phase = .closed
            state.lines.removeAll()
        }
        archive?.close()
        inbox.close()
    }

    private func hasUnsent() -> Bool {
        for address in state.withLock({ Array($0.lines.keys) }) { pump(address) }
        return state.withLock { state in
            let hasPackets = state.lines.values.contains { !$0.outgoing.packets.isEmpty || $0.outgoing.isSending }
            return hasPackets || (clock.passesByItself && state.core.awaitsAcknowledgements)
        }
    }

    private func say(goodbye: WireGoodbye) -> [LinkAddress] {
        state.withLock { state in
            let addresses = state.lines.keys.sorted { $0.rawValue < $1.rawValue }
            for address in addresses { state.core.say(.goodbye(goodbye), at: address) }
            return addresses
        }
    }
}

// MARK: - The store

extension DeliveryShell {
    func store() {
        let inbox = inbox
        archive?.write(
            doneCount: { inbox.durableDoneCount },
            done: { [weak self] changes, error in
                self?.perform { state, now in
                    if let error {
                        state.core.notStored(changes, reason: "\(error)", now)
                    } else {
                        state.core.stored(changes, now)
                    }
                }
            })
    }
}
