import MeshBase

/// The code with which a gateway closed a WebSocket, with numbers that are common among chat gateways.
public struct CloseCode: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 4000: the server is shutting down, failed, or heard nothing from the client. Reconnect and resume.
    public static let unknownError = CloseCode(rawValue: 4000)
    /// 4001: the frame's operation is unknown.
    public static let unknownOpcode = CloseCode(rawValue: 4001)
    /// 4002: the frame can't be read.
    public static let decodeError = CloseCode(rawValue: 4002)
    /// 4003: another frame came before the handshake, or no handshake came in time.
    public static let notAuthenticated = CloseCode(rawValue: 4003)
    /// 4004: the token was refused.
    public static let authenticationFailed = CloseCode(rawValue: 4004)
    /// 4005: a second handshake on the same connection.
    public static let alreadyAuthenticated = CloseCode(rawValue: 4005)
    /// 4007: the cursor is one that the server never issued.
    public static let invalidSequence = CloseCode(rawValue: 4007)
    /// 4008: the client sent too much.
    public static let rateLimited = CloseCode(rawValue: 4008)
    /// 4009: another connection continues the session. Other gateways: the session has timed out.
    public static let sessionTimedOut = CloseCode(rawValue: 4009)
    /// 4010, used by other gateways.
    public static let invalidShard = CloseCode(rawValue: 4010)
    /// 4011, used by other gateways.
    public static let shardingRequired = CloseCode(rawValue: 4011)
    /// 4012: the gateway doesn't support this version of the protocol.
    public static let invalidVersion = CloseCode(rawValue: 4012)
    /// 4013, used by other gateways.
    public static let invalidIntents = CloseCode(rawValue: 4013)
    /// 4014, used by other gateways.
    public static let disallowedIntents = CloseCode(rawValue: 4014)

    /// 4015: the token has expired or is about to. Reconnect with a new one, and resume.
    public static let tokenExpired = CloseCode(rawValue: 4015)
    /// 4016: the server's app has disconnected the user. It decides whether the user may reconnect.
    public static let disconnected = CloseCode(rawValue: 4016)

    /// True if reconnecting would fail again: 4004, and 4010 to 4014.
    public var isFatal: Bool { self == .authenticationFailed || (4010...4014).contains(rawValue) }
}

/// A policy for reconnecting. A client waits for a random part of a time that doubles with every attempt (full jitter),
/// so that the clients of a failed server don't return all at once.
///
/// Only the newest connection continues a session. Two clients with copies of one cursor would replace each other
/// endlessly. So after a connection was replaced (4009), the client waits longer: up to 2 s, doubling to 5 min, and at
/// least half of that. These waits start over only after a connection that lasted for more than 10 min.
public struct ReconnectPolicy: Sendable {
    private var backoff: Backoff
    private var replacements = Backoff(from: .seconds(2), to: .seconds(300))
    /// The number of consecutive connections that were replaced.
    package private(set) var replacedCount = 0
    private var random: SplitMix64

    /// Creates a policy with random waits.
    ///
    /// - Parameters:
    ///   - shortest: The upper bound of the first wait.
    ///   - longest: The upper bound at which doubling ends.
    public init(from shortest: Duration = .seconds(1), to longest: Duration = .seconds(60)) {
        self.init(from: shortest, to: longest, seed: .random(in: 0 ... .max))
    }

    /// Creates a policy with repeatable waits, for tests.
    ///
    /// - Parameter seed: Equal seeds give equal waits.
    public init(from shortest: Duration, to longest: Duration, seed: UInt64) {
        backoff = Backoff(from: shortest, to: longest)
        random = SplitMix64(seed: seed)
    }

    /// Returns the time to wait before the next attempt.
    ///
    /// - Parameters:
    ///   - code: The server's close code; nil if the connection broke or was never made.
    ///   - atLeast: The wait that the server asked for.
    /// - Returns: The wait; nil after a fatal code.
    public mutating func delay(after code: CloseCode? = nil, atLeast: Duration = .zero) -> Duration? {
        guard code?.isFatal != true else { return nil }
        if code == .sessionTimedOut {
            replacedCount += 1
            return max(.zero, atLeast) + replacements.next() * (1 - random.fraction() / 2)
        }
        return max(.zero, atLeast) + backoff.next() * random.fraction()
    }

    /// Resets the waits after a session was live.
    ///
    /// - Parameter lifetime: The duration of the connection, if it has ended.
    public mutating func reset(after lifetime: Duration = .zero) {
        backoff.reset()
        guard lifetime > .seconds(600) else { return }
        replacements.reset()
        replacedCount = 0
    }
}
