import MeshIdentity
import MeshTransport
import MeshWire

extension DeliveryCore {
    /// Processes frames that arrived together, in order.
    /// - Throws: `WireError`, as the method for one frame does.
    mutating func receive(
        _ frames: [WireFrame], on lane: LinkLane, from address: LinkAddress, _ now: DeliveryTime
    ) throws(WireError) {
        var next = 0
        while next < frames.count {
            if let (index, envelopes) = leadingBestEffortEnvelopes(in: frames[next...], on: lane, from: address) {
                noteFrame(index, on: lane, now)
                directives.arrivals.append(.envelopes(envelopes))
                next += envelopes.count
            } else {
                try receive(frames[next], on: lane, from: address, now)
                next += 1
            }
        }
    }

    /// Returns the leading envelopes that are unnumbered and acceptable, if there are several. Their sender is then
    /// looked up only once.
    private func leadingBestEffortEnvelopes(
        in frames: ArraySlice<WireFrame>, on lane: LinkLane, from address: LinkAddress
    ) -> (index: Int, envelopes: [AnySessionSyncEnvelope])? {
        guard frames.count > 1, connections[address]?.isClosed == false, let index = sender(at: address, on: lane),
            !peers[index].isGuest
        else { return nil }
        let provenID = connections[address]?.provenPeerID
        var envelopes: [AnySessionSyncEnvelope] = []
        envelopes.reserveCapacity(frames.count)
        for frame in frames {
            guard frame.mark == nil, case .envelope(let envelope) = frame.message,
                provenID == nil || envelope.metadata.sourcePeerID == provenID
            else { break }
            envelopes.append(envelope)
        }
        return envelopes.count > 1 ? (index, envelopes) : nil
    }

    /// Records a frame from the peer. Frames on platform-kept lanes prove nothing: they may be old.
    mutating func noteFrame(_ index: Int, on lane: LinkLane, _ now: DeliveryTime) {
        guard lane.isLive, peers[index].standing.noteFrame(now: now.elapsed) else { return }
        wake(by: peers[index].standing.deadline)
    }

    /// Processes one frame.
    /// - Throws: `WireError` if the connection can't be used any more.
    mutating func receive(
        _ frame: WireFrame, on lane: LinkLane, from address: LinkAddress, _ now: DeliveryTime
    ) throws(WireError) {
        // Frames after the end of a connection are too late.
        guard connections[address]?.isClosed == false else { return }
        if case .hello(let hello) = frame.message { return try receiveHello(hello, on: lane, at: address, now) }
        if case .goodbye(let goodbye) = frame.message { return end(address, goodbye, on: lane, now) }
        guard let index = sender(at: address, on: lane) else {
            if acceptBeforeHello(frame, from: address) { return }
            // On a lossy lane the hello may have been lost or overtaken; it is repeated.
            guard lane == .stream else { return }
            throw WireError(.foreign, "the peer sent another frame before its hello")
        }
        noteFrame(index, on: lane, now)
        if case .report(let report) = frame.message { return process(report, index, on: lane, at: address, now) }
        let isWanted = isFromProvenPeer(frame.message, at: address) && acceptsFromGuest(frame.message, index)
        if let mark = frame.mark {
            return try receiveNumbered(frame.message, mark, isWanted: isWanted, on: lane, index, now)
        }
        guard isWanted else { return }
        switch frame.message {
        case .snapshotRequest(let request):
            // The requester is the peer on the connection, whatever the frame says.
            directives.arrivals.append(
                .request(SessionSnapshotRequest(sessionID: request.sessionID, requester: peers[index].peer)))
        case .envelope(let envelope): directives.arrivals.append(.envelope(envelope))
        case .snapshot(let snapshot): directives.arrivals.append(.snapshot(snapshot))
        case .hello, .goodbye, .report: break
        }
    }

    /// Returns false, and reports it, if the link has proven a peer and the message names another one as its sender.
    /// Events of others travel only inside a peer's own snapshots and controls.
    private mutating func isFromProvenPeer(_ message: WireMessage, at address: LinkAddress) -> Bool {
        guard let provenID = connections[address]?.provenPeerID, let sender = message.sender, sender.id != provenID
        else {
            return true
        }
        report(.rejected(peerID: provenID, reason: "it sent \(sender.what) that names '\(sender.id)' as its sender"))
        return false
    }

