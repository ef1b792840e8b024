// What becomes final: at or below the cut, acknowledged by all open members, and persisted before it is acted on.
extension CompanyMember {
    /// The first event, in the order, that is not confirmed.
    func nextToConfirm(_ events: AuthoredEvents) -> (author: Int, key: EventKey)? {
        var next: (author: Int, key: EventKey)?
        for author in view.open.union(view.closed) where held[author] > confirmed[author] {
            let key = events.key(author, confirmed[author] + 1)
            if next.map({ key < $0.key }) ?? true { next = (author, key) }
        }
        return next
    }

    /// Promises of a newer view do not count: since then others may have joined, of whose events this member knows nothing.
    func isConfirmed(_ author: Int, _ key: EventKey, by facts: CompanyFacts) -> Bool {
        guard !isWaiting else { return false }
        let oldest = rules.breaks(.olderViewIgnored) ? view.number : 0
        let promises = oldest...(rules.breaks(.newerViewCounts) ? Int.max : view.number)
        let holdings = rules.breaks(.newerHoldingCounts) ? oldest...Int.max : promises
        for member in view.open {
            if member == source {
                if promise.stamp < key.stamp { return false }
                continue
            }
            guard facts.isHeld(author, confirmed[author] + 1, by: member, in: holdings) else { return false }
            if view.floors[member] >= key.stamp { continue }
            let stamp = facts.promisedStamp(of: member, holding: held[member], in: promises)
            guard stamp >= key.stamp else { return false }
        }
        return true
    }

    /// Confirms one event if that can be.
    ///
    /// - Returns: its id.
    mutating func confirmNext(_ facts: CompanyFacts, _ events: AuthoredEvents) -> Int? {
        guard let (author, key) = nextToConfirm(events), isConfirmed(author, key, by: facts) else { return nil }
        confirmed[author] += 1
        lastKey = key
        return events[author, confirmed[author]].id
    }
}
