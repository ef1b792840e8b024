/// One rule broken, so that the check of a fault is known to be able to fail. Tests name the fault.
public enum ResumeMutation: String, Mutation {
    /// K1: a number that was skipped moves the cursor.
    case skipsGaps
    /// K2: the cursor moves on receipt, whatever the app says.
    case acknowledgesOnReceipt
    /// K2: an event that the app could not process counts as received.
    case dropsUnprocessed
    /// K3: a replay ends by its count alone.
    case endsByCountOnly
    /// K4: every event counts toward the replay, also one that came before.
    case countsDuplicates
    /// K5: what comes after Resumed counts toward the replay, whatever its number.
    case countsWhatComesAfterResumed
    /// K6: a drop leaves the bracket open.
    case leavesBracketOpen
    /// K7: what is replayed reads as live.
    case callsReplayedLive
    /// K8: every invalidation clears the cursor.
    case ignoresResumable
    /// K9, K11: nothing is asked after the connection or the user it belongs to.
    case trustsLateFrames
    case trustsLateReturns
    /// K10: a logout leaves the state as it is.
    case leavesStateAtLogout
    /// K12: heartbeats begin once live.
    case beatsOnlyWhenLive
    /// K13: acknowledgements are not looked for.
    case ignoresMissingAcks
    /// K13: all clients beat in step.
    case beatsInStep
    /// K14: a hello after Ready changes nothing.
    case ignoresLateHello
    /// K15: what comes before Ready is dropped.
    case dropsEarlyPushes
    /// K16: a late subscriber waits for the next change.
    case startsStreamsEmpty
    /// K17: every event is written by itself.
    case writesEveryEvent
    /// K18: what goes wrong in the handshake is told to nobody.
    case failsSilently
    /// K20: a server that is behind is believed.
    case acceptsRegression
    /// K22: replayed events leave the cursor where it was.
    case replayMovesNothing
}
