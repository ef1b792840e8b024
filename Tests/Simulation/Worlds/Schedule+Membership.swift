import MeshBase

extension Schedule {
    /// Draws a group whose members change.
    /// - Parameter members: The number of peers; nil lets the seed decide.
    init(groupOf members: Int?, seed: UInt64, stores: SimulatedStores) {
        // The constant gives this setting other random numbers than the others.
        var random = SplitMix64(seed: seed ^ 0xC0_4BA5)
        self.seed = seed
        let size = random.happens(rate: 0.005) ? 16 : random.element([2, 3, 3, 5, 5])
        peerCount = members ?? size
        isPaired = random.happens(rate: 0.5)
        (span, healing, end) = peerCount > 5 ? (6_000, 10_000, 20_000) : (5_000, 8_000, 17_000)
        conditions = Conditions(groupOf: peerCount, random: &random)
        // Taps continue after all faults have ended, because those taps must be confirmed, too.
        taps = Self.taps(peerCount: peerCount, span: healing + 1_000, random: &random)
        faults = []
        self.stores = stores
        setting = .membership
        if stores == .faulty {
            conditions.refusedCommit = random.element([0, 0.005, 0.02])
            conditions.tornCommit = random.element([0, 0.005, 0.02])
        }
        let plan = drawPlan(random: &random)
        membership = plan
        drawFaults(plan, random: &random)
        faults.sort { $0.at < $1.at }
    }

    /// Draws a star: the other peers hear only the first one, which invites them.
    /// - Parameter members: The number of peers; nil lets the seed decide.
    init(hubOf members: Int?, seed: UInt64) {
        var random = SplitMix64(seed: seed ^ 0x0_4B8B)
        self.seed = seed
        peerCount = members ?? random.element([3, 4, 5])
        isPaired = true
        (span, healing, end) = (5_000, 8_000, 17_000)
        conditions = Conditions(groupOf: peerCount, random: &random)
        taps = Self.taps(peerCount: peerCount, span: healing + 1_000, random: &random)
        faults = Self.faults(peerCount: peerCount, span: span, random: &random)
        setting = .hub
        membership = MembershipPlan(founders: [0, 1, 2], lease: nil)
        for peer in stride(from: 3, to: peerCount, by: 1) {
            add(.invitation(by: 0), peer, at: 100 + random.below(span * 2 / 3))
        }
        if random.happens(rate: 0.5) {
            liar = .member(1)
            conditions.abandoned = [1]
            conditions.ownEventsMax = 400
            lies = (0..<(20 + random.below(60)))
                .map { _ in PlannedLie(at: random.below(healing), choice: random.next()) }.sorted { $0.at < $1.at }
        }
        faults.sort { $0.at < $1.at }
    }

    private func drawPlan(random: inout SplitMix64) -> MembershipPlan {
        var plan = MembershipPlan()
        let some = 2 + random.below(peerCount - 1)
        let size = random.happens(rate: 0.4) ? peerCount : some
        plan.founders = .drawn(isPaired ? size : 2, of: peerCount, &random)
        plan.hasProvenLinks = random.happens(rate: 0.5)
        plan.lease = peerCount > 5 ? 1_200 : random.element([400, 600, 600, 1_000])
        if peerCount > 2, random.happens(rate: 0.12) { plan.lease = nil }
        plan.pace = peerCount > 5 ? 3 : 1
        return plan
    }

    private mutating func drawFaults(_ plan: MembershipPlan, random: inout SplitMix64) {
        faults = Self.faults(peerCount: peerCount, span: span, random: &random)
        for peer in 0..<peerCount where !plan.founders.contains(peer) {
            add(.invitation(by: random.below(peerCount)), peer, at: 100 + random.below(span * 2 / 3))
        }
        for _ in 0..<random.element([0, 1, 1, 2]) { partitionForLong(random: &random) }
        if random.happens(rate: 0.06) {
            add(PlannedFault(at: 1_000 + random.below(span), duration: 0, peer: random.below(peerCount), fault: .end))
        }
        // Without a lease no member is removed, so the group waits for a peer that never returns.
        guard plan.lease != nil else { return stopOneForGood(random: &random) }
        for _ in 0..<random.element([0, 0, 1, 1, 2]) {
            add(.primaryLost(random.element(MembershipFault.Loss.allCases)), 0, at: 500 + random.below(span))
        }
        loseStores(random: &random)
        if random.happens(rate: 0.2) { add(.leaving, random.below(peerCount), at: 500 + random.below(span)) }
        if peerCount == 2 { removeOtherPeer(random: &random) }
        abandonSome(random: &random)
    }

