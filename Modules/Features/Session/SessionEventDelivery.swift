/// The delivery of one of this device's events, and its effect on the state.
///
/// ```swift
/// let delivery = session.delivery(of: envelope)
/// switch delivery.step {
/// case .unknown, .submitted: "…"
/// case .accepted, .sent: "kept"
/// case .held, .confirmed: "arrived"
/// }
/// if delivery.effect == .rejected { "too late: it doesn't count" }
/// ```
public struct SessionEventDelivery: Hashable, Sendable {
    /// The progress of an event. Each step includes the ones before.
    public enum Step: Hashable, Sendable {
        /// The event isn't one of this device, or not among its newest 16,384.
        case unknown
        /// Applied here; not in the store yet.
        case submitted
        /// The event is in the store. It survives a crash, and is sent until every member has acknowledged it.
        case accepted
        /// Handed to the transport.
        case sent
        /// Acknowledged by so many other members, at least one.
        case held(by: Int)
        /// Held by all, at its final place in the order.
        case confirmed
    }

    /// The effect of an event on the state at its place in the order. Until the event is confirmed, an event that
    /// arrives late may change it.
    public enum Effect: String, Hashable, Sendable {
        /// The event isn't one of this device, or not among its newest 16,384.
        case unknown
        /// The reducer ran and the event changed the state.
        case applied
        /// The reducer ran when the event was submitted, and left the state as it was. Known of states that are `Equatable`, of events
        /// that aren't of a high rate, in this launch, and as long as nothing has come late; else the event counts as applied.
        case unchanged
        /// The conflict policy or the reducer refuses the event at its place.
        case rejected
    }

    /// The furthest step that the event has reached.
    public let step: Step
    /// The effect of the event on the state, which may change until the event is confirmed.
    public let effect: Effect

    /// Creates a value for previews and tests of an app. In an app, the session creates them.
    public init(step: Step, effect: Effect) { (self.step, self.effect) = (step, effect) }

    static let unknown = Self(step: .unknown, effect: .unknown)
}
