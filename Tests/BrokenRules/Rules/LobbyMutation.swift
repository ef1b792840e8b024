/// A deliberate mistake at one line of one rule of the lobby. A simulation that does not find it proves nothing.
public enum LobbyMutation: String, Mutation {
    /// Of equal numbers the invitation that was heard first is followed.
    case tieByArrival
    /// What is heard is followed, and not told to others.
    case notPassedOn
    /// The lower number is the greater.
    case olderFollowed
    /// A device that takes part already does not go over to another session.
    case neverSuperseded
    /// The store has neither the invitation nor the incarnation.
    case notKept
    /// A session that was left goes on beside the next.
    case leftRunning
    /// The transport drops the next session's state if its stamp is earlier (`StampComparingTransport`).
    case staleByStamp
}
