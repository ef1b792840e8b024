import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

extension DeliveryCore {
    /// A frame to send to an address.
    struct Outgoing {
        var frame: WireFrame
        var lane: LinkLane
        /// The key whose value it replaces on the lane `latest`.
        var key = ""
        /// True if the frame may travel in pieces, with other frames between them.
        var isBulk = false
        /// True for an unnumbered best-effort frame. `drainImmediate` takes the messages that follow it.
        var isImmediate = false
        /// True if the frame leaves on a kept lane and is worth waking its receiver for.
        var isUrgent = false
    }

    /// Returns the next frame for an address; nil if there is nothing to send now.
    ///
    /// - Parameter urgentOnly: true to leave out bulk messages and newest snapshots, while a large frame is being sent
    ///   in pieces.
    mutating func nextFrame(for address: LinkAddress, urgentOnly: Bool = false, _ now: DeliveryTime) -> Outgoing? {
        guard var next = chooseFrame(for: address, urgentOnly: urgentOnly, now) else { return nil }
        if !urgent.isEmpty, !next.lane.isLive, let metadata = next.frame.message.metadata {
            next.isUrgent = urgent.take(MessageID(metadata), to: address, now: now.elapsed)
        }
        return next
    }

    private mutating func chooseFrame(for address: LinkAddress, urgentOnly: Bool, _ now: DeliveryTime) -> Outgoing? {
        // Reads single fields: with a copy of the connection, each change below would copy its waiting messages.
        guard let isLive = connections[address]?.isLive, let isClosed = connections[address]?.isClosed else {
            return nil
        }
        let keptLane = settings.keptLane
        let live = isLive ? settings.reliableLane ?? settings.immediateLane : keptLane
        if let lane = live, let message = connections[address]?.control.takeFirst() {
            return Outgoing(frame: WireFrame(message), lane: lane)
        }
        guard !isClosed else { return nil }
        if let keptLane, let next = nextKept(address, on: keptLane) { return next }
        let here = reachablePeer(address, isLive: isLive)
        let index = here?.index
        let isReachableLive = here?.isReachableLive ?? isLive
        if let index, let next = nextReport(index, isLive: isLive, isReachableLive: isReachableLive, live, now) {
            return next
        }
        let immediate = isReachableLive ? settings.immediateLane : keptLane
        let reliable = isReachableLive ? settings.reliableLane : keptLane
        let limit = settings.immediateLimit
        if let lane = immediate, let next = connections[address]?.immediate.takeFirst(countMax: limit) {
            if next.freedHalf { directives.resumesWaiters = true }
            return Outgoing(frame: WireFrame(next.message), lane: lane, isImmediate: true)
        }
        guard let index else { return nil }
        if let lane = reliable, let next = nextReliable(index, on: lane, urgentOnly: urgentOnly, now) { return next }
        return urgentOnly ? nil : nextLatest(index, isLive: isLive, now)
    }

    /// Returns true if the peer at the address reads several frames from one datagram.
    func joinsFrames(at address: LinkAddress) -> Bool {
        guard let index = connections[address]?.peerID.flatMap({ peerIndex[$0] }) else { return false }
        return peers[index].abilities.contains(.joinedFrames)
    }

    /// Returns the parts of the compression policy that the peer at the address reads.
    func readableCompression(at address: LinkAddress) -> ReadableCompression {
        guard let index = connections[address]?.peerID.flatMap({ peerIndex[$0] }) else { return [] }
        return peers[index].readableCompression
    }

    /// Returns the peer's knowledge of the identities in this side's datagrams; nil if it reads no identity numbers.
    func knownIdentities(at address: LinkAddress) -> KnownIdentities? {
        guard let index = connections[address]?.peerID.flatMap({ peerIndex[$0] }),
            peers[index].abilities.contains(.numberedIdentities)
        else { return nil }
        return peers[index].knownIdentities ?? KnownIdentities(epoch: 0, numbers: 0)
    }

    /// Schedules a report to the peer about the identities in its datagrams.
    mutating func scheduleIdentityReport(_ known: KnownIdentities, to address: LinkAddress, _ now: DeliveryTime) {
        guard let index = connections[address]?.peerID.flatMap({ peerIndex[$0] }), peers[index].address == address
        else { return }
        peers[index].identitiesDue = known
        // A number saves only some bytes of later frames, so it isn't worth a packet of its own.
        peers[index].reportAt = min(peers[index].reportAt, now.elapsed + Self.patientReportDelay)
        wake(by: peers[index].reportAt)
    }

