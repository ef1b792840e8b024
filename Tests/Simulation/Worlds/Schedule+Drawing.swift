import MeshBase

extension Schedule {
    /// Draws the schedule of a seed.
    /// - Parameter members: The number of peers; nil lets the seed decide.
    public init(
        seed: UInt64, stores: SimulatedStores = .perfect, setting: SimulationSetting = .ordinary, members: Int? = nil
    ) {
        if setting == .membership {
            self.init(groupOf: members, seed: seed, stores: stores)
        } else if setting == .hub {
            self.init(hubOf: members, seed: seed)
        } else {
            self.init(seed: seed, stores: stores, of: setting, peerCount: members)
        }
    }

    /// Draws a schedule of the settings without membership changes. Every fifth seed has three to five peers unless a
    /// count is given. With more than two peers, no store is lost.
    private init(seed: UInt64, stores: SimulatedStores, of setting: SimulationSetting, peerCount count: Int?) {
        var random = SplitMix64(seed: seed)
        self.seed = seed
        peerCount = count ?? (seed % 5 == 0 ? 3 + Int(seed / 5 % 3) : 2)
        let isPaired = peerCount > 2 || random.happens(rate: 0.3)
        let hasNewLife = stores == .faulty && peerCount == 2 && [0, 3].contains(seed % 8)
        // Peers of the setting `late` are paired. An engine without a group folds at its bound, and a peer that it met
        // only later couldn't get the folded events.
        self.isPaired = (isPaired && !hasNewLife) || setting == .late
        conditions = Conditions(peerCount: peerCount, random: &random)
        taps = Self.taps(peerCount: peerCount, span: span, random: &random)
        faults = Self.faults(peerCount: peerCount, span: span, random: &random)
        if peerCount == 2 { faults += Self.storeFaults(span: span, random: &random) }
        faults.sort { $0.at < $1.at }
        self.stores = stores
        if stores == .faulty { addCommitFaults(random: &random) }
        if hasNewLife { addSecondIncarnation(random: &random) }
        if seed % 16 == 5 {
            faults.append(
                PlannedFault(at: 1_000 + random.below(2_000), duration: 0, peer: random.below(peerCount), fault: .end))
        }
        if stores == .perfect, !self.isPaired, seed % 8 == 6 { loseStoreAfterJoining(random: &random) }
        self.setting = setting
        switch setting {
        case .ordinary, .incarnations, .membership, .hub: break
        case .liars: addLiar(random: &random)
        case .late: delayTicks(random: &random)
        case .original: useReferenceCalls(random: &random)
        }
    }

    private mutating func addLiar(random: inout SplitMix64) {
        if random.happens(rate: 0.5) {
            liar = .stranger
        } else if peerCount > 2 {
            let member = random.below(peerCount)
            liar = .member(member)
            conditions.abandoned = [member]
        } else {
            liar = .partner(random.below(2))
        }
        // Space for events that a lying partner never acknowledges.
        conditions.ownEventsMax = 400
        lies = (0..<(20 + random.below(60)))
            .map { _ in PlannedLie(at: random.below(healing), choice: random.next()) }.sorted { $0.at < $1.at }
    }

    /// Makes logs reach their bound while no peer ticks. The bound is above 32, because a log can be folded only at a
    /// checkpoint and there is one every 32 events. Stores are neither lost nor restored: without controls, no peer
    /// would notice.
    private mutating func delayTicks(random: inout SplitMix64) {
        conditions.ownEventsMax = 40
        conditions.silence = random.element([400, 1_500, 2_800])
        faults.removeAll {
            switch $0.fault {
            case .loseStore, .restoreStore: true
            default: false
            }
        }
    }

