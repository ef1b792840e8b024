public import Foundation

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// A listener of a session that others share: a link or a connection. A `WatchSessionMultiplexer` calls it, one event
/// at a time, on the thread on which the session calls its delegate, which is never the main thread.
public protocol WatchSessionListener: AnyObject, Sendable {
    /// Something has happened to the session, which stands so now.
    func session(_ event: WatchSessionEvent, _ state: WCSessionState)
    /// Takes content that is addressed to this listener.
    ///
    /// - Returns: whether it was for this listener. Then no other listener is asked, and the app's own delegate isn't
    ///   called.
    func take(_ content: WatchSessionContent) -> Bool
    /// Reports the application context that has arrived, as a whole. Every listener is called, and picks its keys.
    func takeContext(_ context: [String: Any])
    /// Reports the application context, and whether it has just arrived or is repeated by a session that was activated.
    /// Calls `takeContext(_:)` by default.
    func takeContext(_ context: [String: Any], isNew: Bool)
    /// An application context has been written, or why the session has refused it; it is tried again. By default nothing is
    /// done.
    func contextWasWritten(error: (any Error)?)
    /// Whether a key of an application context is this listener's, which then is kept from the app's own delegate. By
    /// default none; keys that begin with `WatchSessionMultiplexer.prefix` are kept from it in any case.
    func owns(contextKey: String) -> Bool
}

extension WatchSessionListener {
    public func takeContext(_ context: [String: Any]) {}
    public func takeContext(_ context: [String: Any], isNew: Bool) { takeContext(context) }
    public func contextWasWritten(error: (any Error)?) {}
    public func owns(contextKey: String) -> Bool { false }
}

/// An event of a session.
public enum WatchSessionEvent: Sendable {
    /// The activation of the session has ended.
    ///
    /// - Parameter error: why it could not be activated; nil when it has been.
    case activated(error: (any Error)?)
    /// The user takes another watch; nothing more is sent to this one.
    case becameInactive
    /// The session is being activated again, for another watch.
    case deactivated
    /// The counterpart takes messages, or no longer.
    case reachabilityChanged
    /// A watch was paired, or its app installed; on watchOS the companion app.
    case counterpartChanged
    /// Something that the delegate is not told of.
    case stateChanged
}

/// The content that a session delivers.
public enum WatchSessionContent {
    /// A message for a running app.
    ///
    /// - Parameter reply: not nil when the sender waits for an answer.
    case message([String: Any], reply: (([String: Any]) -> Void)?)
    /// Data of a message; `reply` is nil if the sender waits for none.
    case data(Data, reply: ((Data) -> Void)?)
    /// A user info that the system kept and delivered.
    case userInfo([String: Any])
    /// The file is deleted when `take` returns: move it elsewhere before.
    case file(WCSessionFile)
    /// A user info has arrived at the counterpart, or never will.
    case finishedUserInfo(WCSessionUserInfoTransfer, (any Error)?)
    /// A file has arrived at the counterpart, or never will.
    case finishedFile(WCSessionFileTransfer, (any Error)?)
}