    /// Returns a report that leaves early, with another frame on that lane: collected acknowledgements, and a probe
    /// that is due soon. nil if there is nothing to report, or if reports use another lane.
    mutating func nextPiggybackedReport(for address: LinkAddress, on lane: LinkLane, _ now: DeliveryTime) -> Outgoing? {
        guard lane == settings.reliableLane ?? settings.immediateLane, let connection = connections[address],
            connection.isLive, !connection.isClosed,
            let (index, isReachableLive) = reachablePeer(address, isLive: true), isReachableLive
        else { return nil }
        if let number = peers[index].standing.piggybackedProbe(now: now.elapsed) { peers[index].probeDue = number }
        return nextReport(index, isLive: true, isPiggybacked: true, now)
            .map { Outgoing(frame: WireFrame(.report($0)), lane: lane) }
    }

    /// Takes the best-effort messages that follow a frame with `isImmediate`, while `wantsMore` returns true. They have
    /// the same precedence as that frame.
    mutating func drainImmediate(for address: LinkAddress, while wantsMore: (WireMessage) -> Bool) {
        guard let place = connections.index(forKey: address) else { return }
        let limit = settings.immediateLimit
        while let next = connections.values[place].immediate.takeFirst(countMax: limit) {
            if next.freedHalf { directives.resumesWaiters = true }
            guard wantsMore(next.message) else { return }
        }
    }

    /// Returns the peer reached at the address, and whether its live lanes reach it. A link may say that it is
    /// connected although the peer hears nothing. Then, and without a connection, kept lanes reach the peer.
    private func reachablePeer(_ address: LinkAddress, isLive: Bool) -> (index: Int, isReachableLive: Bool)? {
        if isLive, let index = connections[address]?.peerID.flatMap({ peerIndex[$0] }) {
            return peers[index].address == address ? (index, !isUnreachableLive(index)) : nil
        }
        guard let index = connections[address]?.kept.peerID.flatMap({ peerIndex[$0] }), peers[index].address == nil,
            peers[index].keptAddress == address,
            !isLive || connections[address]?.helloCount ?? 0 >= Self.unansweredHelloLimit
        else { return nil }
        return (index, false)
    }

    /// Number of unanswered hellos after which kept lanes are used instead of a connection.
    static var unansweredHelloLimit: Int { 3 }

    /// Returns true if live lanes don't reach the peer, whatever the link says, and there are kept lanes.
    func isUnreachableLive(_ index: Int) -> Bool {
        peers[index].standing.health == .gone && !peers[index].standing.isAwaited && settings.keptLane != nil
    }

    /// Returns the next frame for kept lanes that doesn't depend on the peer there.
    private mutating func nextKept(_ address: LinkAddress, on lane: LinkLane) -> Outgoing? {
        if connections[address]?.kept.needsHello == true {
            connections[address]?.kept.needsHello = false
            let hello = settings.hello(of: localPeer)
            return Outgoing(frame: WireFrame(.hello(hello)), lane: .latest, key: KeptConnection.helloKey)
        }
        guard let message = connections[address]?.kept.immediate.takeFirst() else { return nil }
        return Outgoing(frame: WireFrame(message), lane: lane)
    }

    private mutating func nextReliable(
        _ index: Int, on lane: LinkLane, urgentOnly: Bool, _ now: DeliveryTime
    ) -> Outgoing? {
        guard lane != .datagram || peers[index].inFlightBytes < peers[index].window.bytes else { return nil }
        dropExpired(index, now)
        guard let (channel, number, priority) = peers[index].nextChannel(on: lane) else { return nil }
        if peers[index].isGuest, !isVisible(peers[index].channels[channel].entries[number].message, to: index) {
            withdrawFromGuest(index)
            return nextReliable(index, on: lane, urgentOnly: urgentOnly, now)
        }
        guard !urgentOnly || priority != .bulk else { return nil }
        let entry = peers[index].channels[channel].send(number, now: now.elapsed)
        let mark = WireMark(
            outbox: peers[index].channels[channel].key.outbox, sequence: number,
            first: peers[index].channels[channel].entries.first, expiresAt: entry.expiresAt)
        if lane == .datagram { wake(by: now.elapsed + peers[index].resendTimeout) }
        if lane.isLive, peers[index].standing.noteOutstanding(now: now.elapsed) {
            wake(by: peers[index].standing.deadline)
        }
        return Outgoing(
            frame: WireFrame(entry.message, mark: mark), lane: lane, isBulk: priority == .bulk)
    }

