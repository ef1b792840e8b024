import MeshBus
import MeshIdentity
import MeshTransport

// MARK: - Sending

extension NetworkCore {
    /// Takes a message for every route or for none.
    /// - Throws: `SessionSyncError` with `closed`, `unknownPeer`, `unsupportedDeliveryMode`, `notReachable`, `queueFull`.
    mutating func accept(
        _ message: ScenarioMessage, mode: SessionDeliveryMode, from sender: String, inbox: TransportInbox,
        to receiver: SessionPeer?
    ) throws(SessionSyncError) {
        guard members[sender]?.inbox === inbox else { throw .closed }
        let routes = try routes(from: sender, to: receiver)
        switch (mode, message) {
        case (.reliableEventually, _):
            guard routes.allSatisfy({ link($0).reliableCount < queueLimit }) else {
                throw .queueFull(limit: queueLimit)
            }
            for route in routes { enqueueReliable(message, on: route) }
        case (.latestSnapshot, .snapshot(let snapshot)):
            try publish(snapshot, from: sender, to: routes, isForAll: receiver == nil)
        case (.latestSnapshot, _):
            throw .unsupportedDeliveryMode
        case (.realtimeBestEffort, _), (.snapshotRequest, _), (.acknowledgement, _):
            let reachable = routes.filter { link($0).isBelievedReachable }
            guard !reachable.isEmpty else { throw .notReachable }
            for route in reachable { sendLossy(message, on: route) }
        }
    }

    private func routes(from sender: String, to receiver: SessionPeer?) throws(SessionSyncError) -> [Route] {
        guard let receiver else { return joined.filter { $0 != sender }.map { Route(from: sender, to: $0) } }
        guard receiver.id != sender, members[receiver.id] != nil else { throw .unknownPeer(id: receiver.id) }
        return [Route(from: sender, to: receiver.id)]
    }

    private mutating func sendLossy(_ message: ScenarioMessage, on route: Route) {
        let conditions = link(route).conditions ?? conditions
        let now = now
        let arrivals: [UInt64] = withLink(route) { link in
            let isLost = link.random.happens(rate: conditions.lossRate) || link.isCut
            let isHeldBack = link.random.happens(rate: conditions.reorderingRate)
            let isDoubled = link.random.happens(rate: conditions.duplicationRate)
            let latency = conditions.latency.draw(&link.random)
            guard !isLost else { return [] }
            var arrival = now.advanced(byNanoseconds: latency)
            if isHeldBack {
                arrival = arrival.advanced(byNanoseconds: link.random.upTo(3 * latency))
            } else {
                arrival = max(arrival, link.lastLossyArrival)
                link.lastLossyArrival = arrival
            }
            guard isDoubled else { return [arrival] }
            return [arrival, arrival.advanced(byNanoseconds: conditions.latency.draw(&link.random))]
        }
        if arrivals.isEmpty { trace.record(message, on: route, at: now, .lost) }
        for arrival in arrivals { events.enter(.lossyArrival(route, message), at: arrival) }
    }

    private mutating func enqueueReliable(_ message: ScenarioMessage, on route: Route) {
        withLink(route) { link in
            link.reliable[message.featureID, default: .init()].waiting.append(message)
            link.reliableCount += 1
        }
        scheduleReliable(route, featureID: message.featureID)
    }

    /// Puts one more arrival on the schedule, never before those of the same feature.
    mutating func scheduleReliable(_ route: Route, featureID: String) {
        let earliest = now.advanced(byNanoseconds: reliableDelay(route))
        let arrival = withLink(route) { link in
            link.reliable[featureID, default: .init()].schedule(noEarlierThan: earliest)
        }
        events.enter(.reliableArrival(route, featureID: featureID), at: arrival)
    }

    private mutating func publish(
        _ snapshot: AnySessionSyncSnapshot, from sender: String, to routes: [Route], isForAll: Bool
    ) throws(SessionSyncError) {
        let feature = snapshot.metadata.featureID
        let published = members[sender]?.published ?? [:]
        let isRoomEverywhere =
            (published[feature] != nil || published.count < featureLimit)
            && routes.allSatisfy { route in
                let latest = link(route).latest
                return latest[feature] != nil || latest.count < featureLimit
            }
        guard isRoomEverywhere else { throw .queueFull(limit: featureLimit) }
        if isForAll, published[feature]?.isNewer(than: snapshot) != true {
            members[sender]?.published[feature] = snapshot
        }
        for route in routes { enqueueLatest(snapshot, on: route) }
    }