    /// Imitates WatchConnectivity on good and bad days, with apps that are killed. Half of the seeds lose no message.
    private mutating func useReferenceCalls(random: inout SplitMix64) {
        var conditions = Conditions()
        conditions.latency = random.element([1, 5, 40])
        conditions.jitter = random.element([5, 30, 150])
        conditions.loss = random.element([0, 0, 0.01, 0.05])
        conditions.duplication = random.element([0, 0, 0.1])
        conditions.longTail = random.element([0, 0, 0.1, 0.4])
        conditions.skew = (0..<peerCount).map { _ in random.element([0, 0, -500, 800, -20_000]) }
        conditions.ownEventsMax = 400
        self.conditions = conditions
        taps = taps.map { Tap(at: $0.at, peer: $0.peer % 2, choice: $0.choice) }
        let kills = random.element([[], [700], [1_900], [500, 2_300], [300, 1_300, 2_300]])
        faults = kills.map {
            PlannedFault(
                at: $0 + random.below(400), duration: random.element([0, 0, 200, 1_500]), peer: random.below(2),
                fault: .crash)
        }
    }

    /// Lets commits fail. Commits that a store loses may have been acknowledged, so only one peer's store loses any and
    /// no store is lost.
    private mutating func addCommitFaults(random: inout SplitMix64) {
        conditions.refusedCommit = random.element([0, 0.005, 0.02])
        conditions.tornCommit = random.element([0, 0.005, 0.02])
        if peerCount == 2, !faults.contains(where: { $0.fault == .loseStore }) {
            conditions.lostSync = random.element([0, 0.5, 0.5])
            let restored = faults.first { if case .restoreStore = $0.fault { true } else { false } }
            conditions.forgetful = [restored?.peer ?? random.below(2)]
        }
        conditions.silentStart = random.element([0, 0, 200, 800])
    }

    /// Draws a newcomer with two incarnations. The future founder shows events of both before either makes a control,
    /// with gaps in those of the second. The events that the second incarnation reissues after joining have gaps too.
    private mutating func addSecondIncarnation(random: inout SplitMix64) {
        conditions.silentStart = 800
        conditions.loss = max(conditions.loss, 0.2)
        conditions.lostSync = 0
        faults.removeAll {
            switch $0.fault {
            case .loseStore, .restoreStore: true
            default: false
            }
        }
        faults.append(PlannedFault(at: 100 + random.below(400), duration: 0, peer: 1, fault: .loseStore))
        faults.sort { $0.at < $1.at }
    }

    /// Makes a peer lose its store after it has joined, and perhaps confirmed, but before the group's founder knows
    /// that it has joined. The peer's clock is behind, also in its next incarnation.
    private mutating func loseStoreAfterJoining(random: inout SplitMix64) {
        faults.removeAll {
            switch $0.fault {
            case .loseStore, .restoreStore, .partition: true
            default: false
            }
        }
        conditions.skew = [0, -500]
        let (mute, death) = (20 + random.below(200), 100 + random.below(300))
        faults += [
            PlannedFault(at: mute, duration: death, peer: 1, fault: .partition(side: [1], isOneWay: true)),
            PlannedFault(at: mute + death, duration: 0, peer: 1, fault: .loseStore),
        ]
        faults.sort { $0.at < $1.at }
    }

    static func taps(peerCount: Int, span: Int, random: inout SplitMix64) -> [Tap] {
        let isFrontLoaded = random.happens(rate: 0.5)
        var taps: [Tap] = []
        for _ in 0..<(80 + Int(random.upTo(40))) {
            let place = random.fraction() * (isFrontLoaded ? random.fraction() : 1)
            let at = Int(place * Double(span))
            let peer = random.below(peerCount)
            taps.append(Tap(at: at, peer: peer, choice: random.next()))
            // At random, another peer's user taps at the same moment.
            guard random.happens(rate: 0.1) else { continue }
            taps.append(Tap(at: at, peer: (peer + 1) % peerCount, choice: random.next()))
        }
        return taps.sorted { $0.at < $1.at }
    }

    static func faults(peerCount: Int, span: Int, random: inout SplitMix64) -> [PlannedFault] {
        var faults: [PlannedFault] = []
        for _ in 0..<(1 + random.below(7)) {
            let at = random.below(span)
            let duration = random.exponential(mean: 600)
            let peer = random.below(peerCount)
            faults.append(PlannedFault(at: at, duration: duration, peer: peer, fault: .drawn(peerCount, &random)))
        }
        return faults
    }

