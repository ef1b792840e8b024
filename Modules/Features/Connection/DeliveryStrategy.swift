/// The lanes of a request: the first to try, and the next if that fails. The raw values travel.
public enum DeliveryStrategy: String, Codable, Hashable, Sendable, CaseIterable {
    /// Live while the peer is there; by the queue when that fails.
    case liveThenQueue = "messageWithUserInfoFallback"
    /// Live while the peer is there; in the slot for the newest when that fails.
    case liveThenLatest = "messageWithContextFallback"
    /// Live or not at all.
    case liveOnly = "messageOnly"
    /// Uses only the queue, which outlives the connection.
    case queueOnly = "userInfoOnly"
    /// Uses only the newest-wins slot, of which each type of request has one.
    case latestOnly = "contextOnly"

    /// The method that is tried first.
    public var primaryMethod: DeliveryMethod {
        switch self {
        case .liveThenQueue, .liveThenLatest, .liveOnly: .live
        case .queueOnly: .queue
        case .latestOnly: .latest
        }
    }

    /// The method that is tried if the first fails; nil if there is none.
    public var fallbackMethod: DeliveryMethod? {
        switch self {
        case .liveThenQueue: .queue
        case .liveThenLatest: .latest
        case .liveOnly, .queueOnly, .latestOnly: nil
        }
    }

    /// Whether something is tried after the first.
    public var hasFallback: Bool { fallbackMethod != nil }
}

/// One way of delivering. The raw values travel.
public enum DeliveryMethod: String, Codable, Hashable, Sendable, CaseIterable {
    /// Now or not at all.
    case live = "message"
    /// Once and in order, whenever that is possible.
    case queue = "userInfo"
    /// The newest of its kind, whenever that is possible; what it replaces is never delivered.
    case latest = "context"
}
