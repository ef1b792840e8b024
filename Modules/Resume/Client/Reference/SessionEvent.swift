/// The state of a session.
public enum SessionState: Hashable, Sendable {
    /// There is no connection, or its handshake hasn't begun.
    case disconnected
    /// The socket is connected. The handshake has been sent or is about to be.
    case handshaking
    /// The client receives missed events: the number expected, and the number of different events received.
    case replaying(expected: Int, received: Int)
    /// Events arrive as they happen.
    case live(sessionId: String)
}

/// An event that a coordinator reports to its observers.
public enum SessionEvent: Hashable, Sendable {
    /// The state of the session changed. A new subscriber gets the current state first.
    case stateChanged(SessionState)
    /// A replay of missed events starts. It ends with ``replayFinished(replayedCount:)``.
    case replayStarted
    /// A replay of missed events ended, with the number of different events that were replayed. Follows every
    /// `replayStarted`. The replay was complete unless `replayInterrupted` came just before.
    case replayFinished(replayedCount: Int)
    /// The replay ended incomplete.
    case replayInterrupted(ReplayInterruption)
    /// The server refused the session. If it is `resumable`, the cursor is kept.
    case sessionInvalidated(reason: String?, resumable: Bool)
    /// The app called `clearSession()`. The next connection identifies.
    case sessionCleared
    /// A session starts without the events before it. Load the data that the app needs in another way.
    case startedFresh(FreshStart)
    /// The connection must be replaced. Close it, and open another when `ReconnectPolicy` permits.
    case reconnectNeeded(ReconnectReason)
    /// The app has no token, so nothing was sent. Open another connection once there is one.
    case tokenUnavailable
    /// Another client has a copy of this cursor, and both take the session from each other. Give each client its own
    /// store.
    case cursorShared
    /// The cursor couldn't be read or saved. It is kept in memory and saved again later.
    case storageFailed(String)
}

/// The reason why a replay ended early. The server sends the missing events after the next resume, unless noted
/// otherwise.
public enum ReplayInterruption: String, Hashable, Sendable {
    /// The connection was closed or replaced.
    case connectionClosed
    /// No event arrived for `Configuration.replayTimeout`.
    case timedOut
    /// The server refused the session.
    case invalidated
    /// The app called `clearSession()` during the replay.
    case cleared
    /// The server no longer has all events and said so. The missing ones won't come.
    case incomplete
}

/// The reason why a session starts without earlier events.
public enum FreshStart: String, Hashable, Sendable {
    /// The store held no session.
    case noSession
    /// The server refused the cursor.
    case rejected
    /// The app called `clearSession()`.
    case cleared
    /// The stored session couldn't be read.
    case storageFailed
}

/// The reason why a connection must be replaced.
public enum ReconnectReason: Hashable, Sendable {
    /// The server didn't acknowledge this number of consecutive heartbeats: the socket looks open but is dead.
    case zombie(missedAcks: Int)
    /// Events in this range are missing. The server sends them after a resume.
    case gap(first: UInt64, last: UInt64)
    /// Sending the handshake failed, with the transport's error.
    case handshakeFailed(String)
    /// The server didn't answer for `Configuration.handshakeTimeout`.
    case handshakeTimedOut
    /// Sending a heartbeat failed, with the transport's error.
    case heartbeatFailed(String)
    /// The server asked the client to reconnect, possibly to another server.
    case serverAsked
}
