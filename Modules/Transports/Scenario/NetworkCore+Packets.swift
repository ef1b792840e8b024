import MeshBase
import MeshTransport
import MeshVirtualTime

// MARK: - Sending

extension NetworkCore {
    /// Accepts a packet, or returns the reason that it doesn't.
    mutating func accept(_ packet: LinkPacket, from id: String, linkID: UInt64, to address: LinkAddress) -> LinkError? {
        guard let sender = knownMember(id), let end = members[sender].end, end.linkID == linkID else {
            return LinkError(.closed)
        }
        guard let limit = end.lanes[packet.lane] else { return LinkError(.unreachable, "no lane \(packet.lane)") }
        guard packet.bytes.count <= limit.bytes else {
            return LinkError(.oversized, "\(packet.bytes.count) bytes, limit \(limit.bytes) (\(limit.id))")
        }
        guard let receiver = knownMember(address.rawValue), receiver != sender, members[receiver].hasJoined else {
            return LinkError(.unreachable, "no peer is at \(address)")
        }
        let index = direction(from: sender, to: receiver)
        if packet.lane.isLive {
            guard let generation = directions[index].view else {
                return LinkError(.unreachable, "not connected to \(address)")
            }
            return packet.lane == .stream
                ? stream(packet.bytes, on: index, generation: generation)
                : launchDatagram(packet.bytes, on: index, generation: generation)
        }
        return packet.lane == .latest
            ? replace(packet.bytes, key: packet.key, on: index) : keep(packet.bytes, on: index, packet.lane)
    }

    private func isCurrent(_ index: Int, _ generation: UInt64) -> Bool {
        pairs[index / 2].isUp && pairs[index / 2].generation == generation
    }

    private mutating func launchDatagram(_ bytes: [UInt8], on index: Int, generation: UInt64) -> LinkError? {
        let conditions = conditions(of: index)
        let isLost = directions[index].random.happens(rate: conditions.lossRate)
        let isHeldBack = directions[index].random.happens(rate: conditions.reorderingRate)
        let isDoubled = directions[index].random.happens(rate: conditions.duplicationRate)
        let latency = conditions.latency.draw(&directions[index].random)
        guard !isLost, !directions[index].isCut, isCurrent(index, generation),
            directions[index].datagramCount < limits.datagrams
        else {
            record(.datagram, bytes, on: index, .lost)
            return nil
        }
        var arrival = now.advanced(byNanoseconds: latency)
        if isHeldBack {
            arrival = arrival.advanced(byNanoseconds: directions[index].random.upTo(3 * latency))
        } else {
            arrival = max(arrival, directions[index].lastDatagramArrival)
            directions[index].lastDatagramArrival = arrival
        }
        directions[index].datagramCount += 1
        events.enter(.datagram(index, generation: generation, bytes), at: arrival)
        guard isDoubled else { return nil }
        let repeated = arrival.advanced(byNanoseconds: drawLatency(index))
        directions[index].datagramCount += 1
        events.enter(.datagram(index, generation: generation, bytes), at: repeated)
        return nil
    }

    private mutating func stream(_ bytes: [UInt8], on index: Int, generation: UInt64) -> LinkError? {
        guard !bytes.isEmpty else { return nil }
        guard isCurrent(index, generation) else {
            // The sender hasn't been notified yet that this connection is over.
            record(.stream, bytes, on: index, .lost)
            return nil
        }
        guard directions[index].stream.byteCount + bytes.count <= limits.streamBytes else {
            directions[index].stream.hasThrownFull = true
            return LinkError(.full, "\(directions[index].stream.byteCount) bytes are in flight")
        }
        directions[index].stream.byteCount += bytes.count
        schedulePiece(bytes, on: index, after: dependableDelay(index))
        return nil
    }

    /// Schedules a piece, never before the earlier pieces.
    private mutating func schedulePiece(_ bytes: [UInt8], on index: Int, after delay: UInt64) {
        let arrival = max(now.advanced(byNanoseconds: delay), directions[index].stream.lastArrival)
        directions[index].stream.lastArrival = arrival
        directions[index].stream.scheduledCount += 1
        events.enter(.piece(index, generation: pairs[index / 2].generation, bytes), at: arrival)
    }