    mutating func enqueueLatest(_ snapshot: AnySessionSyncSnapshot, on route: Route) {
        let feature = snapshot.metadata.featureID
        withLink(route) { link in
            if link.latest[feature]?.waiting?.isNewer(than: snapshot) == true { return }
            link.latest[feature, default: .init()].waiting = snapshot
        }
        launchLatest(route, featureID: feature)
    }

    /// Sends what waits, unless something is under way already.
    mutating func launchLatest(_ route: Route, featureID: String) {
        guard isOpen(route), let lane = link(route).latest[featureID], lane.underWay == nil, let next = lane.waiting
        else { return }
        withLink(route) { $0.latest[featureID] = .init(underWay: next, waiting: nil) }
        schedule(.latestArrival(route, featureID: featureID), after: reliableDelay(route))
    }
}

// MARK: - Arriving

extension NetworkCore {
    /// Moves to the next event that hands something to somebody, no later than `limit`; nil when there is none.
    mutating func nextDelivery(until limit: UInt64) -> Delivery? {
        while let time = events.nextTime, time <= limit, let (_, event) = events.take() {
            now = max(now, time)
            if let delivery = handle(event) { return delivery }
        }
        return nil
    }

    private mutating func handle(_ event: Event) -> Delivery? {
        switch event {
        case .lossyArrival(let route, let message):
            guard isOpen(route) else {
                trace.record(message, on: route, at: now, .lost)
                return nil
            }
            return deliver(message, on: route)
        case .reliableArrival(let route, let featureID):
            return arriveReliably(route, featureID: featureID).flatMap { deliver($0, on: route) }
        case .latestArrival(let route, let featureID):
            return arriveLatest(route, featureID: featureID).flatMap { deliver(.snapshot($0), on: route) }
        case .reachability(let route):
            return tellReachability(route)
        }
    }

    private mutating func arriveReliably(_ route: Route, featureID: String) -> ScenarioMessage? {
        let isOpen = isOpen(route)
        return withLink(route) { link in
            link.reliable[featureID]?.scheduledCount -= 1
            defer { if link.reliable[featureID]?.isIdle == true { link.reliable[featureID] = nil } }
            // On a cut link it stays where it is; `resume` schedules it again.
            guard isOpen, let message = link.reliable[featureID]?.waiting.takeFirst() else { return nil }
            link.reliableCount -= 1
            return message
        }
    }

    private mutating func arriveLatest(_ route: Route, featureID: String) -> AnySessionSyncSnapshot? {
        let isOpen = isOpen(route)
        let arrived = withLink(route) { link -> AnySessionSyncSnapshot? in
            guard var lane = link.latest[featureID] else { return nil }
            let underWay = lane.underWay
            lane.underWay = nil
            if !isOpen { lane.waiting = lane.waiting ?? underWay }
            link.latest[featureID] = lane.waiting == nil ? nil : lane
            return isOpen ? underWay : nil
        }
        launchLatest(route, featureID: featureID)
        return arrived
    }

    private mutating func deliver(_ message: ScenarioMessage, on route: Route) -> Delivery? {
        guard let inbox = members[route.to]?.inbox else { return nil }
        trace.record(message, on: route, at: now, .delivered)
        return Delivery(inbox: inbox, content: .message(message))
    }

    /// Looks at the truth only now, so that a flap shorter than the latency is never announced.
    private mutating func tellReachability(_ route: Route) -> Delivery? {
        let claim = claim(route)
        let isNews = withLink(route) { link in
            defer { (link.isBelievedReachable, link.isAnnouncedReachable) = (claim, claim) }
            return link.isAnnouncedReachable != claim
        }
        guard isNews, let inbox = members[route.from]?.inbox, let peer = members[route.to]?.peer else { return nil }
        trace.record(claim, on: route, at: now)
        return Delivery(inbox: inbox, content: .reachability(SessionPeerReachability(claim, peer: peer)))
    }
}
