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
    /// The progress of an event. Each step includes the earlier ones.
    public enum Step: Hashable, Sendable {
        /// The event isn't one of this device's newest 16,384.
        case unknown
        /// The event is applied on this device, but isn't in the store yet.
        case submitted
        /// The event is in the store. It survives a crash, and is sent until every member has acknowledged it.
        case accepted
        /// The event was handed to the transport.
        case sent
        /// At least one other member has acknowledged the event; `by` is their number.
        case held(by: Int)
        /// All members hold the event, and its place in the order is final.
        case confirmed
    }

    /// The effect of an event on the state at its place in the order. A late event may change the effect until the
    /// event is confirmed.
    public enum Effect: String, Hashable, Sendable {
        /// The event isn't one of this device's newest 16,384.
        case unknown
        /// The reducer ran and the event changed the state.
        case applied
        /// The event didn't change the state when it was submitted. Detected only in this launch, for `Equatable`
        /// states and events that aren't high-rate, until a late event arrives. Otherwise the event counts as applied.
        case unchanged
        /// The conflict policy or the reducer rejects the event at its place.
        case rejected
    }

    /// The furthest step that the event has reached.
    public let step: Step
    /// The effect of the event on the state, which may change until the event is confirmed.
    public let effect: Effect

    /// Creates a value for previews and tests. In an app, the session creates them.
    public init(step: Step, effect: Effect) { (self.step, self.effect) = (step, effect) }

    static let unknown = Self(step: .unknown, effect: .unknown)
}
