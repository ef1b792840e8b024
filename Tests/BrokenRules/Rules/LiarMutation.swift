/// A deliberate mistake in what a paired peer's word can change. A simulation that does not find it proves nothing.
public enum LiarMutation: String, Mutation {
    /// Samples of any number are taken and written, and refused when they are loaded.
    case anySample
    /// One notice moves the number of the latest invitation as far as it says.
    case anyInvitation
}
