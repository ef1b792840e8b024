/// How far one own event has come, and whether it has an effect.
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
    /// How far an event has come. Each step includes the ones before.
    public enum Step: Hashable, Sendable {
        /// Not an event of this device, or further back than its newest 16,384.
        case unknown
        /// Applied here; not in the store yet.
        case submitted
        /// In the store: it survives a crash, and will be sent until every member has acknowledged it.
        case accepted
        /// Handed to the transport.
        case sent
        /// Acknowledged by so many other members, at least one.
        case held(by: Int)
        /// Held by all, at its final place in the order.
        case confirmed
    }

    /// What an event does to the state at its place in the order. Until it is confirmed, an event that comes late may change that.
    public enum Effect: String, Hashable, Sendable {
        /// Not an event of this device, or further back than its newest 16,384.
        case unknown
        /// The reducer ran.
        case applied
        /// The reducer ran when the event was submitted, and left the state as it was. Known of states that are `Equatable`, of events
        /// that aren't of a high rate, in this launch, and as long as nothing has come late; else the event counts as applied.
        case unchanged
        /// The conflict policy or the reducer refuses the event at its place.
        case rejected
    }

    /// How far the event has come.
    public let step: Step
    /// What the event does to the state.
    public let effect: Effect

    /// For previews and tests of an app.
    public init(step: Step, effect: Effect) { (self.step, self.effect) = (step, effect) }

    static let unknown = Self(step: .unknown, effect: .unknown)
}
