/// The health of a connection, judged by the last sends.
public enum SessionHealth: Hashable, Sendable {
    /// The last sends have worked.
    case healthy
    /// Five sends in a row have failed because of the connection.
    case unhealthy(suggestion: RecoverySuggestion)

    /// True if the connection is ``healthy``.
    public var isHealthy: Bool { self == .healthy }

    /// The advice for a person; nil if there is nothing to do.
    public var suggestion: RecoverySuggestion? {
        if case .unhealthy(let suggestion) = self { suggestion } else { nil }
    }
}

/// Advice for a person whose connection doesn't work.
public enum RecoverySuggestion: String, Hashable, Sendable, CaseIterable {
    /// The platform reports that the other device is reachable, but no reply arrives.
    case restartOtherDevice = "restartWatch"
    /// The other device doesn't answer, probably because the app isn't running there.
    case openCompanionApp
    /// An attempt to recover has failed as well.
    case restartBothDevices

    /// A sentence in English for a screen.
    public var localizedDescription: String {
        switch self {
        case .restartOtherDevice: "Restart your watch."
        case .openCompanionApp: "Open the app on the other device."
        case .restartBothDevices: "Restart both devices."
        }
    }
}

extension SessionHealth: CustomStringConvertible {
    public var description: String {
        switch self {
        case .healthy: "healthy"
        case .unhealthy(let suggestion): "unhealthy(\(suggestion))"
        }
    }
}

extension RecoverySuggestion: CustomStringConvertible {
    public var description: String { rawValue }
}
