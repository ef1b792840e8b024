import MeshBase
import MeshTransport
import MeshVirtualTime

// MARK: - Membership

extension NetworkCore {
    /// Adds a link. It replaces an open link of the same peer, as a relaunch after a crash does.
    /// - Returns: the observer of the replaced link, for the caller to notify.
    mutating func join(
        _ id: String, linkID: UInt64, lanes: [LinkLane: PayloadLimit], observer: any LinkObserver
    ) -> (any LinkObserver)? {
        let member = member(id)
        let replaced = members[member].end?.observer
        if replaced != nil { removeAbruptly(member) }
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

    /// Removes a link like a dying process: its packets on live lanes no longer arrive.
    /// - Returns: the link's observer, for the caller to notify.
    mutating func crash(_ id: String) -> (any LinkObserver)? {
        guard let member = knownMember(id), let end = members[member].end else { return nil }
        removeAbruptly(member)
        return end.observer
    }

    private mutating func removeAbruptly(_ member: Int) {
        members[member].end = nil
        for outward in directions.indices where directions[outward].from == member {
            directions[outward].view = nil
            bringDown(outward / 2, reason: "the peer has gone")
        }
    }

    /// Removes a link in an orderly way: its earlier packets arrive, and then the other peers are notified.
    mutating func leave(_ id: String, linkID: UInt64) {
        guard let member = knownMember(id), members[member].end?.linkID == linkID else { return }
        members[member].end = nil
        for outward in directions.indices where directions[outward].from == member {
            directions[outward].view = nil
            scheduleEnd(outward, rest: 0)
        }
    }

    /// Ends a connection in an orderly way. It may begin again after a rest.
    mutating func disconnect(_ id: String, linkID: UInt64, from address: LinkAddress) {
        guard let member = knownMember(id), members[member].end?.linkID == linkID,
            let other = knownMember(address.rawValue), other != member
        else { return }
        scheduleEnd(direction(from: member, to: other), rest: limits.restAfterEnd)
    }

    private mutating func scheduleEnd(_ outward: Int, rest: UInt64) {
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

    /// Returns true if both links have a common lane of that kind.
    private func hasCommonLane(_ first: Int, _ second: Int, isLive: Bool) -> Bool {
        guard let first = members[first].end, let second = members[second].end else { return false }
        return first.lanes.keys.contains { $0.isLive == isLive && second.lanes[$0] != nil }
    }
}

// MARK: - Connections

extension NetworkCore {
    /// Begins or ends a pair's connection according to its links and partitions. It begins when both directions are
    /// open and ends when neither is. If only one is cut, it stays, because neither side can distinguish that from a
    /// delay.
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

    /// Starts a new connection: nothing of the earlier one arrives any more.
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
            if isOrderly { schedule(.updateView(index), after: 0) } else { announce(index) }
        }
        if !isOrderly { pairs[pair].restsUntil = 0 }
    }

    private mutating func announce(_ index: Int) {
        let delay = drawLatency(index)
        schedule(.updateView(index), after: delay)
    }

    /// Updates a sender's view of its connection. It reads the state, or the false claim, only now, so that a short
    /// interruption is reported once.
    mutating func updateView(_ index: Int) {
        let pair = index / 2
        let direction = directions[index]
        guard members[direction.from].end != nil else { return }
        guard direction.claimedReachability ?? pairs[pair].isUp else {
            if direction.view != nil {
                disconnect(index, reason: pairs[pair].isUp ? "reported as unreachable" : pairs[pair].reason)
            }
            return
        }
        if !pairs[pair].isUp {
            // A false claim: there is no connection.
            guard direction.view == nil else { return }
            begin(pair)
        } else if direction.view == pairs[pair].generation {
            return
        } else if direction.lastSeen == pairs[pair].generation {
            // The sender has left this connection or missed a part of it; only a new connection can start over.
            begin(pair)
            announce(index ^ 1)
        }
        if direction.view != nil { disconnect(index, reason: pairs[pair].reason ?? "a new connection has begun") }
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

    /// Returns true if the receiving side takes part in that connection. Notifies that side of the connection if it
    /// doesn't know of it yet.
    mutating func admits(_ index: Int, generation: UInt64) -> Bool {
        guard pairs[index / 2].isUp, pairs[index / 2].generation == generation,
            members[directions[index].to].end != nil
        else { return false }
        let back = index ^ 1
        if directions[back].claimedReachability == false {
            directions[back].lastSeen = generation
            return false
        }
        if directions[back].view == generation { return true }
        guard directions[back].lastSeen != generation else { return false }
        updateView(back)
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

    /// Ends all partitions, in the order of the IDs: the result must not depend on the order in which peers were named.
    mutating func heal() {
        let cut = directions.indices.filter { directions[$0].isCut }.sorted { first, second in
            let (first, second) = (directions[first], directions[second])
            return (first.fromAddress.rawValue, first.toAddress.rawValue)
                < (second.fromAddress.rawValue, second.toAddress.rawValue)
        }
        for index in cut { setCut(false, index) }
    }

    /// Sets the reachability of the receiving side that the network reports to the sending side; nil restores the true
    /// one.
    mutating func setClaimedReachability(_ isReachable: Bool?, _ index: Int) {
        directions[index].claimedReachability = isReachable
        schedule(.updateView(index), after: 0)
    }
}
