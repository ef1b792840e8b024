public import Foundation
import MeshBase

/// The activation state of a session.
public enum WCSessionActivationState: Int, Hashable, Sendable {
    /// The session doesn't communicate.
    case notActivated = 0
    /// The user is switching watches. Content from the old watch is still delivered; nothing is sent.
    case inactive = 1
    /// The session sends and receives.
    case activated = 2
}

/// The stand-in for Apple's class, with which an app talks to its counterpart on the paired device.
///
/// Each launch of an app on a `SimulatedDevice` has its own session, which is `default` for code that the device runs.
/// Other code gets an unsupported session. Safe to use from any thread but, like Apple's class, not declared
/// `Sendable`. The delegate is called on the thread that advances the pair, never on the main thread.
///
/// Apple's interface differs between iOS and watchOS; this one has the members of both.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcsession
open class WCSession: NSObject {
    let process: AppProcess?

    init(process: AppProcess?) { self.process = process }

    /// Creates an unsupported session.
    public override convenience init() { self.init(process: nil) }

    private nonisolated(unsafe) static let unsupported = WCSession()

    /// Returns true if a `SimulatedDevice` runs the calling code.
    open class func isSupported() -> Bool { AppProcess.current != nil }
    /// The session of the app that runs the calling code. Other code gets one that is never activated.
    open class var `default`: WCSession { AppProcess.current?.session ?? unsupported }

    /// The object that receives the session's events. Held weakly, as by Apple's class.
    open var delegate: (any WCSessionDelegate)? {
        get { process?.read(nil) { $1.delegate } }
        set {
            process?.write { $1.delegate = newValue }
            process?.read(nil) { $1.delegateObservation }?.changed()
        }
    }

    /// Stands in for key-value observation of `delegate`, which only Apple's systems have. Calls `changed` each time
    /// the delegate is set, until the result is released. Supports one observer at a time.
    package func observeDelegateChanges(_ changed: @escaping @Sendable () -> Void) -> AnyObject? {
        let observation = DelegateObservation(changed: changed)
        process?.write { $1.delegateObservation = observation }
        return observation
    }

    /// Starts activating the session, which calls the delegate at the end. Does nothing without a delegate.
    open func activate() { process?.write { $0.activate($1) } }

    /// The activation state of the session.
    open var activationState: WCSessionActivationState {
        process?.read(.notActivated) { $1.activation } ?? .notActivated
    }

    // MARK: The counterpart. False, nil and empty until the session has been activated.

    /// True if the counterpart accepts messages now, as far as the system knows.
    open var isReachable: Bool { process?.read(false) { $1.isActive && $1.isReachable } ?? false }
    /// True if a watch is paired. Meaningful on iOS only.
    open var isPaired: Bool { process?.read(false) { $0.isPaired($1) } ?? false }
    /// True if the app is installed on the paired watch. Meaningful on iOS only.
    open var isWatchAppInstalled: Bool { process?.read(false) { $0.isWatchAppInstalled($1) } ?? false }
    /// True if the app's complication is on the active watch face. Meaningful on iOS only.
    open var isComplicationEnabled: Bool { process?.read(false) { $0.isComplicationEnabled($1) } ?? false }
    /// The folder for data about this watch, deleted when the watch app is removed. Meaningful on iOS only.
    open var watchDirectoryURL: URL? { process?.read(nil) { $0.watchDirectory($1) } }
    /// True if the companion app is installed on the phone. Meaningful on watchOS only.
    open var isCompanionAppInstalled: Bool { process?.read(false) { $0.isCompanionAppInstalled($1) } ?? false }
    /// True if the phone must be unlocked after a restart before it can be reached. Meaningful on watchOS only.
    open var iOSDeviceNeedsUnlockAfterRebootForReachability: Bool {
        process?.read(false) { $0.phoneNeedsUnlock($1) } ?? false
    }
    /// True if content has arrived that the delegate hasn't received yet.
    open var hasContentPending: Bool { process?.read(false) { $0.hasContentPending($1) } ?? false }

    // MARK: Messages

    /// Sends a dictionary of property list values, at most 65,536 bytes. Returns at once.
    open func sendMessage(
        _ message: [String: Any], replyHandler: (([String: Any]) -> Void)?,
        errorHandler: ((any Error) -> Void)? = nil
    ) {
        send(
            PropertyList(message).map(MessageContent.dictionary),
            reply: replyHandler.map { handler in { (content: MessageContent) in handler(content.asDictionary) } },
            errorHandler)
    }

