/// A deliberate mistake in the checks of a paired peer's messages. A simulation that doesn't detect it proves nothing.
public enum LiarMutation: String, Mutation {
    /// Writes samples with any number, which are then rejected when they are loaded.
    case anySample
    /// Follows any number in one step, and of two invitations with the highest one prefers the earlier: no other session
    /// can be opened.
    case lastNumber
}