    // MARK: Newest snapshots

    private mutating func nextLatest(
        _ index: Int, isLive: Bool, _ now: DeliveryTime
    ) -> Outgoing? {
        guard peers[index].hasLatestDue, let lane = latestLane(index) ?? (isLive ? settings.reliableLane : nil) else {
            return nil
        }
        for feature in publishedOrder + peers[index].latestOrder
        where published[feature] != nil
            || peers[index].latest[feature] != nil
        {
            let progress = peers[index].latest[feature] ?? LatestProgress()
            guard let offer = offer(feature, progress, index), offer.version > progress.acknowledged else { continue }
            let isOverdue = reofferTime(of: progress, index).map { $0 <= now.elapsed } ?? false
            guard offer.version > progress.sent || isOverdue else { continue }
            if offer.version <= progress.sent, lane == .datagram { peers[index].window.noteTimeout() }
            // Only the peer's acknowledgement counts: a lane that keeps the snapshot may still lose it when a process
            // of either side ends.
            peers[index].offerLatest(feature) {
                $0.attempts = offer.version > $0.sent ? 1 : $0.attempts + 1
                $0.sent = offer.version
                $0.sentAt = now.elapsed
            }
            if let due = peers[index].latest[feature].flatMap({ reofferTime(of: $0, index) }) { wake(by: due) }
            let mark = WireMark(outbox: outbox, sequence: offer.version, first: offer.version, isLatest: true)
            return Outgoing(
                frame: WireFrame(.snapshot(offer.snapshot), mark: mark), lane: lane, key: feature, isBulk: true)
        }
        peers[index].hasLatestDue = false
        return nil
    }

    /// Returns the newest snapshot of a feature that this peer is allowed to get.
    func offer(_ feature: String, _ progress: LatestProgress, _ index: Int) -> LatestOffer? {
        guard peers[index].isGuest else { return progress.offer(published[feature]) }
        return [progress.own, published[feature]].compactMap { $0 }
            .filter { isVisible(.snapshot($0.snapshot), to: index) }.max { $0.version < $1.version }
    }

    // MARK: Reports

    private mutating func nextReport(
        _ index: Int, isLive: Bool, isReachableLive: Bool, _ lane: LinkLane?, _ now: DeliveryTime
    ) -> Outgoing? {
        guard let lane else { return nil }
        if isReachableLive || !isLive {
            return nextReport(index, isLive: isLive, now).map { Outgoing(frame: WireFrame(.report($0)), lane: lane) }
        }
        // Probes use the live lane, to find out when it works again. Acknowledgements use the kept lane, where the peer
        // gets them.
        var probe = WireReport()
        probe.echo = peers[index].echo.take()
        if let number = peers[index].probeDue.take() { probe.probe = .init(number: number, sentAt: now.wall) }
        announceSilence(in: &probe, index)
        if probe.echo != nil || probe.probe != nil { return Outgoing(frame: WireFrame(.report(probe)), lane: lane) }
        guard let keptLane = settings.keptLane else { return nil }
        return nextReport(index, isLive: false, now).map { Outgoing(frame: WireFrame(.report($0)), lane: keptLane) }
    }

    private mutating func nextReport(
        _ index: Int, isLive: Bool, isPiggybacked: Bool = false, _ now: DeliveryTime
    ) -> WireReport? {
        var report = WireReport()
        if let number = peers[index].probeDue.take() {
            report.probe = .init(number: number, sentAt: now.wall)
        }
        if isLive { report.floors = floorsDue(index, now) }
        let isWorthAReport = report.probe != nil || !report.floors.isEmpty
        let isDue = peers[index].reportAt <= now.elapsed || (isPiggybacked && peers[index].reportAt != .max)
        if isWorthAReport || isDue {
            report.echo = peers[index].echo.take()
            report.receipts = takeReceipts(index)
            report.identities = peers[index].identitiesDue.take()
        }
        announceSilence(in: &report, index)
        guard isWorthAReport || report.echo != nil || !report.receipts.isEmpty || report.identities != nil else {
            return nil
        }
        return report
    }

