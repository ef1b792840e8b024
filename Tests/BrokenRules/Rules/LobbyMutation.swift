/// A deliberate mistake in one line of one rule of the lobby. A simulation that doesn't detect it proves nothing.
public enum LobbyMutation: String, Mutation {
    /// Follows, of two invitations with equal numbers, the one that arrived first.
    case tieByArrival
    /// Follows an invitation without passing it on.
    case notPassedOn
    /// Prefers the lower number.
    case olderFollowed
    /// Keeps a device in its session when another supersedes it.
    case neverSuperseded
    /// Stores neither the invitation nor the incarnation.
    case notKept
    /// Leaves the earlier session running.
    case leftRunning
    /// Drops the next session's state if its stamp is earlier (`StampComparingTransport`).
    case staleByStamp
}
