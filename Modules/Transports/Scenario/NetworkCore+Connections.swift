import MeshBase
import MeshTransport
import MeshVirtualTime

// MARK: - Membership

extension NetworkCore {
    /// Lets a link in. One of the same peer that is open still is replaced, as by a relaunch after a crash; its observer is
    /// returned for the caller to tell.
    mutating func join(
        _ id: String, linkID: UInt64, lanes: [LinkLane: PayloadLimit], observer: any LinkObserver
    ) -> (any LinkObserver)? {
        let member = member(id)
        let replaced = members[member].end?.observer
        if replaced != nil { vanish(member) }
        members[member].end = End(linkID: linkID, lanes: lanes, observer: observer)
        members[member].hasJoined = true
        for other in members.indices where other != member && members[other].hasJoined {
            let outward = direction(from: member, to: other)
            if hasCommonLane(member, other, isLive: false) {
                push(found(directions[outward].toAddress), to: member)
                push(found(directions[outward].fromAddress), to: other)
            }
            refresh(outward / 2)
            resumeKept(outward)
            resumeKept(outward ^ 1)
        }
        return replaced
    }

    /// As a process that dies: nothing that it sent on live lanes arrives any more.
    /// - Returns: its observer, for the caller to tell.
    mutating func crash(_ id: String) -> (any LinkObserver)? {
        guard let member = knownMember(id), let end = members[member].end else { return nil }
        vanish(member)
        return end.observer
    }

    private mutating func vanish(_ member: Int) {
        members[member].end = nil
        for outward in directions.indices where directions[outward].from == member {
            directions[outward].view = nil
            bringDown(outward / 2, reason: "the peer has gone")
        }
    }

    /// In good order: what was sent before arrives, and then the others learn of it.
    mutating func leave(_ id: String, linkID: UInt64) {
        guard let member = knownMember(id), members[member].end?.linkID == linkID else { return }
        members[member].end = nil
        for outward in directions.indices where directions[outward].from == member {
            directions[outward].view = nil
            beginEnd(outward, rest: 0)
        }
    }

    /// Ends a connection in good order, for a while.
    mutating func disconnect(_ id: String, linkID: UInt64, from address: LinkAddress) {
        guard let member = knownMember(id), members[member].end?.linkID == linkID,
            let other = knownMember(address.rawValue), other != member
        else { return }
        beginEnd(direction(from: member, to: other), rest: limits.restAfterEnd)
    }

    private mutating func beginEnd(_ outward: Int, rest: UInt64) {
        let pair = outward / 2
        guard pairs[pair].isUp, !pairs[pair].isEnding else { return }
        pairs[pair].isEnding = true
        let earliest = now.advanced(byNanoseconds: drawLatency(outward))
        let direction = directions[outward]
        let arrival = max(earliest, direction.stream.lastArrival, direction.lastDatagramArrival)
        events.enter(.end(pair: pair, generation: pairs[pair].generation), at: arrival)
        pairs[pair].restsUntil = arrival.advanced(byNanoseconds: rest)
    }

    mutating func end(_ pair: Int, generation: UInt64) {
        guard pairs[pair].isEnding, pairs[pair].generation == generation else { return }
        for index in [2 * pair, 2 * pair + 1] { releaseHeld(index) }
        bringDown(pair, reason: nil, isOrderly: true)
        events.enter(.refresh(pair), at: max(now, pairs[pair].restsUntil))
    }

    /// Whether both have a link with such a lane of one kind.
    private func hasCommonLane(_ first: Int, _ second: Int, isLive: Bool) -> Bool {
        guard let first = members[first].end, let second = members[second].end else { return false }
        return first.lanes.keys.contains { $0.isLive == isLive && second.lanes[$0] != nil }
    }
}

// MARK: - Connections

extension NetworkCore {
    /// Makes the truth of a pair follow from who is there and what is cut: a connection begins while both directions are
    /// open and ends when neither is. While one of them is cut it goes on, since neither side can tell that from delay.
    mutating func refresh(_ pair: Int) {
        guard !pairs[pair].isEnding else { return }
        let (there, back) = (directions[2 * pair], directions[2 * pair + 1])
        let isPossible = hasCommonLane(there.from, there.to, isLive: true)
        if pairs[pair].isUp {
            if !isPossible || (there.isCut && back.isCut) { bringDown(pair, reason: "the connection broke") }
        } else if isPossible, !there.isCut, !back.isCut, pairs[pair].restsUntil <= now {
            bringUp(pair)
        }
    }

