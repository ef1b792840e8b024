/// What a caller may want of one message beside its mode.
public struct DeliveryOptions: Hashable, Sendable {
    public var priority: DeliveryPriority
    /// After this time nobody wants the message any more: it is not sent again, and a peer that gets it later lets it go.
    /// nil for never. At least a millisecond.
    public var timeToLive: Duration?

    public init(priority: DeliveryPriority = .normal, timeToLive: Duration? = nil) {
        self.priority = priority
        self.timeToLive = timeToLive
    }
}

/// Who goes first when a link cannot take everything at once. Strict: as long as something of a higher priority waits,
/// nothing of a lower one is begun. Messages of one feature keep their order whatever their priorities.
public enum DeliveryPriority: UInt8, Hashable, Sendable, Comparable, CaseIterable {
    /// Taps.
    case high
    case normal
    /// Transfers, in pieces between which everything else passes.
    case bulk

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
