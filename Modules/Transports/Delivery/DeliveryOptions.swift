/// The options of one message beside its delivery mode.
public struct DeliveryOptions: Hashable, Sendable {
    /// The priority of the message while the link can't take everything.
    public var priority: DeliveryPriority
    /// The time after which the message is worthless: it isn't sent again, and a peer that gets it later drops it. nil
    /// for never. At least a millisecond.
    public var timeToLive: Duration?

    /// Normal, and wanted for ever, unless told otherwise.
    public init(priority: DeliveryPriority = .normal, timeToLive: Duration? = nil) {
        self.priority = priority
        self.timeToLive = timeToLive
    }
}

/// The priority of messages while a link can't take everything at once. Strict: while a message of a higher priority
/// waits, none of a lower one is begun. Messages of one feature keep their order whatever their priorities.
public enum DeliveryPriority: UInt8, Hashable, Sendable, Comparable, CaseIterable {
    /// The priority of taps: sent before everything else.
    case high
    /// Events, requests, snapshots: what has no other.
    case normal
    /// Transfers, in pieces between which everything else passes.
    case bulk

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
