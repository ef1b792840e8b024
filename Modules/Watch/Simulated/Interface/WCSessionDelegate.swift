public import Foundation

/// The events that a `WCSession` reports to its app.
///
/// Called serially, never on the main thread. The methods that Apple's protocol has as optional have default
/// implementations here; of Swift's rules for those one differs: a subclass of the class that declares the conformance
/// overrides them only if that class implements them.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcsessiondelegate
public protocol WCSessionDelegate: NSObjectProtocol {
    /// The session was activated, or could not be.
    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
        error: (any Error)?)
    /// Reports that the user is switching to another watch. On iOS only.
    func sessionDidBecomeInactive(_ session: WCSession)
    /// Reports that everything from the old watch has been delivered. Activate the session again to talk to the other
    /// watch. On iOS only.
    func sessionDidDeactivate(_ session: WCSession)
    /// Reports a change of `isPaired`, `isWatchAppInstalled`, `isComplicationEnabled` or `watchDirectoryURL`. On iOS
    /// only.
    func sessionWatchStateDidChange(_ session: WCSession)
    /// Reports a change of `isCompanionAppInstalled`. On watchOS only.
    func sessionCompanionAppInstalledDidChange(_ session: WCSession)
    /// The counterpart takes messages, or no longer.
    func sessionReachabilityDidChange(_ session: WCSession)

    /// A message whose sender wants no reply.
    func session(_ session: WCSession, didReceiveMessage message: [String: Any])
    /// A message whose sender waits for the reply.
    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void)
    /// Bytes whose sender wants no reply.
    func session(_ session: WCSession, didReceiveMessageData messageData: Data)
    /// Bytes whose sender waits for the reply.
    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping (Data) -> Void)

    /// The newest context of the counterpart; older ones may never arrive.
    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any])

    /// A user info has arrived at the counterpart, or never will.
    func session(
        _ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?)
    /// A user info of the counterpart; each arrives, in order.
    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any])

    /// A file has arrived at the counterpart, or never will.
    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?)
    /// The file is deleted when this method returns: move it elsewhere before.
    func session(_ session: WCSession, didReceive file: WCSessionFile)
}

extension WCSessionDelegate {
    // Required by Apple on iOS and unavailable on watchOS, where apps do not write them.
    public func sessionDidBecomeInactive(_ session: WCSession) {}
    public func sessionDidDeactivate(_ session: WCSession) {}

    public func sessionWatchStateDidChange(_ session: WCSession) {}
    public func sessionCompanionAppInstalledDidChange(_ session: WCSession) {}
    public func sessionReachabilityDidChange(_ session: WCSession) {}

    // Who sends to an app without the method that would take the message learns that it was not delivered.
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
