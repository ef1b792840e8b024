import Foundation
import MeshBase
import MeshSimulatedWatch
import MeshWatchConnectivityTransport

/// An app's own delegate, which records its calls.
final class Recorder: NSObject, WCSessionDelegate, Sendable {
    private struct Record {
        var activations: [WCSessionActivationState] = []
        var userInfos: [[String]] = []
        var contexts: [[String]] = []
        var messages: [[String]] = []
    }

    private let record = Locked(Record())

    override init() { super.init() }

    /// Sets itself as the session's delegate, and activates it.
    init(_ session: WCSession) {
        super.init()
        session.delegate = self
        session.activate()
    }

    var activations: [WCSessionActivationState] { record.withLock { $0.activations } }
    /// The keys of each user info.
    var userInfos: [[String]] { record.withLock { $0.userInfos } }
    var contexts: [[String]] { record.withLock { $0.contexts } }
    var messages: [[String]] { record.withLock { $0.messages } }

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
        error: (any Error)?
    ) {
        record.withLock { $0.activations.append(activationState) }
    }
    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {
        let keys = userInfo.keys.sorted()
        record.withLock { $0.userInfos.append(keys) }
    }
    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        let keys = applicationContext.keys.sorted()
        record.withLock { $0.contexts.append(keys) }
    }
    func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {
        let keys = message.keys.sorted()
        record.withLock { $0.messages.append(keys) }
    }
    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void
    ) {
        let keys = message.keys.sorted()
        record.withLock { $0.messages.append(keys) }
        replyHandler(["n": (message["n"] as? Int ?? 0) + 100])
    }
}

final class TestListener: WatchSessionListener {
    private let body: @Sendable (WatchSessionContent) -> Bool

    init(_ body: @escaping @Sendable (WatchSessionContent) -> Bool) { self.body = body }

    func session(_ event: WatchSessionEvent, _ state: WCSessionState) {}
    func take(_ content: WatchSessionContent) -> Bool { body(content) }
}

/// A session as an app's author might write it for a test. It never calls its delegate, and refuses every context.
final class InjectedSession: WCSessionProviding, @unchecked Sendable {
    private let reachable = Locked(false)
    private let counterpart = Locked<String?>("paired")
    private let activationError: WCError?
    let activationCount = Locked(0)
    let refusedContextCount = Locked(0)
    let sentMessages = Locked<[Data]>([])
    weak var delegate: (any WCSessionDelegate)?

    /// - Parameter activationError: the reason why it is never activated, or nil if it is active from the beginning.
    init(activationError: WCError? = nil) { self.activationError = activationError }

    var activationState: WCSessionActivationState { activationError == nil ? .activated : .notActivated }
    var isReachable: Bool {
        get { reachable.withLock { $0 } }
        set { reachable.withLock { $0 = newValue } }
    }
    var counterpartID: String? {
        get { counterpart.withLock { $0 } }
        set { counterpart.withLock { $0 = newValue } }
    }
    var applicationContext: [String: Any] { [:] }
    var receivedApplicationContext: [String: Any] { [:] }
    func activate() {
        activationCount.withLock { $0 += 1 }
        if let activationError {
            delegate?.session(.default, activationDidCompleteWith: .notActivated, error: activationError)
        }
    }
    func sendMessage(
        _ message: [String: Any], replyHandler: (([String: Any]) -> Void)?, errorHandler: ((any Error) -> Void)?
    ) {}
    func sendMessageData(_ data: Data, replyHandler: ((Data) -> Void)?, errorHandler: ((any Error) -> Void)?) {
        sentMessages.withLock { $0.append(data) }
    }
    func updateApplicationContext(_ applicationContext: [String: Any]) throws {
        refusedContextCount.withLock { $0 += 1 }
        throw WCError(.watchAppNotInstalled)
    }
    func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer {
        WCSession.default.transferUserInfo([:])
    }
    var outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] { [] }
    func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer {
        WCSession.default.transferFile(file, metadata: nil)
    }
    var outstandingFileTransfers: [WCSessionFileTransfer] { [] }
}
