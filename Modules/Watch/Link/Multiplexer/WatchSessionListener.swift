public import Foundation

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// A listener on a shared session, such as a link or a connection.
///
/// A `WatchSessionMultiplexer` calls it on the session's threads, with three exceptions: earlier content on the thread
/// that calls `attach`, `contextWasWritten` on the context writer's queue, and `stateChanged` in a task.
public protocol WatchSessionListener: AnyObject, Sendable {
    /// Reports an event, and the session's state after it.
    func session(_ event: WatchSessionEvent, _ state: WCSessionState)
    /// Takes content that is addressed to this listener.
    ///
    /// - Returns: True if the content was for this listener. Then neither other listeners nor the app's own delegate
    ///   get it.
    func take(_ content: WatchSessionContent) -> Bool
    /// Reports the complete application context that has arrived. Every listener is called, and picks its own keys.
    func takeContext(_ context: [String: Any])
    /// Reports the complete application context, and whether it is new or repeated by a session that was activated.
    /// Calls `takeContext(_:)` by default.
    func takeContext(_ context: [String: Any], isNew: Bool)
    /// Reports that an application context was written, or the error with which the session refused it. The writer
    /// retries. Does nothing by default.
    func contextWasWritten(error: (any Error)?)
    /// Returns true for the listener's own keys in an application context, which are hidden from the app's delegate.
    /// False by default. Keys that begin with `WatchSessionMultiplexer.prefix` are always hidden.
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
    /// The session finished its activation.
    ///
    /// - Parameter error: The reason for a failure; nil if the session was activated.
    case activated(error: (any Error)?)
    /// The user is switching to another watch. Nothing more is sent to the current one.
    case becameInactive
    /// The session was deactivated. The multiplexer activates it again, for another watch.
    case deactivated
    /// The counterpart's reachability changed.
    case reachabilityChanged
    /// A watch was paired or unpaired, or its app installed or removed; on watchOS, the companion app.
    case counterpartChanged
    /// A change that the session doesn't report to its delegate.
    case stateChanged
}

/// The content that a session delivers.
public enum WatchSessionContent {
    /// A message for a running app.
    ///
    /// - Parameter reply: Sends the reply; nil if the sender expects none.
    case message([String: Any], reply: (([String: Any]) -> Void)?)
    /// Bytes for a running app; `reply` is nil if the sender expects none.
    case data(Data, reply: ((Data) -> Void)?)
    /// A user info that the system kept and delivered.
    case userInfo([String: Any])
    /// A received file, which is deleted when `take` returns. Move it to keep it.
    case file(WCSessionFile)
    /// A user info transfer has ended: it arrived, or failed with an error.
    case finishedUserInfo(WCSessionUserInfoTransfer, (any Error)?)
    /// A file transfer has ended: it arrived, or failed with an error.
    case finishedFile(WCSessionFileTransfer, (any Error)?)
}
