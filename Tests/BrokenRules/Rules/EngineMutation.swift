/// A deliberate mistake in one line of one rule of the engine. A simulation that doesn't detect it proves nothing.
/// Docs/Internals/Convergence.md defines the terms.
public enum EngineMutation: String, Mutation {
    /// Confirms below the cut without acknowledgements.
    case confirmAtCut
    /// Uses the engine's own clock as the cut.
    case eagerCut
    /// Counts a promise before the source's events that it covers are held.
    case promiseUnheld
    /// Seals at any first message.
    case sealOnSight
    /// Moves the base past the confirmed position, up to the cut.
    case foldAtCut
    /// Makes directives that ask to send but not to persist.
    case sendBeforePersist
    /// Restores the log but not the clock at a relaunch.
    case clockForgotten
    /// Sends a promise above the persisted lease.
    case promiseUnpersisted
    /// Drops own provisional events when adopting a copy.
    case adoptLoses
    /// Generates new event IDs for reissued events.
    case reissueNewIDs
    /// Keeps a newcomer's stamps from before it joined.
    case keepStamps
    /// Takes over another member's vector instead of deriving it from the events that are held.
    case copyVector
    /// Makes a state-only snapshot the base.
    case snapshotAsBase
    /// Skips the policy for local events.
    case policyRemoteOnly
    /// Keeps the policy's first decision.
    case policyFrozen
    /// Applies a late event at the end.
    case noReplay
    /// Lets an unsealed founder replace without a join floor.
    case floorlessReplace
    /// Replaces a source at the first sight of an unknown incarnation.
    case noToken
    /// Admits events of a closed source.
    case lateOld
    /// Lets the peer with the higher ID found a group as well.
    case bothFound
    /// Drops the oldest own event at the bound.
    case silentDrop
    /// Reissues without checking IDs.
    case reissueCovered
    /// Counts a buffered event as held.
    case gapHeld
    /// Doesn't answer range requests.
    case rangeIgnored
    /// Confirms after a single acknowledgement.
    case confirmByAny
    /// Orders equal milliseconds by arrival.
    case orderByArrival
    /// Doesn't let the clock observe remote stamps.
    case clockDeaf
    /// Accepts a peer's numbers without bounds.
    case unboundedNumbers
    /// Counts statements of peers that aren't members.
    case strangersHeard
    /// Lets the clock follow every stamp that isn't rejected.
    case anyStamp
    /// Never makes a snapshot the base of an engine whose caller stores nothing.
    case baseRefused
    /// Assumes that the last snapshot still carries the shown state, although that state has gained events since.
    case carriedOnce
    /// Omits the tags that name the incarnations in a snapshot's vector.
    case incarnationsOmitted
    /// Reports an event that ends a peer's shown state as a duplicate.
    case duplicateWhenShown
    /// Drops the shown state after a relaunch, although the engine doesn't hold its events.
    case relaunchForgets
    /// Lets a sealed engine fold unconfirmed events if its caller uses only the reference API.
    case foldsReference
    /// Never forgets earlier incarnations of a peer.
    case sourcesKept
    /// Keeps gaps in sources that aren't members.
    case deadGapKept
    /// Confirms events while earlier events of the same batch have no positions yet.
    case confirmWhileGathering
    /// Keeps events that arrived together in the order of arrival.
    case gatherUnsorted
    /// Ignores a member's report that the session has ended.
    case endUnheard
    /// Inserts a late event but doesn't reduce the later ones again.
    case mergeKeepsReduced
    /// Appends pieces of another copy to those already received.
    case copyOfAnother
    /// Lets a frozen member continue to promise.
    case noFreeze
    /// Counts statements from members in a later view.
    case newerViewCounts
    /// Lets a single member decide a view.
    case minorityDecides
    /// Proposes without looking at earlier accepted proposals.
    case forgetsAccepted
    /// Ends the quarantine at a higher ballot.
    case quarantineLifted
    /// Accepts events of members that are about to be closed.
    case noQuarantine
    /// Closes a member at the proposer's position, without the others' positions.
    case unequalClose
    /// Closes a member without answers from all remaining members.
    case closeWithoutAll
    /// Accepts events of a closed member.
    case closedHeard
    /// Accepts events relayed by a member that is about to be closed.
    case relayByQuarantined
    /// Forgets promises and accepted proposals for the next view in a crash.
    case voteUnpersisted
    /// Reissues other members' events after a return, too.
    case reissueByOthers
    /// Installs an earlier view.
    case viewGoesBack
    /// Rejects relayed events.
    case relayRefused
    /// Doesn't tell a removed member that it is fenced.
    case fenceUnheard
    /// Doesn't compare members' state digests.
    case statesUncompared
    /// Reduces an own event as the app passed it, not as decoded from its bytes.
    case reducesOriginal
    /// Keeps the last member in its group, whatever other group exists.
    case loneStays
    /// Uses the wall clock, which a user can change, for a session.
    case wallClockCounts
    /// Lets a single device of the user make a group yield to another.
    case ownUncounted
    /// Forgets where an event was first written when it is reissued.
    case originForgotten
    /// Accepts an addition on one member's report.
    case additionOnHearsay
    /// Accepts a record in which a member is both open and closed.
    case malformedMembership
    /// Voids events of a reachable member on another member's report.
    case voidByHearsay
    /// Lets a member that has accepted an addition still wait for reports of it.
    case acceptedUncounted
    /// Lets a member propose although it hears no majority.
    case deafProposes
    /// Keeps the tokens of other sources when founding.
    case tokensKept
    /// Shows an event that the log rejects on top of a peer's state.
    case refusedShown
    /// Counts a round trip that began before a clock was set.
    case lateRoundTrip
}
