/// Rules that tests break, to see that it is found out (requirements, part 5, L). No product can.
enum KeyMutation: String, CaseIterable, Sendable {
    case oneWay, noTombstones, arrivalOrder, sameNonce, asksAlways, largeBlocks, silentErrors, manualIsAutomatic
    case onlyAppAsks, lastKeyOnly, securedLeaves
    case noAnswer, noRetry, noWants
    case forgetsPeers, forgetsPieces
}

extension StorageRouter {
    package static var canBreakRules: Bool { KeyReplica.areMutationsCompiledIn }

    /// To be called before `attach`.
    package func breakRule(_ name: String) { replica.breakRule(KeyMutation(rawValue: name)) }
}
