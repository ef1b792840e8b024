/// A deliberate mistake in a rule of key sync. Tests/Features/KeySyncTests detects them. `KeyWatchSimulation` detects
/// some, and says why it misses others.
public enum KeyMutation: String, Mutation {
    case oneWay, noTombstones, arrivalOrder, sameNonce, asksAlways, largeBlocks, silentErrors, manualIsAutomatic
    case onlyAppAsks, lastKeyOnly, securedLeaves
    case noAnswer, noRetry, noWants
    case forgetsPeers, forgetsPieces
    case noRecord, recordTooSoon, recordUnasked, keepsAuthor, marksAreKept
    case equalSetsCount, defaultIsStrong, looseKeysWait, repeatsUndelivered
}