    private mutating func keep(_ bytes: [UInt8], on index: Int, _ lane: LinkLane) -> LinkError? {
        guard directions[index].kept[lane]?.waiting.count ?? 0 < limits.keptPackets else {
            directions[index].kept[lane]?.hasThrownFull = true
            return LinkError(.full, "\(limits.keptPackets) packets are kept")
        }
        directions[index].kept[lane, default: KeptLane()].waiting.append(bytes)
        scheduleKept(index, lane)
        return nil
    }

    private mutating func scheduleKept(_ index: Int, _ lane: LinkLane) {
        let earliest = now.advanced(byNanoseconds: dependableDelay(index))
        let arrival = max(earliest, directions[index].kept[lane]?.lastArrival ?? 0)
        directions[index].kept[lane]?.lastArrival = arrival
        directions[index].kept[lane]?.scheduledCount += 1
        events.enter(.kept(index, lane), at: arrival)
    }

    private mutating func replace(_ bytes: [UInt8], key: String, on index: Int) -> LinkError? {
        guard directions[index].latest[key] != nil || directions[index].latest.count < limits.latestKeys else {
            directions[index].hasThrownFullForLatest = true
            return LinkError(.full, "\(limits.latestKeys) keys are kept")
        }
        directions[index].latest[key, default: LatestLane()].waiting = bytes
        launchLatest(index, key: key)
        return nil
    }

    /// Sends the waiting packet, unless another is in flight.
    private mutating func launchLatest(_ index: Int, key: String) {
        guard isOpen(index, .latest), let lane = directions[index].latest[key], lane.inFlight == nil,
            let next = lane.waiting
        else { return }
        directions[index].latest[key] = LatestLane(inFlight: next, waiting: nil)
        let delay = dependableDelay(index)
        schedule(.latest(index, key: key), after: delay)
    }

    /// Returns a random time for a packet on a lossless lane, including resends by the layer below.
    private mutating func dependableDelay(_ index: Int) -> UInt64 {
        let conditions = conditions(of: index)
        var delay = conditions.latency.draw(&directions[index].random)
        // A rate of 1 would repeat forever; 64 repeats stand for "very long".
        var repeats = 0
        while directions[index].random.happens(rate: conditions.lossRate), repeats < 64 {
            let roundTrip = 2 * conditions.latency.draw(&directions[index].random)
            delay = delay.advanced(byNanoseconds: roundTrip)
            repeats += 1
        }
        return delay
    }

    /// Returns true if a lane that the network keeps reaches its receiver now.
    private func isOpen(_ index: Int, _ lane: LinkLane) -> Bool {
        !directions[index].isCut && members[directions[index].to].end?.lanes[lane] != nil
    }
}

// MARK: - Arriving

extension NetworkCore {
    /// Delivers a datagram, together with the next ones that are due at the same time in the same direction.
    mutating func arriveDatagrams(_ index: Int, generation: UInt64, _ bytes: [UInt8]) {
        var arrived: [[UInt8]] = []
        var (generation, bytes) = (generation, bytes)
        while true {
            if admitDatagram(index, generation: generation, bytes) { arrived.append(bytes) }
            guard arrived.count < limits.datagramsTogether, let next = events.next, next.time <= now,
                case .datagram(index, let nextGeneration, let nextBytes) = next.event
            else { break }
            _ = events.take()
            (generation, bytes) = (nextGeneration, nextBytes)
        }
        guard !arrived.isEmpty else { return }
        push(.datagrams(arrived, from: directions[index].fromAddress), to: directions[index].to)
    }

    private mutating func admitDatagram(_ index: Int, generation: UInt64, _ bytes: [UInt8]) -> Bool {
        if pairs[index / 2].generation == generation { directions[index].datagramCount -= 1 }
        let isOpen = !directions[index].isCut && admits(index, generation: generation)
        record(.datagram, bytes, on: index, isOpen ? .delivered : .lost)
        return isOpen
    }

