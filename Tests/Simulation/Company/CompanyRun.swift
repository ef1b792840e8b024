import MeshBase

/// One seed of a `CompanySimulation`: devices that tap, talk over a bad network, crash, lose their stores, and vote.
struct CompanyRun {
    struct Device {
        var member: CompanyMember
        var disk: CompanyMember
        /// Heard since the last launch.
        var facts: CompanyFacts
        /// What the app sees: all that is held, and what the quarantine keeps from being acknowledged.
        var shown = Counts()
        var isAway = false
        /// The round in which a source was last heard.
        var heard: [Int: Int] = [:]
        var launched = 0
        /// The round in which its ballot, or somebody else's, was promised.
        var voted = 0
    }

    struct Message {
        var sender: Int
        var receiver: Int
        var statement: CompanyStatement
        var events: [(author: Int, sequences: ClosedRange<Int>)]
        var copy: CompanyCopy?
    }

    /// How bad it is, drawn from the seed.
    struct Weather {
        var loss: Double
        var doubling: Double
        var crashes: Double
        var storeLosses: Double
        var absences: Double
        var partitions: Double
        var userGoesOn: Double
        /// Rounds without a word until a member is suspected.
        var patience: Int
        /// Whether what a control promises moves the clock of who hears it.
        var clocksFollow: Bool
    }

    var random: SplitMix64
    let memberCount: Int
    let deviceCount: Int
    var weather: Weather
    var devices: [Device] = []
    var network: [Message] = []
    var severed: Set<[Int]> = []
    var round = 0
    var events = AuthoredEvents()
    var ledger: CompanyLedger
    var accepted: Set<Int> = []
    var lost: Set<Int> = []
    private(set) var counts: [String: Int] = [:]
    var trace: ((String) -> Void)?

    init(seed: UInt64, members: Int, breaking mutations: Set<CompanyMutation>) {
        random = SplitMix64(seed: seed)
        memberCount = members
        let newcomers = members == 16 ? 0 : random.draw(0...2)
        deviceCount = members + newcomers
        weather = Weather(drawnBy: &random)
        let founders = SmallSet(0..<members)
        ledger = CompanyLedger(first: CompanyView(open: founders))
        for device in 0..<deviceCount {
            let member = CompanyMember(
                device: device, of: deviceCount, founders: founders, rules: CompanyRules(breaking: mutations))
            devices.append(Device(member: member, disk: member, facts: CompanyFacts(for: member.rules)))
        }
    }

    mutating func play() throws(CompanyViolation) {
        let rounds = memberCount == 16 ? 60 : random.draw(40...160)
        while round < rounds { try playRound() }
        try calm()
    }

    mutating func count(_ fault: String) { counts[fault, default: 0] += 1 }

    mutating func happens(_ probability: Double) -> Bool {
        random.happens(rate: probability)
    }

    // MARK: - Steps

    private mutating func playRound() throws(CompanyViolation) {
        round += 1
        changeWeather()
        for _ in 0..<deviceCount {
            let device = random.draw(0...deviceCount - 1)
            if happens(0.15) { try tap(device) }
            if devices[device].isAway { continue }
            if happens(0.02) { devices[device].member.clock += random.draw(1...6) }
            try act(device)
            for _ in 0..<random.draw(0...2 * deviceCount) { try deliver() }
        }
    }

    private mutating func changeWeather() {
        if happens(weather.partitions) {
            count("partition")
            severed = []
            let side = (0..<deviceCount).filter { _ in random.happens(rate: 0.5) }
            let isOneWay = happens(0.3)
            for one in side {
                for other in 0..<deviceCount where !side.contains(other) {
                    severed.insert([one, other])
                    if !isOneWay { severed.insert([other, one]) }
                }
            }
        } else if happens(0.15) {
            severed = []
        }
        for device in devices.indices {
            if happens(weather.absences) {
                devices[device].isAway = true
                count("away")
            }
            if devices[device].isAway, happens(0.04) { devices[device].isAway = false }
            if happens(weather.storeLosses) { loseStore(device) }
            if happens(weather.crashes) { crash(device) }
        }
    }

    mutating func tap(_ device: Int) throws(CompanyViolation) {
        let id = devices[device].member.tap(&events)
        if try persist(device) { accepted.insert(id) }
    }

    /// What one device does when its timer fires.
    mutating func act(_ device: Int) throws(CompanyViolation) {
        try vote(device)
        try confirm(device)
        for peer in devices.indices where peer != device { talk(device, to: peer) }
    }

    // MARK: - Stores

    /// - Returns: whether it was; otherwise the device crashed before.
    @discardableResult
    mutating func persist(_ device: Int) throws(CompanyViolation) -> Bool {
        if happens(weather.crashes) {
            crash(device)
            return false
        }
        devices[device].disk = devices[device].member
        devices[device].shown.formMaximum(devices[device].member.held)
        devices[device].facts.hear(devices[device].member.statement)
        return true
    }

    /// In another view others are open, and some end earlier.
    mutating func trimShown(_ device: Int) {
        let member = devices[device].member
        var shown = member.held
        for author in member.view.open.union(member.view.closed) {
            let end = member.view.open.contains(author) ? .max : member.view.finals[author]
            shown[author] = max(shown[author], min(devices[device].shown[author], end))
        }
        devices[device].shown = shown
    }

    private mutating func crash(_ device: Int) {
        count("crash")
        devices[device].disk.taps = devices[device].member.taps
        devices[device].disk.crash()
        relaunch(device)
    }

    private mutating func relaunch(_ device: Int) {
        devices[device].member = devices[device].disk
        devices[device].facts = CompanyFacts(for: devices[device].member.rules)
        devices[device].facts.hear(devices[device].member.statement)
        devices[device].shown = devices[device].member.held
        devices[device].heard = [:]
        devices[device].launched = round
        trace?("\(round): \(devices[device].member.source) relaunches")
    }

    /// Only while somebody else is in the newest view: what nobody has cannot be asked for.
    private mutating func loseStore(_ device: Int) {
        let member = devices[device].member
        guard !isLastLife(member.source) else { return }
        let survives = devices.indices.contains {
            $0 != device && !devices[$0].member.isWaiting && devices[$0].member.view == ledger.newest
        }
        guard survives || member.isWaiting else { return }
        count("lost store")
        trace?("\(round): \(member.source) loses its store")
        for id in accepted where id % deviceCount == device && !ledger.isConfirmed(id) { lost.insert(id) }
        devices[device].member.loseStore()
        devices[device].disk = devices[device].member
        relaunch(device)
    }

    /// Sources are 64 at most, so that a device which has used up its names is left alone.
    func isLastLife(_ source: Int) -> Bool { source + deviceCount >= 64 }
}

extension CompanyRun.Weather {
    init(drawnBy random: inout SplitMix64) {
        func draw(_ values: [Double], _ random: inout SplitMix64) -> Double {
            values[random.draw(0...values.count - 1)]
        }
        loss = draw([0, 0.1, 0.4], &random)
        doubling = draw([0, 0.1, 0.3], &random)
        crashes = draw([0, 0, 0.005, 0.02], &random)
        storeLosses = draw([0, 0, 0.003], &random)
        absences = draw([0, 0.005, 0.02], &random)
        partitions = draw([0, 0.03, 0.1], &random)
        userGoesOn = draw([0, 0.02, 0.1], &random)
        patience = random.draw(2...8)
        clocksFollow = random.happens(rate: 0.5)
    }
}

extension SplitMix64 {
    mutating func draw(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(upTo(UInt64(range.upperBound - range.lowerBound)))
    }
}
