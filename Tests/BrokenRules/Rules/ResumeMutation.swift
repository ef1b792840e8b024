/// A deliberate mistake in one rule of the resume client. It proves that the test of a fault can fail. Each ID, such as
/// K1, is in the names of the tests of that fault.
public enum ResumeMutation: String, Mutation {
    /// K1: Moves the cursor past a skipped number.
    case skipsGaps
    /// K2: Moves the cursor on receipt, whatever the app reports.
    case acknowledgesOnReceipt
    /// K2: Counts an event that the app couldn't process as received.
    case dropsUnprocessed
    /// K3: Ends a replay by its count alone.
    case endsByCountOnly
    /// K4: Counts every event toward the replay, including duplicates.
    case countsDuplicates
    /// K5: Treats every event after Resumed as part of the replay, whatever its number.
    case countsWhatComesAfterResumed
    /// K6: Leaves a replay open when the connection drops.
    case leavesBracketOpen
    /// K7: Reports replayed events as live.
    case callsReplayedLive
    /// K8: Clears the cursor at every invalidation.
    case ignoresResumable
    /// K9, K11: Doesn't check the connection or user that a frame or an answer belongs to.
    case trustsLateFrames
    case trustsLateReturns
    /// K10: Keeps the state at a logout.
    case leavesStateAtLogout
    /// K12: Starts heartbeats only once the stream is live.
    case beatsOnlyWhenLive
    /// K13: Doesn't check for acknowledgements.
    case ignoresMissingAcks
    /// K13: Sends all clients' heartbeats in step.
    case beatsInStep
    /// K14: Ignores a hello after Ready.
    case ignoresLateHello
    /// K15: Drops messages before Ready.
    case dropsEarlyPushes
    /// K16: Makes a late subscriber wait for the next change.
    case startsStreamsEmpty
    /// K17: Writes every event separately.
    case writesEveryEvent
    /// K18: Doesn't report errors in the handshake.
    case failsSilently
    /// K20: Accepts the numbers of a server that is behind.
    case acceptsRegression
    /// K22: Doesn't move the cursor for replayed events.
    case replayMovesNothing
}
