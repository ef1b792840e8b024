/// The options of one message, in addition to its delivery mode.
public struct DeliveryOptions: Hashable, Sendable {
    /// The message's priority while the link can't take everything.
    public var priority: DeliveryPriority
    /// The time after which the message is worthless. It is then not sent again, and a receiver drops a late copy. nil
    /// for never. At least a millisecond.
    public var timeToLive: Duration?

    /// Creates options for a message, by default of normal priority and without expiry.
    public init(priority: DeliveryPriority = .normal, timeToLive: Duration? = nil) {
        self.priority = priority
        self.timeToLive = timeToLive
    }
}

/// The priority of messages while a link can't take everything at once. Strict: a message of a lower priority starts
/// only when none of a higher one waits. Messages of one feature keep their order, whatever their priorities.
public enum DeliveryPriority: UInt8, Hashable, Sendable, Comparable, CaseIterable {
    /// For urgent messages such as taps: sent before everything else.
    case high
    /// The default, except for large messages.
    case normal
    /// For transfers: sent in pieces, with everything else between them. The default above 64 KiB.
    case bulk

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
