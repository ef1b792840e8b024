import MeshBase

/// Why a gateway closed a WebSocket, by the numbers that chat gateways made common.
public struct CloseCode: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 4000: the server ends, is in trouble, or has heard nothing: come again and resume.
    public static let unknownError = CloseCode(rawValue: 4000)
    /// 4001: the frame's operation is not known.
    public static let unknownOpcode = CloseCode(rawValue: 4001)
    /// 4002: the frame cannot be read.
    public static let decodeError = CloseCode(rawValue: 4002)
    /// 4003: something else than a handshake came first.
    public static let notAuthenticated = CloseCode(rawValue: 4003)
    /// 4004: the token was refused.
    public static let authenticationFailed = CloseCode(rawValue: 4004)
    /// 4005: a second handshake on one connection.
    public static let alreadyAuthenticated = CloseCode(rawValue: 4005)
    /// 4007: the cursor is one that the server has never given.
    public static let invalidSequence = CloseCode(rawValue: 4007)
    /// 4008: too much was sent.
    public static let rateLimited = CloseCode(rawValue: 4008)
    /// 4009: the session goes on over another connection, or nothing was heard of the client.
    public static let sessionTimedOut = CloseCode(rawValue: 4009)
    /// 4010, of other gateways.
    public static let invalidShard = CloseCode(rawValue: 4010)
    /// 4011, of other gateways.
    public static let shardingRequired = CloseCode(rawValue: 4011)
    /// 4012: the version of the protocol is not spoken here.
    public static let invalidVersion = CloseCode(rawValue: 4012)
    /// 4013, of other gateways.
    public static let invalidIntents = CloseCode(rawValue: 4013)
    /// 4014, of other gateways.
    public static let disallowedIntents = CloseCode(rawValue: 4014)

    /// 4015: the token has expired, or is about to: come again with a new one, and resume.
    public static let tokenExpired = CloseCode(rawValue: 4015)
    /// 4016: the server's app has disconnected the user. Whether it may come again, the app says then.
    public static let disconnected = CloseCode(rawValue: 4016)

    /// Coming again would meet the same answer: 4004, and 4010 to 4014.
    public var isFatal: Bool { self == .authenticationFailed || (4010...4014).contains(rawValue) }
}

/// A policy for reconnecting: a client waits a random part of a time that doubles with every try (full jitter), so that
/// the clients of a failed server don't return all at once.
///
/// A session goes on over one connection, the newest. Two clients with copies of one cursor would take it from each other
/// without end. So after a connection that was replaced (4009) a client waits for 2 seconds, and for twice as long each time, up
/// to 5 minutes. These waits begin anew only after a connection that lasted for 10 minutes.
public struct ReconnectPolicy: Sendable {
    private var backoff: Backoff
    private var replacements = Backoff(from: .seconds(2), to: .seconds(300))
    /// Connections that were replaced, one after another.
    package private(set) var replacedCount = 0
    private var random: SplitMix64

    /// Draws its waits at random.
    ///
    /// - Parameters:
    ///   - shortest: the bound of the first wait.
    ///   - longest: where doubling ends.
    public init(from shortest: Duration = .seconds(1), to longest: Duration = .seconds(60)) {
        self.init(from: shortest, to: longest, seed: .random(in: 0 ... .max))
    }

    /// Creates a policy whose waits follow from a seed, for tests.
    ///
    /// - Parameter seed: the same waits for the same seed, for tests.
    public init(from shortest: Duration, to longest: Duration, seed: UInt64) {
        backoff = Backoff(from: shortest, to: longest)
        random = SplitMix64(seed: seed)
    }

    /// Returns the time to wait before the next attempt, or nil after a fatal code.
    ///
    /// - Parameters:
    ///   - code: with which the server closed; nil when the connection broke or was never there.
    ///   - atLeast: what the server asked for.
    /// - Returns: how long to wait; nil after a fatal code.
    public mutating func delay(after code: CloseCode? = nil, atLeast: Duration = .zero) -> Duration? {
        guard code?.isFatal != true else { return nil }
        if code == .sessionTimedOut {
            replacedCount += 1
            return max(.zero, atLeast) + replacements.next() * (1 - random.fraction() / 2)
        }
        return max(.zero, atLeast) + backoff.next() * random.fraction()
    }

    /// A session is live, or was.
    ///
    /// - Parameter lifetime: how long the connection lasted, if it has ended.
    public mutating func reset(after lifetime: Duration = .zero) {
        backoff.reset()
        guard lifetime > .seconds(600) else { return }
        replacements.reset()
        replacedCount = 0
    }
}
