/// Rules that tests break, to see that it is found out (requirements, part 5, L). No product can.
enum KeyMutation: String, CaseIterable, Sendable {
    case oneWay, noTombstones, arrivalOrder, sameNonce, asksAlways, largeBlocks, silentErrors, manualIsAutomatic
    case onlyAppAsks, lastKeyOnly, securedLeaves
    case noAnswer, noRetry, noWants
    case forgetsPeers, forgetsPieces
    case noRecord, recordTooSoon, recordUnasked, keepsAuthor, marksAreKept
    case equalSetsCount, defaultIsStrong, looseKeysWait, repeatsUndelivered
}

extension StorageRouter {
    package static var canBreakRules: Bool { KeyReplica.areMutationsCompiledIn }

    /// For simulations, in which fewer keys are removed than a router remembers. To be called before `attach`.
    package func forgetRemovals(beyond count: Int) { replica.removedMax = count }

    /// To be called before `attach`.
    package func breakRule(_ name: String) { replica.breakRule(KeyMutation(rawValue: name)) }
}
