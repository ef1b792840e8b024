import MeshBus

/// Why a gateway closed a WebSocket, by the numbers that chat gateways made common.
public struct CloseCode: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let unknownError = CloseCode(rawValue: 4000)
    public static let unknownOpcode = CloseCode(rawValue: 4001)
    public static let decodeError = CloseCode(rawValue: 4002)
    public static let notAuthenticated = CloseCode(rawValue: 4003)
    public static let authenticationFailed = CloseCode(rawValue: 4004)
    public static let alreadyAuthenticated = CloseCode(rawValue: 4005)
    public static let invalidSequence = CloseCode(rawValue: 4007)
    public static let rateLimited = CloseCode(rawValue: 4008)
    public static let sessionTimedOut = CloseCode(rawValue: 4009)
    public static let invalidShard = CloseCode(rawValue: 4010)
    public static let shardingRequired = CloseCode(rawValue: 4011)
    public static let invalidVersion = CloseCode(rawValue: 4012)
    public static let invalidIntents = CloseCode(rawValue: 4013)
    public static let disallowedIntents = CloseCode(rawValue: 4014)

    /// Coming again would meet the same answer: 4004, and 4010 to 4014.
    public var isFatal: Bool { self == .authenticationFailed || (4010...4014).contains(rawValue) }
}

/// When a client comes again: after a random part of a time that doubles with every try (full jitter), so that the many
/// that one server has lost do not come back at once.
public struct ReconnectPolicy: Sendable {
    private var backoff: Backoff
    private var random: SplitMix64

    public init(from shortest: Duration = .seconds(1), to longest: Duration = .seconds(60)) {
        self.init(from: shortest, to: longest, seed: .random(in: 0 ... .max))
    }

    /// - Parameter seed: the same waits for the same seed, for tests.
    public init(from shortest: Duration, to longest: Duration, seed: UInt64) {
        backoff = Backoff(from: shortest, to: longest)
        random = SplitMix64(seed: seed)
    }

    /// - Parameters:
    ///   - code: with which the server closed; nil when the connection broke or was never there.
    ///   - atLeast: what the server asked for.
    /// - Returns: how long to wait; nil after a fatal code.
    public mutating func delay(after code: CloseCode? = nil, atLeast: Duration = .zero) -> Duration? {
        guard code?.isFatal != true else { return nil }
        return max(.zero, atLeast) + backoff.next() * random.fraction()
    }

    /// A session is live.
    public mutating func reset() { backoff.reset() }
}