    /// Draws lost stores: one, both at once, one soon after the other, or one during a partition. If it draws none, it
    /// often draws a restored store.
    private static func storeFaults(span: Int, random: inout SplitMix64) -> [PlannedFault] {
        var faults: [PlannedFault] = []
        for _ in 0..<random.element([0, 1, 1, 2, 3]) {
            // At an early loss, the peers have hardly met, or only one of them knows that both have joined.
            let at = random.below(random.element([50, 500, span, span]))
            let peer = random.below(2)
            faults.append(PlannedFault(at: at, duration: 0, peer: peer, fault: .loseStore))
            switch random.fraction() {
            case ..<0.15:
                faults.append(PlannedFault(at: at, duration: 0, peer: 1 - peer, fault: .loseStore))
            case ..<0.45:
                faults.append(
                    PlannedFault(at: at + random.below(250), duration: 0, peer: 1 - peer, fault: .loseStore))
            case ..<0.65:
                let partition = Fault.partition(side: random.element([[0], [1]]), isOneWay: random.happens(rate: 0.5))
                faults.append(
                    PlannedFault(
                        at: max(0, at - random.below(400)), duration: 400 + random.below(600), peer: 0,
                        fault: partition))
            default: break
            }
        }
        if faults.isEmpty, random.happens(rate: 0.5) {
            let restored = Fault.restoreStore(age: 50 + random.below(750))
            faults.append(
                PlannedFault(at: 500 + random.below(span - 500), duration: 0, peer: random.below(2), fault: restored))
        }
        return faults
    }
}

extension Conditions {
    init(peerCount: Int, random: inout SplitMix64) {
        loss = random.element([0, 0.05, 0.2, 0.4])
        duplication = random.element([0, 0.1, 0.3])
        latency = random.element([0, 1, 5])
        jitter = random.element([5, 30, 150])
        longTail = random.element([0, 0.03, 0.1])
        crash = random.element([0, 0, 0.01, 0.03])
        skew = (0..<peerCount).map { _ in random.element([0, 0, -500, 800, -20_000, 60_000, 3_600_000]) }
        ownEventsMax = random.element([12, 40, 400])
        stateOnly = random.element([0, 0, 0.05, 0.2])
        if random.happens(rate: 0.2) { newer = [random.below(peerCount)] }
        if peerCount > 2, random.happens(rate: 0.5) { abandoned = [random.below(peerCount)] }
    }
}

extension Fault {
    static func drawn(_ peerCount: Int, _ random: inout SplitMix64) -> Fault {
        switch random.fraction() {
        case ..<0.4:
            let all = UInt64(1) << UInt64(peerCount) - 1
            return .partition(
                side: SmallSet(bits: 1 + random.upTo(all - 2)), isOneWay: random.happens(rate: 0.5))
        case ..<0.5: return .stop
        case ..<0.6: return .pause
        case ..<0.75: return .clockJump(random.element([-3_600_000, -40_000, 40_000, 3_600_000]))
        case ..<0.82: return .crash
        case ..<0.91: return .lie(isReachable: random.happens(rate: 0.5))
        default: return .slow(random.element([5, 20, 60]))
        }
    }
}

extension SplitMix64 {
    /// Returns a number in 0..<`limit`.
    mutating func below(_ limit: Int) -> Int { Int(upTo(UInt64(limit - 1))) }

    mutating func element<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// Consumes no random number if the rate is 0, so adding a new kind of fault doesn't change existing seeds.
    mutating func happens(ifAtAll rate: Double) -> Bool { rate > 0 && happens(rate: rate) }

    /// Returns an exponentially distributed number, exact to a few percent. The logarithm is the count of leading
    /// zeros, linear in between, so the result is the same on every machine.
    mutating func exponential(mean: Int) -> Int {
        let word = next()
        let zeros = word.leadingZeroBitCount
        let rest = Double(((word << UInt64(zeros)) << 1) >> 11) * 0x1p-53
        return Int((Double(zeros) + 1 - rest) * 0.693_147 * Double(mean))
    }
}
