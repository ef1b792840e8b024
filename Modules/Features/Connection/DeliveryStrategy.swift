/// The lanes of a request: the first to try, and the next if that fails. The raw values travel on the wire.
public enum DeliveryStrategy: String, Codable, Hashable, Sendable, CaseIterable {
    /// Sends live if the peer is reachable. Otherwise, or if that fails, uses the queue.
    case liveThenQueue = "messageWithUserInfoFallback"
    /// Sends live if the peer is reachable. Otherwise, or if that fails, uses the slot for the newest request.
    case liveThenLatest = "messageWithContextFallback"
    /// Sends only live, without a fallback.
    case liveOnly = "messageOnly"
    /// Uses only the queue, which survives the connection.
    case queueOnly = "userInfoOnly"
    /// Uses only the slot, which holds the newest request of each type.
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

    /// True if a second method is tried after the first.
    public var hasFallback: Bool { fallbackMethod != nil }
}

/// A way of delivering a request. The raw values travel on the wire.
public enum DeliveryMethod: String, Codable, Hashable, Sendable, CaseIterable {
    /// Delivers now or not at all.
    case live = "message"
    /// Delivers once and in order, as soon as possible.
    case queue = "userInfo"
    /// Delivers only the newest request of its type, as soon as possible. A newer request replaces one that waits.
    case latest = "context"
}
