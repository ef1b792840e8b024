import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

// MARK: - What the link tells

extension DeliveryCore {
    mutating func found(_ address: LinkAddress, as provenID: String?, _ now: DeliveryTime) {
        connections[address, default: DeliveryConnection()].isOver = false
        if let provenID { connections[address]?.kept.provenID = provenID }
        guard settings.keptLane != nil else { return }
        // On lanes that the platform keeps the greeting waits for the other side like everything else.
        if connections[address]?.isLive == false { greet(address, now) }
        guard settings.lanes.contains(.latest) else { return }
        connections[address]?.kept.owesGreeting = true
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
        greet(address, now)
    }

    mutating func disconnected(_ address: LinkAddress, reason: String?, _ now: DeliveryTime) {
        guard let connection = connections[address], connection.isLive else {
            // Nobody is there, and somebody must learn of it.
            if let reason { report(.rejected(peerID: nil, reason: reason)) }
            return
        }
        connections[address] = settings.keptLane == nil ? nil : connection.leftWithKeptLanes
        if let reason { report(.rejected(peerID: connection.peerID, reason: reason)) }
        if connection.peerID == nil, reason == nil, !connection.isOver {
            report(.rejected(peerID: nil, reason: "the other side ended the connection before it had greeted"))
        }
        if !connection.immediate.isEmpty, settings.keptLane == nil {
            report(.dropped(count: connection.immediate.count, reason: "the connection ended before they were sent"))
        }
        if let index = connection.peerID.flatMap({ peerIndex[$0] }), peers[index].address == address {
            part(index)
        }
        if let peerID = connection.peerID { forgetFormerGuest(peerID) }
        directives.hasRoom = true
    }

    /// The peer is nowhere any more.
    private mutating func part(_ index: Int) {
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

    /// Everything that is not acknowledged is offered again.
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
    /// Nothing but the farewell is sent there any more.
    mutating func say(_ message: WireMessage, at address: LinkAddress) {
        guard connections[address]?.isOver == false else { return }
        connections[address]?.control.append(message)
        connections[address]?.isOver = true
        connections[address]?.helloAt = nil
    }

    /// What came cannot be read. On a stream nothing after it can be either.
    mutating func cannotRead(from address: LinkAddress, on lane: LinkLane, _ error: WireError, _ now: DeliveryTime) {
        let peerID = connections[address]?.peerID
        report(.rejected(peerID: peerID, reason: "\(error)"))
        guard lane == .stream, connections[address]?.isOver == false else { return }
        let reason: WireGoodbye.Reason = error.code == .unsupportedVersion ? .unsupportedVersion : .unreadable
        directives.hopeless.append((address, WireGoodbye(reason, detail: error.message)))
        if let index = peerID.flatMap({ peerIndex[$0] }), peers[index].address == address { part(index) }
        directives.hasRoom = true
    }

    /// Acknowledges at once what would be acknowledged soon.
    mutating func reportNow() {
        for index in peers.indices where peers[index].reportAt != .max {
            peers[index].reportAt = 0
            markWritable(index)
        }
    }

    /// Something that a lossy lane carries has not been acknowledged by a peer that is there, or waits until it is known
    /// whether the peer is.
    var awaitsAcknowledgements: Bool {
        settings.isLossy
            && peers.contains { peer in
                guard peer.outstandingCount > 0 else { return false }
                return peer.address == nil ? isGreeting(peer) : peer.standing.health != .gone
            }
    }

    /// A connection has begun where the peer's kept lanes are, and may still be answered.
    private func isGreeting(_ peer: DeliveryPeer) -> Bool {
        guard let connection = peer.keptAddress.flatMap({ connections[$0] }) else { return false }
        return connection.isLive && connection.helloAt != nil && connection.helloCount < Self.hellosInVain
    }
}

// MARK: - Greeting

extension DeliveryCore {
    mutating func repeatGreetings(_ now: DeliveryTime) {
        let waiting = connections.keys.filter { connections[$0]?.helloAt != nil }
        for address in waiting.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let time = connections[address]?.helloAt else { continue }
            if time <= now.elapsed { greet(address, now) } else { wake(by: time) }
        }
    }