    /// Returns the peer that greeted at the address. Frames on kept lanes, or without a live connection, come from the
    /// peer that greeted last. A live connection needs a hello of its own.
    private func sender(at address: LinkAddress, on lane: LinkLane) -> Int? {
        if let peerID = connections[address]?.peerID { return peerIndex[peerID] }
        guard !lane.isLive || connections[address]?.isLive == false else { return nil }
        return connections[address]?.kept.peerID.flatMap { peerIndex[$0] }
    }

    /// Accepts an unnumbered envelope before the hello of a new connection, from a peer known on kept lanes. The peer
    /// may not have noticed the new connection. It doesn't repeat such an envelope, so rejecting it would lose it. It
    /// repeats everything else.
    private mutating func acceptBeforeHello(_ frame: WireFrame, from address: LinkAddress) -> Bool {
        guard frame.mark == nil, case .envelope(let envelope) = frame.message,
            let index = connections[address]?.kept.peerID.flatMap({ peerIndex[$0] }),
            isFromProvenPeer(frame.message, at: address), acceptsFromGuest(frame.message, index)
        else { return false }
        directives.arrivals.append(.envelope(envelope))
        return true
    }

    /// The highest number that is accepted. No sender counts this far, and sums could overflow.
    private static var numberMax: UInt64 { 1 << 62 }

    private mutating func end(_ address: LinkAddress, _ goodbye: WireGoodbye, on lane: LinkLane, _ now: DeliveryTime) {
        // A goodbye on a kept lane may be from an earlier launch.
        guard lane.isLive || connections[address]?.isLive == false else { return }
        let peerID = connections[address]?.peerID
        if goodbye.reason == .displaced {
            report(.displaced(peerID: localPeer.id))
        } else if goodbye.reason != .closing {
            report(.rejected(peerID: peerID, reason: "the peer ended the connection: \(goodbye.detail)"))
        } else if let index = peerID.flatMap({ peerIndex[$0] }), peers[index].address == address {
            peers[index].hasLeft = true
        }
        let isLive = connections[address]?.isLive ?? false
        disconnected(address, reason: nil, now)
        // The link may keep the connection for a while.
        if isLive, settings.keptLane == nil {
            connections[address] = DeliveryConnection()
            connections[address]?.isClosed = true
        }
    }

    // MARK: Numbered messages

    /// - Parameter isWanted: false to drop the message. Its number still counts, so that later ones don't wait for it.
    private mutating func receiveNumbered(
        _ message: WireMessage, _ mark: WireMark, isWanted: Bool, on lane: LinkLane, _ index: Int, _ now: DeliveryTime
    ) throws(WireError) {
        guard let metadata = message.metadata else { return }
        if case .snapshot(let snapshot) = message, mark.isLatest {
            return receiveLatest(snapshot, mark, isWanted: isWanted, index, now)
        }
        guard mark.first > 0, mark.first <= mark.sequence, mark.sequence <= Self.numberMax else {
            return report(.rejected(peerID: peers[index].peer.id, reason: "invalid message number \(mark.sequence)"))
        }
        let key = ChannelKey(outbox: mark.outbox, featureID: metadata.featureID)
        guard open(key, first: mark.first, index) else { return reportTooManyFeatures(index) }
        var isWanted = isWanted
        if isExpired(mark, on: lane, index, now) {
            report(.expired(metadata, peerID: peers[index].peer.id))
            isWanted = false
        }
        // A dropped message is acknowledged too: it mustn't be sent again.
        let message = isWanted ? message : nil
        let bytes = IncomingChannel.heldBytes(message)
        guard try mayHold(bytes, mark, key, on: lane, index) else { return }
        if peers[index].incoming[key]?.hold(message, mark) == true {
            peers[index].budget.charge(bytes, as: .messages)
            passOn(key, index, now)
        }
        noteReceipt(key, index, now)
    }

    /// Opens a channel; returns false if there are too many features.
    private mutating func open(_ key: ChannelKey, first: UInt64, _ index: Int) -> Bool {
        guard let forgotten = peers[index].open(key, first: first) else { return false }
        guard settings.isDurable else { return true }
        let peerID = peers[index].peer.id
        directives.changes += forgotten.map { .outboxForgotten(peerID: peerID, outbox: $0) }
        return true
    }

