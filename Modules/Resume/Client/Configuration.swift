public import Foundation

extension SessionCoordinator {
    /// The options of a coordinator. Times are in seconds. A value that isn't finite or is out of range is clamped.
    public struct Configuration: Hashable, Sendable {
        /// The heartbeat interval until the server's hello sets another; 10 ms to a day.
        public var defaultHeartbeatInterval: TimeInterval
        /// True if the coordinator sends heartbeats on its own. Without them it can't detect a dead socket.
        public var autoHeartbeat: Bool
        /// The largest fraction of the interval by which a heartbeat may be sent early, from 0 to 1. The client draws
        /// the fraction at random for each heartbeat. Unless this is 0, it sends the first heartbeat on a connection at
        /// a random time within the interval.
        let heartbeatJitter: Double
        /// The number of consecutive unacknowledged heartbeats after which the socket counts as dead; at least 1.
        let missedAckLimit: Int
        /// Maximum time without a further event during a replay; 10 ms to a day. After it the replay ends incomplete.
        package var replayTimeout: TimeInterval
        /// Maximum time to wait for the answer to a handshake; 10 ms to a day.
        package var handshakeTimeout: TimeInterval
        /// The meaning of gaps between sequence numbers.
        public var sequencing: Sequencing
        /// The rule for when an event counts as processed. After a resume, the server doesn't send processed events
        /// again.
        public var acknowledgement: Acknowledgement

        /// Creates a configuration of the client. The defaults are those of the reference implementation.
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

    /// The meaning of the sequence numbers of a session's events.
    public enum Sequencing: String, Hashable, Sendable {
        /// Numbers increase, possibly with gaps. A skipped number means nothing.
        case monotonic
        /// Numbers are consecutive, without gaps. A skipped number means that an event is missing.
        case contiguous
    }

    /// A rule for when an event counts as processed. After a resume, the server doesn't send processed events again.
    public enum Acknowledgement: String, Hashable, Sendable {
        /// The coordinator acknowledges an event once `didReceive` has returned.
        case onReceive
        /// The app acknowledges events with `acknowledge(through:)`. After a crash, the server sends unacknowledged
        /// events again.
        case byApp
    }
}

extension Duration {
    /// Converts seconds to a duration, clamped to the range from 10 ms to a day. Returns a day if the value isn't
    /// finite.
    package static func bounded(_ seconds: Double) -> Duration {
        guard seconds.isFinite else { return .seconds(86_400) }
        return .seconds(min(max(seconds, 0.01), 86_400))
    }
}