    /// Says who is here; on a lossy lane again and again, until the other side reports.
    private mutating func greet(_ address: LinkAddress, _ now: DeliveryTime) {
        guard var connection = connections[address], !connection.isOver else { return }
        var hello = WireHello(peer: localPeer, codecs: settings.codecs)
        // On lanes that the platform keeps, the number of this launch.
        hello.connection = connection.isLive ? connection.number : settings.firstConnection
        hello.abilities = settings.abilities
        connection.control.append(.hello(hello))
        connection.helloCount += 1
        connection.helloSentAt = now.elapsed
        if !connection.isLive { connection.kept.saidCount += 1 }
        if connection.isLive, settings.isLossy {
            let delay = RoundTripEstimate().timeout(afterFailures: min(connection.helloCount - 1, 4))
            connection.helloAt = now.elapsed + min(delay, settings.heartbeat)
            wake(by: now.elapsed + delay)
        }
        connections[address] = connection
        directives.writable.append(address)
    }

    /// The other side has read the greeting.
    mutating func greetingArrived(_ address: LinkAddress) { connections[address]?.helloAt = nil }

    /// - Throws: `WireError` when nothing can come of the connection.
    mutating func meet(
        _ hello: WireHello, on lane: LinkLane, at address: LinkAddress, _ now: DeliveryTime
    ) throws(WireError) {
        guard let connection = connections[address] else { return }
        guard hello.peer.id != localPeer.id || settings.returnsOwnPackets else {
            report(.peerIDInUse(peerID: localPeer.id))
            throw WireError(.foreign, SessionDiagnosticEvent.peerIDInUse(peerID: localPeer.id).description)
        }
        try check(hello, provenID: connection.provenPeerID)
        try makeRoom(forPeer: hello.peer.id)
        guard lane.isLive || settings.keptLane == nil else { return meetKept(hello, on: lane, at: address, now) }
        let isRepeated = connection.peerID == hello.peer.id
        if isRepeated, let index = peerIndex[hello.peer.id], peers[index].peer == hello.peer {
            agree(hello, index)
            noteHeard(index, on: lane, now)
            if connection.isLive, settings.isLossy, hasBegunAnew(hello, connection, now) {
                connections[address]?.theirNumber = hello.connection
                peers[index].knownIdentities = nil
                greetAgain(address, now)
            }
            return
        }
        guard connection.peerID == nil || isRepeated else {
            throw WireError(.foreign, "'\(hello.peer.id)' greets where '\(connection.peerID ?? "")' is")
        }
        connections[address]?.peerID = hello.peer.id
        connections[address]?.theirNumber = hello.connection
        let index = admit(hello.peer, isGuest: connection.isGuest)
        agree(hello, index)
        if settings.keptLane != nil { keep(index, at: address) }
        guard connection.isLive else { return afterMeeting(index, now) }
        if let earlier = peers[index].address, earlier != address { displace(earlier, index) }
        if peers[index].address != nil { part(index) }
        peers[index].address = address
        peers[index].standing.begin(silenceRules(toward: hello.peer, peers[index].abilities), now: now.elapsed)
        peers[index].window = LossyWindow()
        rewind(index)
        wake(by: now.elapsed)
        afterMeeting(index, now)
    }

    /// Whoever greets elsewhere is there from now on. The earlier connection ends, so that a link that had it for another
    /// peer of that name connects again.
    private mutating func displace(_ address: LinkAddress, _ index: Int) {
        guard connections[address]?.isOver == false else { return }
        let peerID = peers[index].peer.id
        let detail = "a newer connection greets as '\(peerID)'; of two peers under one name one needs another"
        directives.hopeless.append((address, WireGoodbye(.displaced, detail: detail)))
        report(.displaced(peerID: peerID))
    }

    /// Whether its end of the connection has begun anew, unnoticed here: it waits for a greeting, and for nothing else.
    /// Who numbers no connections may just not have read the last one: it is answered seldom.
    private func hasBegunAnew(_ hello: WireHello, _ connection: DeliveryConnection, _ now: DeliveryTime) -> Bool {
        if hello.connection > 0 { return hello.connection != connection.theirNumber }
        return connection.helloAt == nil && connection.helloSentAt + settings.heartbeat <= now.elapsed
    }

