import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

// MARK: - Events from the link

extension DeliveryCore {
    mutating func found(_ address: LinkAddress, as provenID: String?, _ now: DeliveryTime) {
        connections[address, default: DeliveryConnection()].isClosed = false
        if let provenID { connections[address]?.kept.provenID = provenID }
        guard settings.keptLane != nil else { return }
        // On kept lanes, the hello waits for the other side like any message.
        if connections[address]?.isLive == false { sendHello(address, now) }
        guard settings.lanes.contains(.latest) else { return }
        connections[address]?.kept.needsHello = true
        directives.writable.append(address)
    }

    mutating func connected(
        _ address: LinkAddress, as provenID: String?, isGuest: Bool = false, _ now: DeliveryTime
    ) {
        if connections[address]?.isLive == true { disconnected(address, reason: nil, now) }
        var connection = DeliveryConnection()
        connection.isLive = true
        connection.number = nextConnectionNumber()
        connection.provenID = provenID
        connection.isGuest = isGuest
        if let kept = connections[address]?.kept { connection.kept = kept }
        connections[address] = connection
        sendHello(address, now)
    }

    mutating func disconnected(_ address: LinkAddress, reason: String?, _ now: DeliveryTime) {
        guard let connection = connections[address], connection.isLive else {
            // No peer is connected, but the reason must be reported.
            if let reason { report(.rejected(peerID: nil, reason: reason)) }
            return
        }
        connections[address] = settings.keptLane == nil ? nil : connection.withoutLiveLanes
        if let reason { report(.rejected(peerID: connection.peerID, reason: reason)) }
        if connection.peerID == nil, reason == nil, !connection.isClosed {
            report(.rejected(peerID: nil, reason: "the other side ended the connection before it sent a hello"))
        }
        if !connection.immediate.isEmpty, settings.keptLane == nil {
            report(.dropped(count: connection.immediate.count, reason: "the connection ended before they were sent"))
        }
        if let index = connection.peerID.flatMap({ peerIndex[$0] }), peers[index].address == address {
            detach(index)
        }
        if let peerID = connection.peerID { forgetFormerGuest(peerID) }
        directives.resumesWaiters = true
    }

    /// Records that the peer has no live address any more.
    private mutating func detach(_ index: Int) {
        let before = peers[index].standing.health
        peers[index].address = nil
        peers[index].standing.end()
        peers[index].reportAt = .max
        peers[index].echo = nil
        peers[index].probeDue = nil
        peers[index].identitiesDue = nil
        peers[index].knownIdentities = nil
        noteHealth(index, before)
        rewind(index)
    }

    /// Offers everything again that isn't acknowledged.
    mutating func rewind(_ index: Int) {
        for channel in peers[index].channels.indices { peers[index].channels[channel].rewind() }
        for feature in peers[index].latestOrder {
            guard let progress = peers[index].latest[feature] else { continue }
            peers[index].latest[feature]?.sent = progress.acknowledged
        }
        peers[index].hasLatestDue = true
    }
}

// MARK: - Ends

extension DeliveryCore {
    /// Queues the goodbye; nothing else is sent there afterwards.
    mutating func queueGoodbye(_ goodbye: WireGoodbye, to address: LinkAddress) {
        guard connections[address]?.isClosed == false else { return }
        connections[address]?.control.append(.goodbye(goodbye))
        connections[address]?.isClosed = true
        connections[address]?.nextHelloAt = nil
    }

    /// Reports unreadable input. On a stream, this ends the connection: the rest can't be read either.
    mutating func cannotRead(from address: LinkAddress, on lane: LinkLane, _ error: WireError, _ now: DeliveryTime) {
        let peerID = connections[address]?.peerID
        report(.rejected(peerID: peerID, reason: "\(error)"))
        guard lane == .stream, connections[address]?.isClosed == false else { return }
        let reason: WireGoodbye.Reason = error.code == .unsupportedVersion ? .unsupportedVersion : .unreadable
        directives.connectionsToEnd.append((address, WireGoodbye(reason, detail: error.message)))
        if let index = peerID.flatMap({ peerIndex[$0] }), peers[index].address == address { detach(index) }
        directives.resumesWaiters = true
    }

    /// Sends the collected acknowledgements at once.
    mutating func reportNow() {
        for index in peers.indices where peers[index].reportAt != .max {
            peers[index].reportAt = 0
            markWritable(index)
        }
    }

    /// True if a connected peer hasn't acknowledged a message on a lossy lane, or if a message waits for a connection
    /// that may still be answered.
    var awaitsAcknowledgements: Bool {
        settings.isLossy
            && peers.contains { peer in
                guard peer.outstandingCount > 0 else { return false }
                return peer.address == nil ? mayBeAnswered(peer) : peer.standing.health != .gone
            }
    }

    /// Returns true if a new connection at the peer's kept address may still be answered.
    private func mayBeAnswered(_ peer: DeliveryPeer) -> Bool {
        guard let connection = peer.keptAddress.flatMap({ connections[$0] }) else { return false }
        return connection.isLive && connection.nextHelloAt != nil && connection.helloCount < Self.unansweredHelloLimit
    }
}

