/// One device in the model of views: all that it persists, and what it may do next. Pure values; the caller delivers,
/// persists and crashes.
///
/// Words as in Docs/Convergence.md. The member's rules are in `+Voting` (how a view follows another one), `+Confirmation`
/// (what becomes final) and `+Joining` (who is fenced, and who comes back).
struct CompanyMember: Hashable {
    let rules: CompanyRules
    /// How many there are in all lives: sources of one device differ by multiples of it.
    let deviceCount: Int

    var source: Int
    /// It belongs to no view and waits for a copy; what it held before is kept until then.
    var isWaiting: Bool
    var view: CompanyView
    /// Of each source, the dense prefix. What it has itself authored is its own entry.
    var held = Counts()
    var confirmed = Counts()
    /// The place of the last confirmed event.
    var lastKey: EventKey?
    /// The highest stamp seen or promised.
    var clock = 0
    /// What was tapped while it waited.
    var pending: [AuthoredEvents.Event] = []
    /// How often the device was tapped in all its lives.
    var taps = 0

    // For the change to the next view.
    var ballot: Ballot?
    var frozen: AuthorPromise?
    var quarantined: SmallSet = []
    var accepted: Vote?

    /// A member of the first view, or a device that waits to join.
    init(device: Int, of deviceCount: Int, founders: SmallSet, rules: CompanyRules) {
        self.rules = rules
        self.deviceCount = deviceCount
        source = device
        isWaiting = !founders.contains(device)
        view = CompanyView(open: founders)
    }

    var device: Int { source % deviceCount }

    /// Whether both are lives of one device.
    func isSameDevice(_ one: Int, _ other: Int) -> Bool { one % deviceCount == other % deviceCount }

    var promise: AuthorPromise {
        frozen ?? AuthorPromise(sequence: held[source], stamp: clock)
    }

    /// What it says in every control. To be called once this state is persisted.
    var statement: CompanyStatement {
        CompanyStatement(
            source: source, isWaiting: isWaiting, view: view, ballot: ballot, quarantined: quarantined,
            accepted: accepted, held: held, promise: promise)
    }

    func mix(into fingerprint: inout Fingerprint) {
        fingerprint.mix(source << 1 | (isWaiting ? 1 : 0))
        view.mix(into: &fingerprint)
        held.mix(into: &fingerprint)
        confirmed.mix(into: &fingerprint)
        lastKey?.mix(into: &fingerprint)
        fingerprint.mix(clock << 32 | taps << 16 | pending.count)
        for event in pending { fingerprint.mix(event.id << 32 | event.stamp) }
        ballot?.mix(into: &fingerprint)
        if let frozen { fingerprint.mix(1 << 60 | frozen.sequence << 32 | frozen.stamp) }
        fingerprint.mix(quarantined.bits)
        accepted?.mix(into: &fingerprint)
    }
}

/// What must never happen, and happened.
struct CompanyViolation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

// MARK: - Events

extension CompanyMember {
    /// P5: at any time.
    mutating func tap(_ events: inout AuthoredEvents) -> Int {
        let id = taps * deviceCount + device
        taps += 1
        clock += 1
        if isWaiting {
            pending.append(AuthoredEvents.Event(id: id, stamp: clock))
        } else {
            author(AuthoredEvents.Event(id: id, stamp: clock), &events)
        }
        return id
    }

    mutating func author(_ event: AuthoredEvents.Event, _ events: inout AuthoredEvents) {
        held[source] += 1
        events.author(event, by: source, as: held[source])
    }

    /// The next event of a source, from whoever holds it: authors and members alike.
    func accepts(_ author: Int, _ sequence: Int, from teller: Int) -> Bool {
        guard !isWaiting, author != source, sequence == held[author] + 1 else { return false }
        if rules.breaks(.closedHeard), view.closed.contains(author) { return true }
        guard view.open.contains(teller), view.covers(author, sequence) else { return false }
        guard quarantined.contains(author), !rules.breaks(.noQuarantine) else { return true }
        return teller != author && (!quarantined.contains(teller) || rules.breaks(.relayByQuarantined))
    }

    mutating func receive(_ author: Int, _ sequence: Int, _ events: AuthoredEvents) throws(CompanyViolation) {
        let key = events.key(author, sequence)
        if let lastKey, key < lastKey {
            throw CompanyViolation("P1: \(source) has confirmed beyond the place of \(author)#\(sequence)")
        }
        held[author] = sequence
        clock = max(clock, key.stamp)
    }
}