    private mutating func reportTooManyFeatures(_ index: Int) {
        report(.rejected(peerID: peers[index].peer.id, reason: "more than \(DeliveryPeer.channelsMax) features"))
    }

    /// Returns true if one more message of the peer may be held. The next message in order is always accepted if it can
    /// be passed on, because all held ones may be waiting for it.
    /// - Throws: `oversized` on a stream, where nothing is sent again before the next connection.
    private mutating func mayHold(
        _ bytes: Int, _ mark: WireMark, _ key: ChannelKey, on lane: LinkLane, _ index: Int
    ) throws(WireError) -> Bool {
        guard let channel = peers[index].incoming[key], channel.isNew(mark),
            !hasSubscriberCapacity || channel.next != mark.sequence || peers[index].unstoredBytes > 0
                || peers[index].isPreceded(key),
            !peers[index].mayHold(bytes, from: mark.outbox)
        else { return true }
        let reason = "\(peers[index].budget[.messages] >> 20) MiB of its messages already wait"
        guard lane != .stream else { throw WireError(.oversized, reason) }
        report(.rejected(peerID: peers[index].peer.id, reason: reason))
        return false
    }

    /// Returns true if a message from a kept lane has expired. On live lanes the sender has just checked.
    private func isExpired(_ mark: WireMark, on lane: LinkLane, _ index: Int, _ now: DeliveryTime) -> Bool {
        guard !lane.isLive, let expiresAt = mark.expiresAt else { return false }
        let theirs = Int64(clamping: now.wall).addingReportingOverflow(peers[index].standing.clockOffset).partialValue
        return theirs >= 0 && UInt64(theirs) >= expiresAt
    }

    /// Passes on messages that are in order, as far as the subscribers have space. If the feature's messages from
    /// another outbox are stalled, these wait for them.
    private mutating func passOn(_ key: ChannelKey, _ index: Int, _ now: DeliveryTime) {
        if peers[index].isPreceded(key) {
            if !peers[index].stalled.contains(key) { peers[index].stalled.append(key) }
            return
        }
        var releasedBytes = 0
        while hasSubscriberCapacity,
            let (number, message) = peers[index].incoming[key]?.removeNext(releasing: &releasedBytes)
        {
            // Snapshots aren't checked: one may share the ID of the next event, and its revision shows whether it is
            // new.
            if case .envelope(let envelope) = message, !peers[index].recent.insert(MessageID(envelope.metadata)) {
                releasedBytes += message.heldBytes
                continue
            }
            if settings.isDurable {
                // Held until it is stored.
                noteUnstored(message)
                peers[index].incoming[key]?.noteUnstored(number)
                peers[index].noteUnstored(message.heldBytes)
                directives.changes.append(.received(peerID: peers[index].peer.id, key, number: number, message))
            } else {
                availableCount -= 1
                availableBytes -= message.payloadBytes
                releasedBytes += message.heldBytes
                handOver(message)
            }
        }
        peers[index].budget.release(releasedBytes, as: .messages)
        if !hasSubscriberCapacity, peers[index].incoming[key]?.hasNext() == true, !peers[index].stalled.contains(key) {
            peers[index].stalled.append(key)
            wake(by: now.elapsed + Self.stallInterval)
            // The messages that wait for the store may leave space; `stored` checks.
            guard !awaitsStore else { return }
            directives.isStalled = true
            guard stalledSince == nil else { return }
            stalledSince = now.elapsed
            report(.stalled(peerID: peers[index].peer.id, featureID: key.featureID))
            wake(by: now.elapsed)
        }
    }

    mutating func passOnStalled(_ index: Int, _ now: DeliveryTime) {
        let keys = peers[index].stalled
        peers[index].stalled = []
        for key in keys {
            passOn(key, index, now)
            noteReceipt(key, index, now)
        }
    }

    mutating func handOver(_ message: WireMessage) {
        switch message {
        case .envelope(let envelope): directives.arrivals.append(.durable(envelope))
        case .snapshot(let snapshot): directives.arrivals.append(.snapshot(snapshot))
        case .hello, .snapshotRequest, .goodbye, .report: break
        }
    }