    private mutating func add(_ fault: PlannedFault) { faults.append(fault) }

    private mutating func add(_ fault: MembershipFault, _ peer: Int, at time: Int) {
        add(PlannedFault(at: time, duration: 0, peer: peer, fault: .membership(fault)))
    }

    /// Cuts off one peer, a minority, or half of the group for seconds.
    private mutating func partitionForLong(random: inout SplitMix64) {
        let size = random.element([1, 1, max(1, (peerCount - 1) / 2), peerCount / 2])
        let side = SmallSet.drawn(size, of: peerCount, &random)
        add(
            PlannedFault(
                at: 200 + random.below(span - 200), duration: 2_000 + random.below(4_000), peer: 0,
                fault: .partition(side: side, isOneWay: random.happens(rate: 0.15))))
    }

    private mutating func stopOneForGood(random: inout SplitMix64) {
        let peer = random.below(peerCount)
        // The others are a majority, so they can admit newcomers.
        guard random.happens(rate: 0.7), isPaired, membership?.founders.count ?? 0 > 2 else { return }
        conditions.abandoned = [peer]
        add(PlannedFault(at: 1_500 + random.below(span - 1_500), duration: end, peer: peer, fault: .stop))
    }

    /// Loses single stores now and then, or several at once.
    private mutating func loseStores(random: inout SplitMix64) {
        for _ in 0..<random.element([0, 0, 1, 1, 2]) {
            let at = random.below(span)
            let peer = random.below(peerCount)
            add(PlannedFault(at: at, duration: 0, peer: peer, fault: .loseStore))
            guard random.happens(rate: 0.3) else { continue }
            let other = (peer + 1 + random.below(peerCount - 1)) % peerCount
            let isAtOnce = random.happens(rate: 0.5)
            add(
                PlannedFault(at: at + (isAtOnce ? 0 : random.below(600)), duration: 0, peer: other, fault: .loseStore))
        }
    }

    /// Partitions a group of two, and lets the user of one side remove the other peer. Rarely, both users do that.
    private mutating func removeOtherPeer(random: inout SplitMix64) {
        guard random.happens(rate: 0.5) else { return }
        let (at, peer) = (500 + random.below(span - 1_500), random.below(2))
        add(
            PlannedFault(
                at: at, duration: 2_500 + random.below(2_500), peer: 0, fault: .partition(side: [0], isOneWay: false)))
        add(.goingOn, peer, at: at + 500 + random.below(1_000))
        if random.happens(rate: 0.25) { add(.goingOn, 1 - peer, at: at + 500 + random.below(1_500)) }
    }

    /// Abandons a minority of the peers. Each of them stops, or continues where no other peer hears it.
    private mutating func abandonSome(random: inout SplitMix64) {
        guard random.happens(rate: peerCount == 2 ? 0.1 : 0.4) else { return }
        let size = 1 + random.below(max(1, (peerCount - 1) / 2))
        conditions.abandoned = .drawn(size, of: peerCount, &random)
        for peer in 0..<peerCount where conditions.abandoned.contains(peer) && random.happens(rate: 0.6) {
            add(PlannedFault(at: 500 + random.below(span - 500), duration: end, peer: peer, fault: .stop))
        }
    }
}

extension Conditions {
    fileprivate init(groupOf peerCount: Int, random: inout SplitMix64) {
        self.init(peerCount: peerCount, random: &random)
        // A peer notices another's absence only at an exchange. Events that wait until then need space.
        ownEventsMax = random.element([40, 400])
        stateOnly = random.element([0, 0, 0.05])
        abandoned = []
    }
}
