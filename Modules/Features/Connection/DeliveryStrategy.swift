/// Which lanes a request takes: the first, and the one after it when that fails. The raw values travel.
public enum DeliveryStrategy: String, Codable, Hashable, Sendable, CaseIterable {
    case liveThenQueue = "messageWithUserInfoFallback"
    case liveThenLatest = "messageWithContextFallback"
    case liveOnly = "messageOnly"
    case queueOnly = "userInfoOnly"
    case latestOnly = "contextOnly"

    public var primaryMethod: DeliveryMethod {
        switch self {
        case .liveThenQueue, .liveThenLatest, .liveOnly: .live
        case .queueOnly: .queue
        case .latestOnly: .latest
        }
    }

    public var fallbackMethod: DeliveryMethod? {
        switch self {
        case .liveThenQueue: .queue
        case .liveThenLatest: .latest
        case .liveOnly, .queueOnly, .latestOnly: nil
        }
    }

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
