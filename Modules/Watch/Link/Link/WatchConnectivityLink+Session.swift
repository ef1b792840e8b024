import Foundation
import MeshBase
public import MeshTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

// Handles the session's events.
extension WatchConnectivityLink: WatchSessionListener {
    public func session(_ event: WatchSessionEvent, _ state: WCSessionState) {
        switch event {
        case .activated(error: .some): activateLater()
        case .activated(error: nil): self.state.withLock { $0.activations.reset() }
        case .reachabilityChanged: self.state.withLock { $0.isBackingOff = false }
        default: break
        }
        refresh()
    }

    public func take(_ content: WatchSessionContent) -> Bool {
        switch content {
        case .data(let data, let reply):
            guard let (bytes, launch) = names.packet(in: data) else { return false }
            takeMessage(bytes, launch: launch)
            reply?(Data())
            return true
        case .userInfo(let userInfo):
            if let packets = names.packets(inWake: userInfo) {
                takeWake(packets)
            } else if let data = userInfo[names.key] as? Data {
                takeQueued(data)
            } else {
                return false
            }
            return true
        case .finishedUserInfo(let transfer, _) where transfer.userInfo[names.wakeKey] != nil:
            // A failed one isn't repeated: its packets are in the queue.
            wakeHasEnded()
            return true
        case .finishedUserInfo(let transfer, let error):
            guard let data = transfer.userInfo[names.key] as? Data else { return false }
            finished(data, error)
            return true
        case .message, .file, .finishedFile:
            return false
        }
    }

    public func takeContext(_ context: [String: Any]) {
        let packets = names.packets(in: context)
        state.withLock { state in
            guard let address = state.address else { return }
            let seen = state.addressStates[address]?.seen ?? [:]
            for (key, data) in packets where seen[key] != data {
                notify { $0.received([UInt8](data), on: .latest, from: address) }
            }
            // Forgets keys of earlier contexts, so that `seen` stays bounded. Delivery rejects duplicates.
            state.addressStates[address]?.seen = Dictionary(packets.map { ($0.key, $0.data) }) { $1 }
        }
        calls.run()
    }

    // MARK: Presence

    /// Compares the session's state with the last known one, and reports the differences.
    func refresh() {
        let session = WCSessionState(session)
        let isActive = session.activationState == .activated
        let isReachable = isActive && session.isReachable
        let named = isActive ? self.session.counterpartID.map { LinkAddress($0) } : nil
        let arrival: LinkAddress? = state.withLock { state in
            guard state.phase == .open else { return nil }
            state.isActive = isActive
            // Phones have reported a missing watch app although they reached it. So a reachable counterpart counts as
            // present.
            let counterpart = named ?? (isReachable ? state.address ?? Self.unnamed : nil)
            // A leaving counterpart gets no more events, but packets it sent earlier are still delivered.
            let isLeaving = session.activationState == .inactive
            let isArrival = !isLeaving && counterpart != state.address
            if isArrival {
                endConnection(&state, reason: nil)
                state.isBackingOff = false
                state.isCutOff = false
                state.address = counterpart
                state.lastAddress = counterpart ?? state.lastAddress
            }
            let isLive = isReachable && !state.isBackingOff && state.address != nil
            // A new counterpart must be reported as found before it connects.
            if !isArrival { setLive(isLive, &state) }
            return isArrival ? counterpart : nil
        }
        calls.run()
        reportAbsence(session, isActive && self.state.withLock { $0.address == nil && $0.phase == .open })
        guard let arrival else { return }
        begin(with: arrival)
        refresh()
    }

    /// Reports a missing watch or watch app, the reasons why a phone has no counterpart ID.
    private func reportAbsence(_ session: WCSessionState, _ isAbsent: Bool) {
        var problem: SessionProblem?
        if isAbsent, !session.isPaired { problem = .notPaired }
        if isAbsent, session.isPaired, !session.isWatchAppInstalled { problem = .appNotInstalled }
        for code in [SessionProblem.Code.notPaired, .appNotInstalled] where code != problem?.code {
            board.solve(code)
        }
        if let problem { board.report(problem, isMistake: false) }
    }

    private func setLive(_ isLive: Bool, _ state: inout State) {
        guard let address = state.address, isLive != state.isConnected else { return }
        guard isLive else { return endConnection(&state, reason: nil) }
        state.isConnected = true
        state.isCutOff = false
        state.peerLaunch = nil
        state.refusals = 0
        notify { $0.connected(address, as: nil) }
    }

    private func endConnection(_ state: inout State, reason: String?) {
        guard let address = state.address, state.isConnected else { return }
        state.isConnected = false
        notify { $0.disconnected(address, reason: reason) }
    }

    /// Starts serving a device that the session has begun to talk to.
    private func begin(with address: LinkAddress) {
        let outstanding = session.outstandingUserInfoTransfers.filter {
            $0.userInfo[names.key] is Data && $0.userInfo[names.wakeKey] == nil
        }
        let cancels = cancelsOutstanding && state.withLock { $0.addressStates[address] == nil }
        if cancels { for transfer in outstanding { transfer.cancel() } }
        let (multiplexer, latest) = state.withLock { state in
            let waiting = state.addressStates[address]?.failed.count ?? 0
            state.addressStates[address, default: AddressState()].transferCount =
                waiting + (cancels ? 0 : outstanding.count)
            notify { $0.found(address, as: nil) }
            unblock(address, &state)
            return (state.multiplexer, state.addressStates[address]?.latest ?? [:])
        }
        // The keys of the previous device aren't removed there: that device has its own context.
        multiplexer?.context.forget(keysWithPrefix: names.contextKey(of: ""))
        for (key, data) in latest { try? multiplexer?.context.set(data, for: key) }
        calls.run()
        takeContext(session.receivedApplicationContext)
        resendFailed(address)
    }

