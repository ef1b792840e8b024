// Who is fenced, and who comes back.
extension CompanyMember {
    func mayLearn(_ record: CompanyView) -> Bool {
        guard record != view else { return false }
        return record.supersedes(view) || rules.breaks(.olderDecree) && record.number < view.number
    }

    /// Rounds 5 and 6. A closed source ends where the record says. One that is not in it goes on under another name, and so
    /// does one whose own view the record does not follow: what it has confirmed since then is not in the record.
    mutating func install(_ record: CompanyView) throws(CompanyViolation) {
        let follows = record.follows(view) || rules.breaks(.otherSideInstalled) || rules.breaks(.olderDecree)
        view = record
        ballot = nil
        frozen = nil
        quarantined = []
        accepted = nil
        guard follows, record.open.contains(source) else { return takeNextName() }
        for closed in record.closed where held[closed] > record.finals[closed] && !rules.breaks(.closedHeard) {
            held[closed] = record.finals[closed]
            if confirmed[closed] > held[closed] {
                throw CompanyViolation("P1: \(source) has confirmed \(closed)#\(confirmed[closed]) beyond its end")
            }
        }
    }

    mutating func takeNextName() {
        source += deviceCount
        isWaiting = true
    }

    /// Nothing is kept but the device. What it wrote as another source is lost with the store, or with others.
    mutating func loseStore() {
        var reborn = CompanyMember(device: source, of: deviceCount, founders: [], rules: rules)
        reborn.taps = taps
        reborn.takeNextName()
        self = reborn
    }

    /// What a newcomer starts from. The view must have it open, and closed what the device was before.
    func copy(for newcomer: Int) -> CompanyCopy? {
        guard !isWaiting, view.open.contains(newcomer) else { return nil }
        return CompanyCopy(view: view, held: held, confirmed: confirmed, lastKey: lastKey)
    }

    /// Takes a copy over and issues again what it lacks of this device's own events, under the new name, with kept ids.
    mutating func adopt(_ copy: CompanyCopy, _ events: inout AuthoredEvents) {
        let own = uncovered(by: copy, events)
        var stamp = max(clock, copy.view.floors[source])
        for author in copy.view.open.union(copy.view.closed) where copy.held[author] > 0 {
            stamp = max(stamp, events.key(author, copy.held[author]).stamp)
        }
        view = copy.view
        held = copy.held
        confirmed = copy.confirmed
        lastKey = copy.lastKey
        isWaiting = false
        pending = []
        clock = rules.breaks(.floorless) ? clock : stamp
        var kept = 0
        for event in own {
            kept = max(kept + 1, event.stamp)
            if !rules.breaks(.floorless) { clock += 1 }
            author(
                AuthoredEvents.Event(id: event.id, stamp: rules.breaks(.floorless) ? kept : clock), &events)
        }
    }

    /// Events of the device's earlier lives beyond their ends, or of lives that the view has never heard of, then what was
    /// tapped in between.
    private func uncovered(by copy: CompanyCopy, _ events: AuthoredEvents) -> [AuthoredEvents.Event] {
        var lives = SmallSet(stride(from: device, to: source, by: deviceCount))
        if rules.breaks(.reissueByOthers) { lives = lives.union(copy.view.closed) }
        var ids = Set<Int>()
        for author in copy.view.open.union(copy.view.closed) where copy.held[author] > 0 {
            for sequence in 1...copy.held[author] { ids.insert(events[author, sequence].id) }
        }
        var own: [(key: EventKey, event: AuthoredEvents.Event)] = []
        for life in lives where held[life] > 0 {
            for sequence in 1...held[life] where !copy.view.covers(life, sequence) {
                let event = events[life, sequence]
                if !ids.contains(event.id) { own.append((events.key(life, sequence), event)) }
            }
        }
        own.sort { $0.key < $1.key }
        return own.map(\.event) + pending
    }
}
