/// The urgency of a change: a hint to transports that can wake a suspended app. Other transports ignore it, and peers
/// don't see it.
///
/// ```swift
/// session.send(.start, urgency: .wake)
/// ```
public enum SessionUrgency: Hashable, Sendable {
    /// The change arrives when the peer next runs.
    case normal
    /// The change is worth one of the few times a day that a phone may wake its watch's suspended app. See
    /// ``SessionSyncTransport/remainingWakes``. Otherwise it arrives like a `normal` one.
    case wake
}