    /// Plans a retry of the activation, at most one at a time.
    private func activateLater() {
        let now = clock.elapsed
        guard let dueAt = state.withLock({ $0.activations.plan(at: now) }) else { return }
        clock.wake(at: dueAt) { [weak self] in
            let multiplexer = self?.state.withLock { $0.activations.takeDue(at: dueAt) ? $0.multiplexer : nil }
            multiplexer?.activate()
        }
    }

    // MARK: Receiving

    private func takeMessage(_ bytes: [UInt8], launch: UInt32) {
        // The system doesn't always report that the counterpart became reachable again.
        let mayBeReachable = state.withLock { state in
            guard let address = state.address, !state.isCutOff else { return false }
            if state.isConnected, let known = state.peerLaunch, known != launch {
                notify { $0.disconnected(address, reason: nil) }
                notify { $0.connected(address, as: nil) }
            }
            state.peerLaunch = launch
            state.refusals = 0
            state.retryBackoff.reset()
            notify { $0.received(bytes, on: .datagram, from: address) }
            defer { state.isBackingOff = false }
            return state.isBackingOff || !state.isConnected
        }
        calls.run()
        if mayBeReachable { refresh() }
    }

    private func takeQueued(_ data: Data) {
        state.withLock { state in
            guard let address = state.address,
                state.addressStates[address]?.duplicates.isNew(data) ?? true
            else { return }
            notify { $0.received([UInt8](data), on: .queue, from: address) }
        }
        calls.run()
    }

    // MARK: Sent packets

    /// Handles a message that the system couldn't deliver.
    func refused(_ packet: LinkPacket, to address: LinkAddress, _ error: any Error) {
        let delay: Duration? = state.withLock { state in
            notify { $0.undelivered(packet, to: address) }
            guard state.address == address, state.isConnected else { return nil }
            state.refusals += 1
            guard state.refusals >= Self.refusalsMax else { return nil }
            state.isBackingOff = true
            endConnection(
                &state, reason: "messages are refused although the counterpart is reported as reachable: \(error)")
            return state.retryBackoff.next()
        }
        calls.run()
        if let delay { retryLater(after: delay) } else { refresh() }
    }

    private func retryLater(after delay: Duration) {
        clock.wake(at: clock.elapsed + delay) { [weak self] in
            self?.state.withLock { state in
                state.isBackingOff = false
                state.isCutOff = false
            }
            self?.refresh()
        }
    }

    /// Returns true, because the counterpart is always the user's own watch or phone.
    public func isOwn(_ peerID: String) -> Bool { true }

    public func disconnect(_ address: LinkAddress) {
        let delay: Duration? = state.withLock { state in
            guard state.address == address, state.isConnected else { return nil }
            state.isBackingOff = true
            state.isCutOff = true
            endConnection(&state, reason: nil)
            return state.retryBackoff.next()
        }
        calls.run()
        if let delay { retryLater(after: delay) }
    }

    /// Handles the end of a user info transfer. Failed ones are queued again.
    private func finished(_ data: Data, _ error: (any Error)?) {
        let now = clock.elapsed
        let retry: (LinkAddress, Duration?)? = state.withLock { state in
            // The device may be out of reach already. Its failed transfer is sent again when it returns.
            guard let address = state.lastAddress else { return nil }
            guard let error, Self.isRetryable(error) else {
                let count = max((state.addressStates[address]?.transferCount ?? 0) - 1, 0)
                state.addressStates[address]?.transferCount = count
                if count <= Self.transfersMax / 2 { unblock(address, &state) }
                return (address, state.addressStates[address]?.retries.bringForward(at: now))
            }
            state.addressStates[address]?.failed.append(data)
            return (address, state.addressStates[address]?.retries.plan(at: now))
        }
        calls.run()
        guard let (address, dueAt) = retry, let dueAt else { return }
        clock.wake(at: dueAt) { [weak self] in
            if self?.state.withLock({ $0.addressStates[address]?.retries.takeDue(at: dueAt) }) == true {
                self?.resendFailed(address)
            }
        }
    }

    /// Returns true if a retry of the transfer may succeed.
    private static func isRetryable(_ error: any Error) -> Bool {
        switch (error as? WCError)?.code {
        case .payloadTooLarge, .payloadUnsupportedTypes, .invalidParameter: false
        default: true
        }
    }

    private func resendFailed(_ address: LinkAddress) {
        let failed: [Data] = state.withLock { state in
            guard state.phase == .open, state.address == address, state.isActive else { return [] }
            defer { state.addressStates[address]?.failed = [] }
            return state.addressStates[address]?.failed ?? []
        }
        for data in failed { session.transferUserInfo([names.key: data]) }
    }

    private func unblock(_ address: LinkAddress, _ state: inout State) {
        guard state.addressStates[address]?.isBlocked == true else { return }
        state.addressStates[address]?.isBlocked = false
        notify { $0.writable(address) }
    }
}

extension SessionProblem.Code {
    /// No watch is paired with this phone.
    public static let notPaired = Self("notPaired")
    /// The paired watch doesn't have the watch app.
    public static let appNotInstalled = Self("appNotInstalled")
}

extension SessionProblem {
    fileprivate static let notPaired = Self(
        .notPaired, of: "watch", "no Apple Watch is paired with this iPhone",
        advice: "Pair one in the Watch app on the iPhone.")
    fileprivate static let appNotInstalled = Self(
        .appNotInstalled, of: "watch", "the paired Apple Watch doesn't have the watch app",
        advice: "Install it in the Watch app on the iPhone. Its bundle ID must begin with that of the iPhone app.")
}