    /// Schedules an acknowledgement: soon, or at once after 64 messages.
    mutating func noteReceipt(_ key: ChannelKey, _ index: Int, _ now: DeliveryTime) {
        peers[index].unreportedCount += 1
        let isMuch = peers[index].unreportedCount >= 64
        let time = now.elapsed + (isMuch ? 0 : settings.acknowledgementDelay)
        peers[index].markReceipt(key, isLatest: false, at: time)
        if isMuch { markWritable(index) } else { wake(by: peers[index].reportAt) }
    }

    // MARK: Newest snapshots

    private mutating func receiveLatest(
        _ snapshot: AnySessionSyncSnapshot, _ mark: WireMark, isWanted: Bool, _ index: Int, _ now: DeliveryTime
    ) {
        let key = ChannelKey(outbox: mark.outbox, featureID: snapshot.metadata.featureID)
        let before = peers[index].newest[key.featureID]
        guard before != nil || peers[index].newest.count < DeliveryPeer.channelsMax else {
            return reportTooManyFeatures(index)
        }
        // Versions count per outbox. Of two outboxes, neither is known to be the later one.
        if before?.outbox != mark.outbox || mark.sequence > before?.version ?? 0 {
            peers[index].noteNewest(mark, of: key.featureID)
            if isWanted { directives.arrivals.append(.snapshot(snapshot)) }
            if isWanted, settings.isDurable { keepNewest(snapshot, mark, index) }
        }
        // If a platform keeps the newest snapshot, its sender waits seconds before it offers the snapshot again
        // (`reofferTime`). So the receipt can wait for another frame.
        let isPatient = settings.latestLane != nil && peers[index].address != nil
        let delay = isPatient ? Self.patientReportDelay : settings.acknowledgementDelay
        peers[index].markReceipt(key, isLatest: true, at: now.elapsed + delay)
        wake(by: peers[index].reportAt)
    }

    /// Nanoseconds for which a report that isn't urgent waits for another frame.
    static var patientReportDelay: UInt64 { 1_000_000_000 }

    /// Keeps a newest snapshot in the store, unless the kept one is newer. Without space it is passed on but not kept;
    /// after a relaunch the peer offers it again.
    private mutating func keepNewest(_ snapshot: AnySessionSyncSnapshot, _ mark: WireMark, _ index: Int) {
        let peerID = peers[index].peer.id
        if peers[index].newest[snapshot.metadata.featureID]?.stored?.isNewer(than: snapshot) == true { return }
        guard peers[index].mayKeep(snapshot) else {
            return report(.dropped(count: 1, reason: "the store has no more space for snapshots of '\(peerID)'"))
        }
        peers[index].keep(snapshot)
        directives.changes.append(.newest(peerID: peerID, snapshot, mark))
    }

    // MARK: Reports

    private mutating func process(
        _ report: WireReport, _ index: Int, on lane: LinkLane, at address: LinkAddress, _ now: DeliveryTime
    ) {
        // A report on a kept lane proves nothing about live lanes.
        let proves = lane.isLive || settings.reliableLane == nil
        if lane.isLive { stopRepeatingHello(address) }
        let before = peers[index].standing.health
        if let probe = report.probe {
            peers[index].echo = .init(probe: probe, answeredAt: now.wall)
            if lane.isLive, report.echo == nil, let number = peers[index].standing.noteProbe(now: now.elapsed) {
                peers[index].probeDue = number
            }
            let delay = peers[index].probeDue == nil ? peers[index].standing.echoDelay : 0
            peers[index].reportAt = min(peers[index].reportAt, now.elapsed + delay)
            wake(by: peers[index].reportAt)
        }
        if lane.isLive, let silence = report.silence { peers[index].standing.noteAnnouncement(silence: silence) }
        if lane.isLive, let known = report.identities { peers[index].knownIdentities = known }
        if proves, let echo = report.echo,
            peers[index].standing.noteEcho(
                echo.probe.number, sentWall: echo.probe.sentAt, answeredWall: echo.answeredAt, now: now.elapsed)
        {
            peers[index].window.resetBackOff()
            self.report(
                .roundTrip(
                    peerID: peers[index].peer.id, duration: peers[index].standing.roundTrip.smoothed ?? .zero))
        }
        var newestSentAt: UInt64 = 0
        for receipt in report.receipts {
            newestSentAt = max(newestSentAt, process(receipt, index, on: lane, proves: proves, now))
        }
        for floor in report.floors where floor.first > 0 && floor.first <= Self.numberMax { process(floor, index, now) }
        peers[index].dropEarlierChannels()
        if !peers[index].hasInFlight { peers[index].standing.noteAllAcknowledged() }
        resendOvertaken(index, newestSentAt)
        noteHealth(index, before)
        wake(by: peers[index].standing.deadline)
        markWritable(index)
    }

