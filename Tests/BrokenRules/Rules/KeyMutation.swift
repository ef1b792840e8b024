/// A deliberate mistake in a rule of key sync; each case is the fault of that name (requirements, part 5, L).
public enum KeyMutation: String, Mutation {
    case oneWay, noTombstones, arrivalOrder, sameNonce, asksAlways, largeBlocks, silentErrors, manualIsAutomatic
    case onlyAppAsks, lastKeyOnly, securedLeaves
    case noAnswer, noRetry, noWants
    case forgetsPeers, forgetsPieces
    case noRecord, recordTooSoon, recordUnasked, keepsAuthor, marksAreKept
    case equalSetsCount, defaultIsStrong, looseKeysWait, repeatsUndelivered
}