    mutating func arrivePiece(_ index: Int, generation: UInt64, _ bytes: [UInt8]) {
        guard isCurrent(index, generation) else { return record(.stream, bytes, on: index, .lost) }
        directions[index].stream.scheduledCount -= 1
        directions[index].stream.held += bytes
        // Held bytes continue once the direction opens again.
        guard !directions[index].isCut else { return }
        let held = directions[index].stream.held.count
        // A stream has no boundaries: sometimes the end of a piece arrives with the next one, or a little later.
        let isCut = !bytes.isEmpty && directions[index].random.happens(rate: 0.125)
        let rest = isCut ? Int(directions[index].random.upTo(UInt64(held - 1))) : 0
        releaseHeld(index, except: rest)
        guard rest > 0, directions[index].stream.scheduledCount == 0 else { return }
        let delay = drawLatency(index)
        schedulePiece([], on: index, after: delay)
    }

    /// Delivers the received bytes of a stream, except the last `rest` bytes.
    mutating func releaseHeld(_ index: Int, except rest: Int = 0) {
        var piece = directions[index].stream.held
        guard !directions[index].isCut, piece.count > rest else { return }
        directions[index].stream.held = Array(piece.suffix(rest))
        piece.removeLast(rest)
        directions[index].stream.byteCount -= piece.count
        if admits(index, generation: pairs[index / 2].generation) {
            deliver(piece, on: index, .stream)
        } else {
            record(.stream, piece, on: index, .lost)
        }
        guard directions[index].stream.hasThrownFull, directions[index].stream.byteCount <= limits.streamBytes / 2
        else {
            return
        }
        directions[index].stream.hasThrownFull = false
        push(.writable(directions[index].toAddress), to: directions[index].from)
    }

    mutating func arriveKept(_ index: Int, _ lane: LinkLane) {
        directions[index].kept[lane]?.scheduledCount -= 1
        // While the direction is cut or the receiver is gone, the packet stays; `resumeKept` schedules it again.
        guard isOpen(index, lane), let bytes = directions[index].kept[lane]?.waiting.takeFirst() else { return }
        deliver(bytes, on: index, lane)
        guard let kept = directions[index].kept[lane], kept.hasThrownFull, kept.waiting.count <= limits.keptPackets / 2
        else { return }
        directions[index].kept[lane]?.hasThrownFull = false
        push(.writable(directions[index].toAddress), to: directions[index].from)
    }

    mutating func arriveLatest(_ index: Int, key: String) {
        guard var lane = directions[index].latest[key], let arrived = lane.inFlight else { return }
        lane.inFlight = nil
        guard isOpen(index, .latest) else {
            lane.waiting = lane.waiting ?? arrived
            directions[index].latest[key] = lane
            return
        }
        directions[index].latest[key] = lane.waiting == nil ? nil : lane
        deliver(arrived, on: index, .latest)
        launchLatest(index, key: key)
        guard directions[index].hasThrownFullForLatest, directions[index].latest.count < limits.latestKeys else {
            return
        }
        directions[index].hasThrownFullForLatest = false
        push(.writable(directions[index].toAddress), to: directions[index].from)
    }

    private mutating func deliver(_ bytes: [UInt8], on index: Int, _ lane: LinkLane) {
        record(lane, bytes, on: index, .delivered)
        push(.received(bytes, on: lane, from: directions[index].fromAddress), to: directions[index].to)
    }

    private mutating func record(
        _ lane: LinkLane, _ bytes: [UInt8], on index: Int, _ outcome: ScenarioTraceEntry.Outcome
    ) {
        trace.record(
            .packet(lane, byteCount: bytes.count), from: directions[index].fromAddress,
            to: directions[index].toAddress, outcome, at: now)
    }
}

// MARK: - Resuming

extension NetworkCore {
    /// Schedules the packets that the network keeps.
    mutating func resumeKept(_ index: Int) {
        for lane in directions[index].kept.keys.sorted(by: { $0.rawValue < $1.rawValue }) where isOpen(index, lane) {
            guard let kept = directions[index].kept[lane] else { continue }
            for _ in 0..<(kept.waiting.count - kept.scheduledCount) { scheduleKept(index, lane) }
        }
        for key in directions[index].latest.keys.sorted() { launchLatest(index, key: key) }
    }

    /// Schedules the bytes that waited for their direction to open.
    mutating func resumeStream(_ index: Int) {
        guard pairs[index / 2].isUp, !directions[index].stream.held.isEmpty else { return }
        let delay = drawLatency(index)
        schedulePiece([], on: index, after: delay)
    }
}