    /// - Returns: the latest send time of the messages that have arrived.
    private mutating func process(
        _ receipt: WireReport.Receipt, _ index: Int, on lane: LinkLane, proves: Bool, _ now: DeliveryTime
    ) -> UInt64 {
        if receipt.isLatest {
            guard receipt.outbox == outbox, receipt.upTo <= lastVersion else { return 0 }
            let before = peers[index].latest[receipt.featureID]?.acknowledged ?? 0
            peers[index].latest[receipt.featureID]?.acknowledged = max(receipt.upTo, before)
            if receipt.upTo > before { peers[index].window.resetBackOff() }
            return 0
        }
        let key = ChannelKey(outbox: receipt.outbox, featureID: receipt.featureID)
        guard let channel = peers[index].existingChannel(key) else { return 0 }
        // A receipt from a kept lane may be old: the peer's process may have ended since and lost the messages that it
        // held.
        var (upTo, beyond) = (receipt.upTo, lane.isLive ? receipt.beyond : [])
        let end = peers[index].channels[channel].entries.next
        if key.outbox != peers[index].outbox, max(upTo, beyond.last?.upperBound ?? 0) >= end {
            // An earlier launch used these numbers after the store was copied.
            reportOlderStore(peers[index].peer.id)
            (upTo, beyond) = (min(upTo, end - 1), [])
        }
        let inFlight = settings.isLossy ? peers[index].inFlightBytes : 0
        let (acknowledgement, count) = peers[index].channels[channel].acknowledge(
            upTo: upTo, beyond: beyond, messagesWanted: reportsAcknowledgements)
        for message in acknowledgement.messages {
            if let metadata = message.metadata { report(.acknowledged(metadata, peerID: peers[index].peer.id)) }
        }
        peers[index].window.acknowledged(byteCount: acknowledgement.byteCount, inFlight: inFlight)
        if acknowledgement.measurableSentAt != nil || !peers[index].hasInFlight { peers[index].window.resetBackOff() }
        if acknowledgement.newestSentAt > 0, proves {
            peers[index].standing.noteAcknowledgement(sentAt: acknowledgement.measurableSentAt, now: now.elapsed)
        }
        guard count > 0 else { return acknowledgement.newestSentAt }
        peers[index].outstandingCount -= count
        peers[index].outstandingBytes -= acknowledgement.byteCount
        directives.resumesWaiters = true
        noteTruncation(index, channel)
        return acknowledgement.newestSentAt
    }

    /// Resends messages that were sent more than half a round trip before one that has arrived (RACK).
    private mutating func resendOvertaken(_ index: Int, _ newestSentAt: UInt64) {
        guard settings.isLossy, newestSentAt > 0, peers[index].address != nil, !isUnreachableLive(index) else { return }
        let window = (peers[index].standing.roundTrip.smoothedNanoseconds ?? 0) / 2
        guard newestSentAt > window else { return }
        var count = 0
        for channel in peers[index].channels.indices {
            count += peers[index].channels[channel].markLost(sentBefore: newestSentAt - window, coveredOnly: true)
        }
        if count > 0 { report(.retransmitted(count: count, peerID: peers[index].peer.id)) }
    }

    private mutating func process(_ floor: WireReport.Floor, _ index: Int, _ now: DeliveryTime) {
        let key = ChannelKey(outbox: floor.outbox, featureID: floor.featureID)
        guard open(key, first: floor.first, index) else { return }
        peers[index].incoming[key]?.raiseFloor(to: floor.first)
        passOn(key, index, now)
        noteReceipt(key, index, now)
    }
}