    /// At once, but however many ask, no sooner than a while after the last time.
    private mutating func greetAgain(_ address: LinkAddress, _ now: DeliveryTime) {
        guard let connection = connections[address] else { return }
        connections[address]?.helloCount = 0
        let time = connection.helloSentAt + Self.greetingInterval
        if time <= now.elapsed { return greet(address, now) }
        connections[address]?.helloAt = min(connection.helloAt ?? .max, time)
        wake(by: time)
    }

    private static var greetingInterval: UInt64 { RoundTripEstimate.timeoutMin }

    /// A greeting that the platform has kept: it may be older than the connection that there is now.
    private mutating func meetKept(
        _ hello: WireHello, on lane: LinkLane, at address: LinkAddress, _ now: DeliveryTime
    ) {
        let isLive = connections[address]?.isLive == true
        if isLive, let greeted = connections[address]?.peerID, greeted != hello.peer.id { return }
        let isFirst = peers.isEmpty
        let isNews = connections[address]?.kept.peerID != hello.peer.id
        // Whoever was a guest is one until a connection says otherwise.
        let wasGuest = peerIndex[hello.peer.id].map { peers[$0].isGuest } ?? false
        let index = admit(hello.peer, isGuest: wasGuest || connections[address]?.isGuest == true)
        keep(index, at: address)
        if peers[index].address == nil { agree(hello, index) }
        if lane == .queue, !isLive, let kept = connections[address]?.kept {
            connections[address]?.kept.heardCount += 1
            connections[address]?.kept.theirLaunch = hello.connection
            // An answer to a greeting of this launch is none to be answered: that would never end.
            let isNew = hello.connection == 0 || hello.connection != kept.theirLaunch
            if isNew, kept.heardCount + 1 > kept.saidCount {
                // The other side has begun anew. It is to know who is here, and may have lost what it had taken.
                greet(address, now)
                if peers[index].address == nil { rewind(index) }
                return afterMeeting(index, now)
            }
        }
        if isNews || isFirst { afterMeeting(index, now) }
    }

    /// Lanes that the platform keeps reach the peer there.
    private mutating func keep(_ index: Int, at address: LinkAddress) {
        connections[address]?.kept.peerID = peers[index].peer.id
        peers[index].keptAddress = address
    }

    private mutating func afterMeeting(_ index: Int, _ now: DeliveryTime) {
        peers[index].hasLatestDue = true
        sendPending(now)
        directives.hasRoom = true
        markWritable(index)
    }

    private func check(_ hello: WireHello, provenID: String?) throws(WireError) {
        let id = hello.peer.id
        if let provenID, provenID != id { throw WireError(.foreign, "'\(provenID)' greets as '\(id)'") }
        _ = try hello.negotiatedFrameVersion()
        guard hello.codecs.contains(settings.codec) else {
            throw WireError(.unknownCodec, "'\(id)' does not read codec \(settings.codec)")
        }
    }

    /// Takes the optional parts of the protocol that both sides offer.
    private mutating func agree(_ hello: WireHello, _ index: Int) {
        let abilities = hello.abilities.intersection(settings.abilities)
        guard abilities != peers[index].abilities else { return }
        peers[index].abilities = abilities
        peers[index].standing.change(silenceRules(toward: hello.peer, abilities))
    }

    func silenceRules(toward peer: SessionPeer, _ agreed: WireAbilities = []) -> SilenceRules {
        settings.silenceRules(agreed, asksSecond: peer.id < localPeer.id)
    }

    /// The peer's place, which it gets with the first greeting and keeps.
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
    /// What is left when live lanes end: what they have not taken goes the other way.
    fileprivate var leftWithKeptLanes: DeliveryConnection {
        var rest = DeliveryConnection()
        rest.kept = kept
        rest.kept.peerID = peerID ?? kept.peerID
        rest.kept.provenID = provenPeerID
        var immediate = immediate
        while let message = immediate.takeFirst() { rest.kept.immediate.append(message) }
        return rest
    }
}
