/// Rules that tests break, to see that it is found out (requirements, part 5, L). No product can.
enum KeyMutation: String, CaseIterable, Sendable {
    case oneWay, noTombstones, arrivalOrder, sameNonce, asksAlways, largeBlocks, silentErrors, manualIsAutomatic
    case onlyAppAsks, lastKeyOnly, securedLeaves
    case noAnswer, noRetry, noWants
}