    /// Adds the announcement to probes and echoes, so that both directions of an exchange carry it.
    private func announceSilence(in report: inout WireReport, _ index: Int) {
        guard report.echo != nil || report.probe != nil else { return }
        report.silence = peers[index].standing.rules.silenceMilliseconds
    }

    /// Maximum number of receipts for one channel in one report. They fit a small datagram.
    private static let receiptsMax = 6

    /// Returns the receipts that are due, as many as fit a report. The others stay due.
    private mutating func takeReceipts(_ index: Int) -> [WireReport.Receipt] {
        var receipts: [WireReport.Receipt] = []
        var due = peers[index].receiptsDue[...]
        var latestDue = peers[index].latestReceiptsDue[...]
        while receipts.count < WireReport.entriesMax, let key = due.popFirst() {
            guard let channel = peers[index].incoming[key] else { continue }
            // The first channel may use several receipts. With many gaps, one couldn't list everything that has
            // arrived, and the sender would time out and resend the rest.
            let rangesMax = WireReport.Receipt.rangesMax
            let receiptsMax = receipts.isEmpty ? Self.receiptsMax : 1
            var beyond = channel.beyond(rangesMax: receiptsMax * rangesMax)[...]
            repeat {
                let part = Array(beyond.prefix(rangesMax))
                beyond = beyond.dropFirst(rangesMax)
                receipts.append(
                    .init(featureID: key.featureID, outbox: key.outbox, upTo: channel.acknowledged, beyond: part))
            } while !beyond.isEmpty
        }
        while receipts.count < WireReport.entriesMax, let key = latestDue.popFirst() {
            guard let newest = peers[index].newest[key.featureID], newest.outbox == key.outbox else { continue }
            receipts.append(.init(featureID: key.featureID, outbox: key.outbox, upTo: newest.version, isLatest: true))
        }
        peers[index].receiptsDue = Array(due)
        peers[index].latestReceiptsDue = Array(latestDue)
        peers[index].unreportedCount = 0
        if due.isEmpty, latestDue.isEmpty { peers[index].reportAt = .max }
        return receipts
    }

    private mutating func floorsDue(_ index: Int, _ now: DeliveryTime) -> [WireReport.Floor] {
        var floors: [WireReport.Floor] = []
        let timeout = peers[index].resendTimeout
        for channel in peers[index].channels.indices where peers[index].channels[channel].needsFloor {
            let sentAt = peers[index].channels[channel].floorSentAt
            guard floors.count < WireReport.entriesMax, sentAt.map({ $0 + timeout <= now.elapsed }) ?? true else {
                continue
            }
            peers[index].channels[channel].floorSentAt = now.elapsed
            let (key, first) = (peers[index].channels[channel].key, peers[index].channels[channel].entries.first)
            floors.append(.init(featureID: key.featureID, outbox: key.outbox, first: first))
            if settings.isLossy { wake(by: now.elapsed + timeout) }
        }
        return floors
    }
}

/// Messages that this peer sends to itself. No other peer reads them, so they aren't encoded.
extension DeliveryCore {
    /// Passes an envelope on at once, if no other message waits before it and there is space.
    /// - Returns: true if it was passed on.
    mutating func loopBack(_ item: Item, mode: SessionDeliveryMode) -> Bool {
        guard settings.returnsOwnPackets, !settings.isDurable, peers.count == 1, peers[0].outstandingCount == 0,
            peers[0].address != nil, case .envelope(let envelope) = item.message
        else { return false }
        switch mode {
        case .reliableEventually:
            guard availableCount > 0 else { return false }
            guard peers[0].recent.insert(MessageID(envelope.metadata)) else { return true }
            availableCount -= 1
            directives.arrivals.append(.durable(envelope))
        case .realtimeBestEffort, .acknowledgement:
            directives.arrivals.append(.envelope(envelope))
        case .latestSnapshot, .snapshotRequest:
            return false
        }
        return true
    }

    /// Receives every frame that this peer sends to itself.
    mutating func loopBackFrames(_ now: DeliveryTime) {
        guard settings.returnsOwnPackets else { return }
        while let address = directives.writable.popLast() {
            while let next = nextFrame(for: address, now) {
                do throws(WireError) {
                    try receive(next.frame, on: next.lane, from: address, now)
                } catch {
                    cannotRead(from: address, on: next.lane, error, now)
                }
            }
        }
    }
}
