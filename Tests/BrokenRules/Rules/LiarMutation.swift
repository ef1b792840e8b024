/// A deliberate mistake in what a paired peer's word can change. A simulation that does not find it proves nothing.
public enum LiarMutation: String, Mutation {
    /// Samples of any number are taken and written, and refused when they are loaded.
    case anySample
    /// Of two invitations with the highest number the earlier one is the greater, so no other session can be opened.
    case lastNumber
}
