public import Foundation

extension SessionCoordinator {
    /// Times are in seconds; what is not finite or out of its range counts as the nearest that is.
    public struct Configuration: Hashable, Sendable {
        /// Until the server's hello says another; 10 ms to a day.
        public var defaultHeartbeatInterval: TimeInterval
        /// Whether the coordinator sends heartbeats by itself. Without them a dead socket is not noticed either.
        public var autoHeartbeat: Bool
        /// The share of an interval by which heartbeats come earlier at random, 0 to 1. The first one of a connection
        /// comes at any time within the interval.
        let heartbeatJitter: Double
        /// So many unacknowledged heartbeats in a row make a zombie; at least 1.
        let missedAckLimit: Int
        /// How long a replay may bring nothing before it ends without the rest; 10 ms to a day.
        package var replayTimeout: TimeInterval
        /// How long a handshake may stay without an answer; 10 ms to a day.
        package var handshakeTimeout: TimeInterval
        /// Whether a gap between sequences is possible.
        public var sequencing: Sequencing
        /// The rule for when an event counts as processed, so that no resume brings it again.
        public var acknowledgement: Acknowledgement

        /// The defaults are the reference's.
        public init(
            defaultHeartbeatInterval: TimeInterval = 30, autoHeartbeat: Bool = true, heartbeatJitter: Double = 0.1,
            missedAckLimit: Int = 2, replayTimeout: TimeInterval = 10, handshakeTimeout: TimeInterval = 30,
            sequencing: Sequencing = .monotonic, acknowledgement: Acknowledgement = .onReceive
        ) {
            self.defaultHeartbeatInterval = defaultHeartbeatInterval
            self.autoHeartbeat = autoHeartbeat
            self.heartbeatJitter = heartbeatJitter
            self.missedAckLimit = missedAckLimit
            self.replayTimeout = replayTimeout
            self.handshakeTimeout = handshakeTimeout
            self.sequencing = sequencing
            self.acknowledgement = acknowledgement
        }
    }

    /// The promise behind the numbers of a session's events.
    public enum Sequencing: String, Hashable, Sendable {
        /// The numbers grow, and a skipped number means nothing.
        case monotonic
        /// They follow one another: a number that was skipped is an event that is missing.
        case contiguous
    }

    /// A rule for when an event counts as processed, so that no resume brings it again.
    public enum Acknowledgement: String, Hashable, Sendable {
        /// The coordinator acknowledges an event once `didReceive` has returned.
        case onReceive
        /// Once the app says `acknowledge(through:)`. After a crash what was not acknowledged comes again.
        case byApp
    }
}

extension Duration {
    /// A time that somebody else gave, within what clocks can bear.
    package static func bounded(_ seconds: Double) -> Duration {
        guard seconds.isFinite else { return .seconds(86_400) }
        return .seconds(min(max(seconds, 0.01), 86_400))
    }
}
