public import Foundation

/// A server's message, reduced to the fields that the coordinator needs. The app keeps the payload.
public enum IncomingEvent: Hashable, Sendable {
    /// The server's hello, with the seconds between two heartbeats. The coordinator ignores a number that isn't
    /// positive and finite, and clamps others to the range from 10 ms to a day.
    case hello(heartbeatInterval: TimeInterval)
    /// A session has started. Events up to `initialSeq` happened before it.
    case ready(sessionId: String, initialSeq: UInt64)
    /// The session continues after a reconnect. The `replayedCount` events that the client missed follow, up to
    /// `currentSeq`.
    case resumed(replayedCount: Int, currentSeq: UInt64)
    /// The server refuses the handshake, or ends the session. If it is resumable, the cursor is kept.
    case invalidSession(reason: String?, resumable: Bool)
    /// The server acknowledges a heartbeat.
    case heartbeatAck
    /// An event of the session.
    case pushEvent(seq: UInt64)
    /// The server asks the client to reconnect and resume.
    case reconnect
}

/// The instruction to the app for the message that it has just passed to the coordinator.
public enum Reception: String, Hashable, Sendable {
    /// The event is new: process it, and alert the user. Also returned for other frames that were expected.
    case live
    /// The event is new here but happened while the client was away. Process it quietly.
    case replayed
    /// The app already got this event.
    case duplicate
    /// Earlier events are missing (`Sequencing.contiguous`). Don't process this one: it comes again after the
    /// reconnect.
    case gap
    /// The message belongs to a connection or session that is over. Don't process it.
    case stale

    /// True if the app must process the payload.
    public var isToBeProcessed: Bool { self == .live || self == .replayed }
}
