import Foundation
import MeshBase

/// One launch of an app, behind its `WCSession`. The pair's lock guards all variables.
final class AppProcess: @unchecked Sendable {
    /// The app whose code is running.
    @TaskLocal static var current: AppProcess?

    /// The device's index in `PairCore.devices`.
    let device: Int
    private let core: Locked<PairCore>

    var isAlive = true
    var activation = WCSessionActivationState.notActivated
    weak var delegate: (any WCSessionDelegate)?
    weak var delegateObservation: DelegateObservation?
    /// On a phone, the index of the watch that the session has talked to since its activation.
    var watch: Int
    var isReachable = false
    var isAwaitingReachability = false
    var isDeactivating = false
    /// Set by default delegate methods, which stand for methods that the app doesn't implement.
    var lacksHandler = false
    /// Pending calls that don't depend on the session's state.
    var calls = Queue<AppCall.Content>()
    /// The objects that represent the app's transfers.
    var userInfoTransfers: [UInt64: WCSessionUserInfoTransfer] = [:]
    var fileTransfers: [UInt64: WCSessionFileTransfer] = [:]
    /// Incremented when the system wakes the app, so that earlier planned suspensions lapse.
    var wakeCount = 0

    private var liveSession: WCSession?

    init(device: Int, watch: Int, core: Locked<PairCore>) {
        self.device = device
        self.watch = watch
        self.core = core
        liveSession = WCSession(process: self)
    }

    var isActive: Bool { activation != .notActivated }

    /// The session; the same object while the app runs.
    var session: WCSession { core.withCore { _ in liveSession } ?? WCSession(process: self) }
    /// Like `session`, for callers that hold the lock.
    var lockedSession: WCSession { liveSession ?? WCSession(process: self) }

    /// Ends the process. Call it with the lock held.
    func end() {
        isAlive = false
        activation = .notActivated
        liveSession = nil
        calls.removeAll()
        userInfoTransfers = [:]
        fileTransfers = [:]
    }

    /// Reads under the lock. Returns `otherwise` if the app has ended.
    func read<Result>(_ otherwise: Result, _ body: (inout PairCore, AppProcess) -> Result) -> Result {
        core.withCore { isAlive ? body(&$0, self) : otherwise }
    }

    /// Changes the state under the lock. Does nothing if the app has ended.
    func write(_ body: (inout PairCore, AppProcess) -> Void) {
        core.withCore { if isAlive { body(&$0, self) } }
    }
}

/// The content of a message.
enum MessageContent: Sendable {
    case dictionary(PropertyList)
    case data(Data)

    var asDictionary: [String: Any] {
        if case .dictionary(let content) = self { content.dictionary } else { [:] }
    }

    var asData: Data {
        if case .data(let content) = self { content } else { Data() }
    }

    func fits(_ limit: Int) -> Bool {
        switch self {
        case .dictionary(let content): content.fits(limit)
        case .data(let content): content.count <= limit
        }
    }

    var byteCount: Int {
        switch self {
        case .dictionary(let content): content.byteCountMost
        case .data(let content): content.count
        }
    }
}

/// A file that an app wants to send.
struct FileOffer {
    let url: URL
    let metadata: PropertyList?
    let byteCount: Int64
}

/// A single call into an app: to its delegate, or to a handler that it passed.
struct AppCall {
    enum Content {
        case activated(WCSessionActivationState, WCError.Code?)
        case becameInactive
        case deactivated
        case watchStateChanged
        case companionStateChanged
        case reachabilityChanged
        case message(UInt64, MessageContent, wantsReply: Bool)
        case replied((MessageContent) -> Void, MessageContent)
        case failed((any Error) -> Void, WCError.Code)
        case context(PropertyList)
        case userInfo(UInt64, PropertyList)
        case file(UInt64, WCSessionFile)
        case finishedUserInfo(WCSessionUserInfoTransfer, WCError.Code?)
        case finishedFile(WCSessionFileTransfer, WCError.Code?)
    }

    let process: AppProcess
    let session: WCSession
    let delegate: (any WCSessionDelegate)?
    let content: Content
    /// Simulates a crash: the app dies before the system records the call as complete.
    var crashes = false

    /// Makes the call. Don't hold the lock.
    func perform() {
        AppProcess.$current.withValue(process) { call() }
    }

    private func call() {
        switch content {
        case .activated(let state, let code):
            delegate?.session(session, activationDidCompleteWith: state, error: code.map { WCError($0) })
        case .becameInactive: delegate?.sessionDidBecomeInactive(session)
        case .deactivated: delegate?.sessionDidDeactivate(session)
        case .watchStateChanged: delegate?.sessionWatchStateDidChange(session)
        case .companionStateChanged: delegate?.sessionCompanionAppInstalledDidChange(session)
        case .reachabilityChanged: delegate?.sessionReachabilityDidChange(session)
        case .message(let id, let content, let wantsReply): receive(id, content, wantsReply)
        case .replied(let handler, let content): handler(content)
        case .failed(let handler, let code): handler(WCError(code))
        case .context(let content): delegate?.session(session, didReceiveApplicationContext: content.dictionary)
        case .userInfo(_, let content): delegate?.session(session, didReceiveUserInfo: content.dictionary)
        case .file(_, let file): delegate?.session(session, didReceive: file)
        case .finishedUserInfo(let transfer, let code):
            delegate?.session(session, didFinish: transfer, error: code.map { WCError($0) })
        case .finishedFile(let transfer, let code):
            delegate?.session(session, didFinish: transfer, error: code.map { WCError($0) })
        }
    }

    private func receive(_ id: UInt64, _ content: MessageContent, _ wantsReply: Bool) {
        let process = process
        switch (content, wantsReply) {
        case (.dictionary(let list), false):
            delegate?.session(session, didReceiveMessage: list.dictionary)
        case (.dictionary(let list), true):
            delegate?.session(session, didReceiveMessage: list.dictionary) { reply in
                let content = PropertyList(reply).map(MessageContent.dictionary)
                process.write { $0.reply(content, to: id, by: $1) }
            }
        case (.data(let data), false):
            delegate?.session(session, didReceiveMessageData: data)
        case (.data(let data), true):
            delegate?.session(session, didReceiveMessageData: data) { reply in
                process.write { $0.reply(.data(reply), to: id, by: $1) }
            }
        }
    }
}
