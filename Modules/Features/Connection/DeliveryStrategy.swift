/// Which lanes a request takes: the first, and the one after it when that fails.
public enum DeliveryStrategy: String, Codable, Hashable, Sendable, CaseIterable {
    case messageWithUserInfoFallback
    case messageWithContextFallback
    case messageOnly
    case userInfoOnly
    case contextOnly

    public var primaryMethod: DeliveryMethod {
        switch self {
        case .messageWithUserInfoFallback, .messageWithContextFallback, .messageOnly: .message
        case .userInfoOnly: .userInfo
        case .contextOnly: .context
        }
    }

    public var fallbackMethod: DeliveryMethod? {
        switch self {
        case .messageWithUserInfoFallback: .userInfo
        case .messageWithContextFallback: .context
        case .messageOnly, .userInfoOnly, .contextOnly: nil
        }
    }

    public var hasFallback: Bool { fallbackMethod != nil }
}

/// One way of delivering.
public enum DeliveryMethod: String, Codable, Hashable, Sendable, CaseIterable {
    /// Now or not at all.
    case message
    /// Once and in order, whenever that is possible.
    case userInfo
    /// The newest of its kind, whenever that is possible; what it replaces is never delivered.
    case context
}
