/// The state of a session.
public enum SessionState: Hashable, Sendable {
    /// No connection, or none that a session goes on over.
    case disconnected
    /// Connected; the handshake was sent, or is about to be.
    case handshaking
    /// Events of the client's absence are coming in: so many are expected, so many different ones have come.
    case replaying(expected: Int, received: Int)
    /// Events come as they happen.
    case live(sessionId: String)
}

/// An event that a coordinator reports to its observers.
public enum SessionEvent: Hashable, Sendable {
    /// Only when it is another one. A new subscriber gets the current one first.
    case stateChanged(SessionState)
    /// Events of the client's absence begin to come. The end is ``replayFinished(replayedCount:)``.
    case replayStarted
    /// The end of a replay, which follows every `replayStarted`, with the number of different events that were
    /// replayed: all of them, unless `replayInterrupted` came just before.
    case replayFinished(replayedCount: Int)
    /// The replay ends without all that was promised.
    case replayInterrupted(ReplayInterruption)
    /// The server has refused the session; where it is `resumable`, the cursor is kept.
    case sessionInvalidated(reason: String?, resumable: Bool)
    /// `clearSession()`: the next connection identifies afresh.
    case sessionCleared
    /// A session begins that knows nothing of events before it: load what the app needs by other means.
    case startedFresh(FreshStart)
    /// The connection is of no more use: close it, and open another when `ReconnectPolicy` says so.
    case reconnectNeeded(ReconnectReason)
    /// The app has no token: nothing was sent. Open again when there is one.
    case tokenUnavailable
    /// Another client has a copy of this one's cursor, and the two take the session from each other. Give each a store of its own.
    case cursorShared
    /// The cursor could not be read or written. It is kept in memory, and written again later.
    case storageFailed(String)
}

/// Why a replay ended early. What is missing comes with the next resume, unless it says otherwise.
public enum ReplayInterruption: String, Hashable, Sendable {
    /// The connection was closed or replaced.
    case connectionClosed
    /// No event arrived for `Configuration.replayTimeout`.
    case timedOut
    /// The server has refused the session.
    case invalidated
    /// The app called `clearSession()` during the replay.
    case cleared
    /// The server no longer has all of it and said so: what is missing will not come.
    case incomplete
}

/// Why a session begins without the events before it.
public enum FreshStart: String, Hashable, Sendable {
    /// The store held no session.
    case noSession
    /// The server refused the cursor.
    case rejected
    /// The app called `clearSession()` before.
    case cleared
    /// The stored session couldn't be read.
    case storageFailed
}

/// Why a connection is to be replaced.
public enum ReconnectReason: Hashable, Sendable {
    /// The server didn't acknowledge that many heartbeats in a row: the socket looks open, but the server doesn't
    /// answer.
    case zombie(missedAcks: Int)
    /// These events are missing. A resume brings them.
    case gap(first: UInt64, last: UInt64)
    /// The transport's own words.
    case handshakeFailed(String)
    /// The server didn't answer for `Configuration.handshakeTimeout`.
    case handshakeTimedOut
    /// The transport's own words.
    case heartbeatFailed(String)
    /// The server asked the client to connect again, perhaps to another server.
    case serverAsked
}