    /// Sends at most 65,536 bytes. Returns at once.
    open func sendMessageData(
        _ data: Data, replyHandler: ((Data) -> Void)?, errorHandler: ((any Error) -> Void)? = nil
    ) {
        send(
            .data(data),
            reply: replyHandler.map { handler in { (content: MessageContent) in handler(content.asData) } },
            errorHandler)
    }

    // MARK: The application context

    /// The application context that was sent last.
    open var applicationContext: [String: Any] { process?.read([:]) { $0.sentContext($1) } ?? [:] }
    /// The application context that arrived last. It survives a relaunch.
    open var receivedApplicationContext: [String: Any] { process?.read([:]) { $0.receivedContext($1) } ?? [:] }

    /// Replaces the context that the counterpart receives, at most 262,144 bytes. A context equal to the last one isn't
    /// delivered.
    ///
    /// `SimulatedWatchStatistics` counts how long the call would have blocked.
    /// - Throws: `WCError`.
    open func updateApplicationContext(_ applicationContext: [String: Any]) throws {
        guard let process else { throw WCError(.sessionNotSupported) }
        let content = PropertyList(applicationContext)
        let isMainThread = MainThread.isCurrent
        let refusal = process.read(WCError.Code.sessionNotActivated) {
            $0.updateContext(content, by: $1, isMainThread: isMainThread)
        }
        if let refusal { throw WCError(refusal) }
    }

    // MARK: Transfers

    /// Queues a dictionary of property list values, at most 65,536 bytes.
    @discardableResult
    open func transferUserInfo(_ userInfo: [String: Any] = [:]) -> WCSessionUserInfoTransfer {
        transfer(userInfo, isComplication: false)
    }

    /// Queues a user info. While the daily budget lasts, it goes ahead of others and wakes the watch app. Fails
    /// while the watch face doesn't show the complication. On iOS only.
    @discardableResult
    open func transferCurrentComplicationUserInfo(_ userInfo: [String: Any] = [:]) -> WCSessionUserInfoTransfer {
        transfer(userInfo, isComplication: true)
    }

    /// The number of complication transfers left today, of 50. Meaningful on iOS only.
    open var remainingComplicationUserInfoTransfers: Int { process?.read(0) { $0.complicationBudget($1) } ?? 0 }

    /// User info transfers that haven't arrived yet.
    open var outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] {
        process?.read([]) { $0.outstandingUserInfos(of: $1) } ?? []
    }

    /// Queues a file for transfer to the counterpart. Keep the file in place until the delegate learns that the
    /// transfer has finished.
    @discardableResult
    open func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer {
        let size = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size]) as? NSNumber
        let content = metadata.map { PropertyList($0) }
        let offer = FileOffer(url: file, metadata: content ?? nil, byteCount: size?.int64Value ?? 0)
        let isValid = content.map { $0 != nil } ?? true
        let transfer = process?.read(nil) { $0.transfer(offer, isValid: isValid, by: $1) }
        return transfer
            ?? WCSessionFileTransfer(
                id: 0, process: nil, file: WCSessionFile(fileURL: file, metadata: offer.metadata),
                byteCount: offer.byteCount)
    }

    /// File transfers that haven't arrived yet.
    open var outstandingFileTransfers: [WCSessionFileTransfer] {
        process?.read([]) { $0.outstandingFiles(of: $1) } ?? []
    }
}

extension WCSession {
    private func transfer(_ userInfo: [String: Any], isComplication: Bool) -> WCSessionUserInfoTransfer {
        let content = PropertyList(userInfo)
        let transfer = process?.read(nil) { $0.transfer(content, isComplication: isComplication, by: $1) }
        return transfer ?? WCSessionUserInfoTransfer(id: 0, process: nil, content: content ?? PropertyList())
    }

    private func send(
        _ content: MessageContent?, reply: ((MessageContent) -> Void)?, _ failure: ((any Error) -> Void)?
    ) {
        guard let process else {
            guard let failure else { return }
            // Handlers are never called on the caller's thread.
            let handler = UncheckedHandler(call: failure)
            DispatchQueue.global().async { handler.call(WCError(.sessionNotSupported)) }
            return
        }
        process.write { $0.send(content, by: $1, reply: reply, failure: failure) }
    }

    /// Notes that the delegate doesn't implement the method for the current message.
    func lacksHandler() { process?.write { $1.lacksHandler = true } }
}

final class DelegateObservation: Sendable {
    let changed: @Sendable () -> Void

    init(changed: @escaping @Sendable () -> Void) { self.changed = changed }
}

private struct UncheckedHandler: @unchecked Sendable {
    let call: (any Error) -> Void
}
