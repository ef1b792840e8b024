public import Foundation

/// A message of a server, as far as the coordinator needs it. Payloads stay with the app.
public enum IncomingEvent: Hashable, Sendable {
    /// The server's greeting, with the seconds between two heartbeats. A number that isn't above 0 is ignored; others
    /// are clamped to the range from 10 ms to a day.
    case hello(heartbeatInterval: TimeInterval)
    /// A session has begun: every event up to `initialSeq` is older than it.
    case ready(sessionId: String, initialSeq: UInt64)
    /// A session goes on: so many events are replayed, up to `currentSeq`.
    case resumed(replayedCount: Int, currentSeq: UInt64)
    /// The handshake is refused, or the session has ended. A resumable one keeps its cursor.
    case invalidSession(reason: String?, resumable: Bool)
    /// The server has heard the last sign of life.
    case heartbeatAck
    /// One event of the session's.
    case pushEvent(seq: UInt64)
    /// The server wants this client on another connection, and the session to go on there.
    case reconnect
}

/// The instruction to the app for the message that it has just passed to the coordinator.
public enum Reception: String, Hashable, Sendable {
    /// The event is new: process it, and alert the user. Also any frame without a sequence that was in its place.
    case live
    /// New here, though it happened while the client was away: process it quietly.
    case replayed
    /// The app has had it.
    case duplicate
    /// Others before it are missing (`Sequencing.contiguous`). Do not process it: it comes again after the reconnect.
    case gap
    /// The message belongs to a connection or session that is over. Don't process it.
    case stale

    /// Whether the payload is new and in its place.
    public var isToBeProcessed: Bool { self == .live || self == .replayed }
}
