public import Foundation

/// The events that a `WCSession` reports to its app.
///
/// Methods are called serially, never on the main thread. Methods that are optional in Apple's protocol have default
/// implementations here. One difference follows: a subclass can override such a method only if the conforming class
/// implements it.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcsessiondelegate
public protocol WCSessionDelegate: NSObjectProtocol {
    /// Reports that the session was activated, or the error.
    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
        error: (any Error)?)
    /// Reports that the user is switching to another watch. On iOS only.
    func sessionDidBecomeInactive(_ session: WCSession)
    /// Reports that everything from the old watch has been delivered. Activate the session again to talk to the new
    /// watch. On iOS only.
    func sessionDidDeactivate(_ session: WCSession)
    /// Reports a change of `isPaired`, `isWatchAppInstalled`, `isComplicationEnabled` or `watchDirectoryURL`. On iOS
    /// only.
    func sessionWatchStateDidChange(_ session: WCSession)
    /// Reports a change of `isCompanionAppInstalled`. On watchOS only.
    func sessionCompanionAppInstalledDidChange(_ session: WCSession)
    /// Reports a change of `isReachable`.
    func sessionReachabilityDidChange(_ session: WCSession)

    /// Receives a message without a reply handler.
    func session(_ session: WCSession, didReceiveMessage message: [String: Any])
    /// Receives a message whose sender waits for the reply.
    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void)
    /// Receives bytes without a reply handler.
    func session(_ session: WCSession, didReceiveMessageData messageData: Data)
    /// Receives bytes whose sender waits for the reply.
    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping (Data) -> Void)

    /// Receives the counterpart's newest context. Older ones may never arrive.
    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any])

    /// Reports that a user info transfer has arrived or failed.
    func session(
        _ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?)
    /// Receives a user info. All of them arrive, in order.
    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any])

    /// Reports that a file transfer has arrived or failed.
    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?)
    /// Receives a file, which is deleted when this method returns. Move it to keep it.
    func session(_ session: WCSession, didReceive file: WCSessionFile)
}

extension WCSessionDelegate {
    // Apple requires the first two on iOS. They are unavailable on watchOS, so apps for it don't implement them.
    public func sessionDidBecomeInactive(_ session: WCSession) {}
    public func sessionDidDeactivate(_ session: WCSession) {}

    public func sessionWatchStateDidChange(_ session: WCSession) {}
    public func sessionCompanionAppInstalledDidChange(_ session: WCSession) {}
    public func sessionReachabilityDidChange(_ session: WCSession) {}

    // Without the method for a message, the sender gets an error.
    public func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {
        session.lacksHandler()
    }
    public func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void
    ) {
        session.lacksHandler()
    }
    public func session(_ session: WCSession, didReceiveMessageData messageData: Data) {
        session.lacksHandler()
    }
    public func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping (Data) -> Void
    ) {
        session.lacksHandler()
    }

    public func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {}
    public func session(
        _ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?
    ) {}
    public func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {}
    public func session(
        _ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?
    ) {}
    public func session(_ session: WCSession, didReceive file: WCSessionFile) {}
}
