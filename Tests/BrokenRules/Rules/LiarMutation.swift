/// A deliberate mistake in the checks of a paired peer's messages. A simulation that doesn't detect it proves nothing.
public enum LiarMutation: String, Mutation {
    /// Stores samples with any number. The next launch then rejects them when it loads the store.
    case anySample
    /// Follows an invitation to the highest number in one step, and of two invitations with that number prefers the
    /// earlier one. After that no user can open another session.
    case lastNumber
}