// MARK: - Greeting

extension DeliveryCore {
    mutating func repeatHellos(_ now: DeliveryTime) {
        let waiting = connections.keys.filter { connections[$0]?.nextHelloAt != nil }
        for address in waiting.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let time = connections[address]?.nextHelloAt else { continue }
            if time <= now.elapsed { sendHello(address, now) } else { wake(by: time) }
        }
    }

    /// Sends a hello. On a lossy lane it is repeated until the other side reports.
    private mutating func sendHello(_ address: LinkAddress, _ now: DeliveryTime) {
        guard var connection = connections[address], !connection.isClosed else { return }
        var hello = settings.hello(of: localPeer)
        // On kept lanes, the number of this launch.
        hello.connection = connection.isLive ? connection.number : settings.firstConnection
        connection.control.append(.hello(hello))
        connection.helloCount += 1
        connection.helloSentAt = now.elapsed
        if !connection.isLive { connection.kept.sentHelloCount += 1 }
        if connection.isLive, settings.isLossy {
            let delay = RoundTripEstimate().timeout(afterFailures: min(connection.helloCount - 1, 4))
            let time = now.elapsed + min(delay, settings.heartbeat)
            connection.nextHelloAt = time
            wake(by: time)
        }
        connections[address] = connection
        directives.writable.append(address)
    }

    /// Stops repeating the hello: the other side has read it.
    mutating func stopRepeatingHello(_ address: LinkAddress) { connections[address]?.nextHelloAt = nil }

    /// - Throws: `WireError` if the hello can't be accepted, so the connection can't be used.
    mutating func receiveHello(
        _ hello: WireHello, on lane: LinkLane, at address: LinkAddress, _ now: DeliveryTime
    ) throws(WireError) {
        guard let connection = connections[address] else { return }
        guard hello.peer.id != localPeer.id || settings.returnsOwnPackets else {
            report(.peerIDInUse(peerID: localPeer.id))
            throw WireError(.foreign, SessionDiagnosticEvent.peerIDInUse(peerID: localPeer.id).description)
        }
        try check(hello, provenID: connection.provenPeerID)
        try makeSpace(forPeer: hello.peer.id)
        guard lane.isLive || settings.keptLane == nil else {
            return receiveKeptHello(hello, on: lane, at: address, now)
        }
        let isRepeated = connection.peerID == hello.peer.id
        if isRepeated, let index = peerIndex[hello.peer.id], peers[index].peer == hello.peer {
            agree(hello, index)
            noteFrame(index, on: lane, now)
            if connection.isLive, settings.isLossy, hasRestarted(hello, connection, now) {
                connections[address]?.peerConnectionNumber = hello.connection
                peers[index].knownIdentities = nil
                resendHello(address, now)
            }
            return
        }
        guard connection.peerID == nil || isRepeated else {
            throw WireError(
                .foreign, "peer '\(hello.peer.id)' sent a hello on the connection of peer '\(connection.peerID ?? "")'")
        }
        connections[address]?.peerID = hello.peer.id
        connections[address]?.peerConnectionNumber = hello.connection
        let index = admit(hello.peer, isGuest: connection.isGuest)
        agree(hello, index)
        if settings.keptLane != nil { keep(index, at: address) }
        guard connection.isLive else { return finishHello(index, now) }
        if let earlier = peers[index].address, earlier != address { displace(earlier, index) }
        if peers[index].address != nil { detach(index) }
        peers[index].address = address
        peers[index].standing.begin(silenceRules(toward: hello.peer, peers[index].abilities), now: now.elapsed)
        peers[index].window = LossyWindow()
        rewind(index)
        wake(by: now.elapsed)
        finishHello(index, now)
    }

    /// Ends the earlier connection of a peer that has greeted from another address. If the link mistook another peer
    /// for this one, it connects again.
    private mutating func displace(_ address: LinkAddress, _ index: Int) {
        guard connections[address]?.isClosed == false else { return }
        let peerID = peers[index].peer.id
        let detail = "a newer connection uses the peer ID '\(peerID)'; two devices need different IDs"
        directives.connectionsToEnd.append((address, WireGoodbye(.displaced, detail: detail)))
        report(.displaced(peerID: peerID))
    }

    /// Returns true if the other side has restarted the connection and the link here hasn't noticed. The other side
    /// then waits for a hello. A peer that doesn't number its connections may just have missed the last hello; it is
    /// answered at most once per heartbeat.
    private func hasRestarted(_ hello: WireHello, _ connection: DeliveryConnection, _ now: DeliveryTime) -> Bool {
        if hello.connection > 0 { return hello.connection != connection.peerConnectionNumber }
        return connection.nextHelloAt == nil && connection.helloSentAt + settings.heartbeat <= now.elapsed
    }

    /// Repeats the hello at once, but at most once in 50 ms, however many requests arrive.
    private mutating func resendHello(_ address: LinkAddress, _ now: DeliveryTime) {
        guard let connection = connections[address] else { return }
        connections[address]?.helloCount = 0
        let time = connection.helloSentAt + Self.helloInterval
        if time <= now.elapsed { return sendHello(address, now) }
        connections[address]?.nextHelloAt = min(connection.nextHelloAt ?? .max, time)
        wake(by: time)
    }

    private static var helloInterval: UInt64 { RoundTripEstimate.timeoutMin }

    /// Processes a hello from a kept lane. It may be older than the current connection.
    private mutating func receiveKeptHello(
        _ hello: WireHello, on lane: LinkLane, at address: LinkAddress, _ now: DeliveryTime
    ) {
        let isLive = connections[address]?.isLive == true
        if isLive, let greeted = connections[address]?.peerID, greeted != hello.peer.id { return }
        let isFirst = peers.isEmpty
        let isNewPeer = connections[address]?.kept.peerID != hello.peer.id
        // A guest stays a guest until the link connects it as a trusted peer.
        let wasGuest = peerIndex[hello.peer.id].map { peers[$0].isGuest } ?? false
        let index = admit(hello.peer, isGuest: wasGuest || connections[address]?.isGuest == true)
        keep(index, at: address)
        if peers[index].address == nil { agree(hello, index) }
        if lane == .queue, !isLive, let kept = connections[address]?.kept {
            connections[address]?.kept.receivedHelloCount += 1
            connections[address]?.kept.peerLaunchNumber = hello.connection
            // A reply to this launch's hello needs no reply: that would never end.
            let isNew = hello.connection == 0 || hello.connection != kept.peerLaunchNumber
            if isNew, kept.receivedHelloCount + 1 > kept.sentHelloCount {
                // The other side has relaunched. It needs to know this peer, and may have lost messages.
                sendHello(address, now)
                if peers[index].address == nil { rewind(index) }
                return finishHello(index, now)
            }
        }
        if isNewPeer || isFirst { finishHello(index, now) }
    }

    /// Records the address at which kept lanes reach the peer.
    private mutating func keep(_ index: Int, at address: LinkAddress) {
        connections[address]?.kept.peerID = peers[index].peer.id
        peers[index].keptAddress = address
    }

    private mutating func finishHello(_ index: Int, _ now: DeliveryTime) {
        peers[index].hasLatestDue = true
        sendPending(now)
        directives.resumesWaiters = true
        markWritable(index)
    }

    private func check(_ hello: WireHello, provenID: String?) throws(WireError) {
        let id = hello.peer.id
        if let provenID, provenID != id { throw WireError(.foreign, "peer '\(provenID)' sent the hello of '\(id)'") }
        _ = try hello.negotiatedFrameVersion()
        guard hello.codecs.contains(settings.codec) else {
            throw WireError(.unknownCodec, "peer '\(id)' doesn't read codec \(settings.codec)")
        }
    }

    /// Adopts the optional parts of the protocol that both sides offer.
    private mutating func agree(_ hello: WireHello, _ index: Int) {
        peers[index].readableCompression = settings.compression.readable(by: hello)
        let abilities = hello.abilities.intersection(settings.abilities)
        guard abilities != peers[index].abilities else { return }
        peers[index].abilities = abilities
        peers[index].standing.change(silenceRules(toward: hello.peer, abilities))
    }

    func silenceRules(toward peer: SessionPeer, _ agreed: WireAbilities = []) -> SilenceRules {
        settings.silenceRules(agreed, probesSecond: peer.id < localPeer.id)
    }

    /// Returns the peer's index, and adds the peer at its first hello.
    mutating func admit(_ peer: SessionPeer, isGuest: Bool) -> Int {
        if let index = peerIndex[peer.id] {
            if peers[index].peer != peer || peers[index].isGuest != isGuest, settings.isDurable {
                directives.changes.append(.met(peer, isGuest: isGuest))
            }
            if peers[index].peer.appInstanceID != peer.appInstanceID { peers[index].forgetAcknowledgedSnapshots() }
            peers[index].peer = peer
            peers[index].isGuest = isGuest
            return index
        }
        peers.append(
            DeliveryPeer(peer, outbox: outbox &+ forgottenCount, rules: silenceRules(toward: peer)))
        peers[peers.count - 1].isGuest = isGuest
        peerIndex[peer.id] = peers.count - 1
        if settings.isDurable { directives.changes.append(.met(peer, isGuest: isGuest)) }
        return peers.count - 1
    }
}

extension DeliveryConnection {
    /// The state that remains after the live lanes have ended. Best-effort messages that haven't left on a live lane
    /// move to the kept lanes.
    fileprivate var withoutLiveLanes: DeliveryConnection {
        var rest = DeliveryConnection()
        rest.kept = kept
        rest.kept.peerID = peerID ?? kept.peerID
        rest.kept.provenID = provenPeerID
        var immediate = immediate
        while let message = immediate.takeFirst() { rest.kept.immediate.append(message) }
        return rest
    }
}
