/// A deliberate mistake in the checks of a paired peer's messages. A simulation that doesn't detect it proves nothing.
public enum LiarMutation: String, Mutation {
    /// Writes samples with any number, which are then rejected when they are loaded.
    case anySample
    /// Prefers the earlier of two invitations with the highest number, so no other session can be opened.
    case lastNumber
}
