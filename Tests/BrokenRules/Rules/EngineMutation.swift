/// A deliberate mistake at one line of one rule. A simulation that does not find it proves nothing.
public enum EngineMutation: String, Mutation {
    /// Confirm below the cut without acknowledgements.
    case confirmAtCut
    /// The cut is the own clock.
    case eagerCut
    /// A promise counts before 1…n are held.
    case promiseUnheld
    /// Any first message seals.
    case sealOnSight
    /// The base passes the confirmed position up to the cut.
    case foldAtCut
    /// Directives ask to send but not to persist.
    case sendBeforePersist
    /// A relaunch restores the log but not the clock.
    case clockForgotten
    /// A promise above the persisted lease is sent.
    case promiseUnpersisted
    /// Adopting drops own provisional events.
    case adoptLoses
    /// Re-issue draws new event ids.
    case reissueNewIDs
    /// A newcomer keeps the stamps from before it joined.
    case keepStamps
    /// A remote vector is taken over.
    case copyVector
    /// A state-only snapshot becomes the base.
    case snapshotAsBase
    /// The policy skips local events.
    case policyRemoteOnly
    /// The policy's first decision is kept.
    case policyFrozen
    /// A late event applies at the end.
    case noReplay
    /// An unsealed founder replaces without a join floor.
    case floorlessReplace
    /// Replace on sight of an unknown incarnation.
    case noToken
    /// Events of a closed source still enter.
    case lateOld
    /// The higher peer id founds too.
    case bothFound
    /// At the bound the oldest own event is dropped.
    case silentDrop
    /// Re-issue without looking at ids.
    case reissueCovered
    /// A buffered event counts as held.
    case gapHeld
    /// Range requests are not answered.
    case rangeIgnored
    /// One acknowledgement is enough to confirm.
    case confirmByAny
    /// Equal milliseconds keep the order of arrival.
    case orderByArrival
    /// The clock does not observe remote stamps.
    case clockDeaf
    /// A peer's numbers are taken as they come.
    case unboundedNumbers
    /// Who is no member has a say.
    case strangersHeard
    /// The clock follows every stamp that is not refused.
    case anyStamp
    /// An engine whose caller keeps nothing never makes a snapshot its base.
    case baseRefused
    /// A state in which more has come since its snapshot still counts as in that snapshot.
    case carriedOnce
    /// A snapshot doesn't say which lives it counts.
    case livesUntold
    /// An event that ends a peer's shown state is a duplicate.
    case duplicateWhenShown
    /// A shown state goes although its events are not held.
    case relaunchForgets
    /// A group folds what is unconfirmed when nothing ticks.
    case foldsReference
    /// Earlier lives of a peer are never forgotten.
    case sourcesKept
    /// A gap of who is no member stays missing.
    case deadGapKept
    /// What is settled is confirmed while events wait for their places before it.
    case confirmWhileGathering
    /// Events that came together stand in the order in which they came.
    case gatherUnsorted
    /// A member's word that the session has ended is not taken.
    case endUnheard
    /// What came late has its place, and what had been reduced after it stays as it was.
    case mergeKeepsReduced
    /// Pieces of another copy are put behind those that have come.
    case copyOfAnother
    /// Promises go on between two views.
    case noFreeze
    /// What a member in a later view says counts in an earlier one.
    case newerViewCounts
    /// One member is enough to decide on a view.
    case minorityDecides
    /// A proposer does not look at what was accepted before.
    case forgetsAccepted
    /// A higher ballot ends the quarantine.
    case quarantineLifted
    /// Events of those to be closed go on to be taken.
    case noQuarantine
    /// A member is closed where the proposer stands, wherever the others do.
    case unequalClose
    /// A member is closed without the answers of all that stay.
    case closeWithoutAll
    /// Events of a member that was closed are taken.
    case closedHeard
    /// Events are taken from the hands of one that is to be closed.
    case relayByQuarantined
    /// A crash forgets what was promised and accepted between two views.
    case voteUnpersisted
    /// Who comes back issues again what others wrote, too.
    case reissueByOthers
    /// An earlier view is installed.
    case viewGoesBack
    /// Nothing is taken that others hand on.
    case relayRefused
    /// Who was let go does not hear it.
    case fenceUnheard
    /// Members' state digests are not compared.
    case statesUncompared
    /// A session reduces an own event as it was given, not as its bytes say it.
    case reducesOriginal
    /// The last member of a group stays in it, whatever other group there is.
    case loneStays
    /// A session goes by the wall clock, which may be set.
    case wallClockCounts
    /// The word of one of the user's own devices makes a group give way to another.
    case ownUncounted
    /// Where an event was first written does not count when it is issued once more.
    case originForgotten
    /// One member's report of an addition is enough.
    case additionOnHearsay
    /// A record of members is taken in which one is open and closed.
    case malformedMembership
    /// One member's word makes the events of another one void that is in reach.
    case voidByHearsay
    /// A member that has accepted an addition still waits for reports of it.
    case acceptedUncounted
    /// A member that hears no majority proposes in its turn.
    case deafProposes
    /// Founding keeps the tokens of other sources.
    case tokensKept
    /// An event that the log refuses is shown on top of a peer's state.
    case refusedShown
    /// A round trip from before a clock was set counts.
    case lateRoundTrip
}