    private mutating func bringUp(_ pair: Int) {
        pairs[pair].isUp = true
        begin(pair)
        for index in [2 * pair, 2 * pair + 1] { announce(index) }
    }

    /// A new connection: nothing of the one before arrives any more.
    private mutating func begin(_ pair: Int) {
        pairs[pair].generation += 1
        for index in [2 * pair, 2 * pair + 1] {
            directions[index].stream = StreamLane()
            directions[index].datagramCount = 0
        }
    }

    private mutating func bringDown(_ pair: Int, reason: String?, isOrderly: Bool = false) {
        guard pairs[pair].isUp else { return }
        pairs[pair].isUp = false
        pairs[pair].isEnding = false
        pairs[pair].reason = reason
        for index in [2 * pair, 2 * pair + 1] {
            directions[index].stream = StreamLane()
            if isOrderly { schedule(.tell(index), after: 0) } else { announce(index) }
        }
        if !isOrderly { pairs[pair].restsUntil = 0 }
    }

    private mutating func announce(_ index: Int) {
        let delay = drawLatency(index)
        schedule(.tell(index), after: delay)
    }

    /// Looks at the truth, or at the lie, only now, so that a sender learns of a flap once.
    mutating func tell(_ index: Int) {
        let pair = index / 2
        let direction = directions[index]
        guard members[direction.from].end != nil else { return }
        guard direction.claim ?? pairs[pair].isUp else {
            if direction.view != nil {
                disconnect(index, reason: pairs[pair].isUp ? "said to be out of reach" : pairs[pair].reason)
            }
            return
        }
        if !pairs[pair].isUp {
            // A lie. There is nothing to be connected to, or not any more.
            guard direction.view == nil else { return }
            begin(pair)
        } else if direction.view == pairs[pair].generation {
            return
        } else if direction.lastSeen == pairs[pair].generation {
            // It has left this connection, or has missed some of it; only a new one can begin anew.
            begin(pair)
            announce(index ^ 1)
        }
        if direction.view != nil { disconnect(index, reason: pairs[pair].reason ?? "the connection was made anew") }
        directions[index].view = pairs[pair].generation
        directions[index].lastSeen = pairs[pair].generation
        record(isConnected: true, index)
        push(.connected(direction.toAddress, as: provenID(of: direction.toAddress)), to: direction.from)
    }

    private func found(_ address: LinkAddress) -> Delivery.Content { .found(address, as: provenID(of: address)) }

    private func provenID(of address: LinkAddress) -> String? { provesPeers ? address.rawValue : nil }

    private mutating func disconnect(_ index: Int, reason: String?) {
        directions[index].view = nil
        record(isConnected: false, index)
        push(.disconnected(directions[index].toAddress, reason: reason), to: directions[index].from)
    }

    private mutating func record(isConnected: Bool, _ index: Int) {
        let direction = directions[index]
        trace.record(
            .connection(isConnected), from: direction.toAddress, to: direction.fromAddress, .delivered, at: now)
    }

    /// Whether the receiving side is in that connection. Who has not been told of it yet is told now.
    mutating func admits(_ index: Int, generation: UInt64) -> Bool {
        guard pairs[index / 2].isUp, pairs[index / 2].generation == generation,
            members[directions[index].to].end != nil
        else { return false }
        let back = index ^ 1
        if directions[back].claim == false {
            directions[back].lastSeen = generation
            return false
        }
        if directions[back].view == generation { return true }
        guard directions[back].lastSeen != generation else { return false }
        tell(back)
        return true
    }
}

// MARK: - Faults

extension NetworkCore {
    mutating func setCut(_ isCut: Bool, _ index: Int) {
        guard directions[index].isCut != isCut else { return }
        directions[index].isCut = isCut
        refresh(index / 2)
        guard !isCut else { return }
        resumeKept(index)
        resumeStream(index)
    }

    /// In the order of their names, so that what follows does not depend on who was named first.
    mutating func heal() {
        let cut = directions.indices.filter { directions[$0].isCut }.sorted { first, second in
            let (first, second) = (directions[first], directions[second])
            return (first.fromAddress.rawValue, first.toAddress.rawValue)
                < (second.fromAddress.rawValue, second.toAddress.rawValue)
        }
        for index in cut { setCut(false, index) }
    }

    /// What the sending side of a direction is told of the other from now on; nil tells it the truth.
    mutating func setClaim(_ claim: Bool?, _ index: Int) {
        directions[index].claim = claim
        schedule(.tell(index), after: 0)
    }
}
