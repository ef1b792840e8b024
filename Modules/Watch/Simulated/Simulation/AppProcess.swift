import Foundation
import MeshBase

/// One launch of an app: what its `WCSession` speaks for. All but the constants is guarded by the pair's lock.
final class AppProcess: @unchecked Sendable {
    /// The one whose code is running.
    @TaskLocal static var current: AppProcess?

    /// The device's place in `PairCore.devices`.
    let device: Int
    private let core: Locked<PairCore>

    var isAlive = true
    var activation = WCSessionActivationState.notActivated
    weak var delegate: (any WCSessionDelegate)?
    weak var delegateObservation: DelegateObservation?
    /// Of a phone: the place of the watch that the session talks to, as of its activation.
    var watch: Int
    var isReachable = false
    var isAwaitingReachability = false
    var isDeactivating = false
    /// Set by what stands in for delegate methods that the app does not have.
    var lacksHandler = false
    /// What waits to be called, whatever the state of the session.
    var calls = Line<AppCall.Content>()
    /// The objects by which the app knows its transfers.
    var userInfoTransfers: [UInt64: WCSessionUserInfoTransfer] = [:]
    var fileTransfers: [UInt64: WCSessionFileTransfer] = [:]
    /// Raised whenever the system wakes the app, so that older plans to suspend it lapse.
    var wakeCount = 0

    private var liveSession: WCSession?

    init(device: Int, watch: Int, core: Locked<PairCore>) {
        self.device = device
        self.watch = watch
        self.core = core
        liveSession = WCSession(process: self)
    }

    var isActive: Bool { activation != .notActivated }

    /// The same object while the app lives.
    var session: WCSession { core.withCore { _ in liveSession } ?? WCSession(process: self) }
    /// As `session`, for who holds the lock.
    var lockedSession: WCSession { liveSession ?? WCSession(process: self) }

    /// Under the lock.
    func end() {
        isAlive = false
        activation = .notActivated
        liveSession = nil
        calls.removeAll()
        userInfoTransfers = [:]
        fileTransfers = [:]
    }

    /// Of an app that has died nothing can be read.
    func read<Result>(_ otherwise: Result, _ body: (inout PairCore, AppProcess) -> Result) -> Result {
        core.withCore { isAlive ? body(&$0, self) : otherwise }
    }

    /// An app that has died can do nothing.
    func write(_ body: (inout PairCore, AppProcess) -> Void) {
        core.withCore { if isAlive { body(&$0, self) } }
    }
}

/// What `sendMessage` and `sendMessageData` carry.
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

/// A file that an app asks to be sent.
struct FileOffer {
    let url: URL
    let metadata: PropertyList?
    let byteCount: Int64
}

/// One call of an app: of its delegate, or of a handler that it passed.
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
    /// The app is to die before the call has returned.
    var crashes = false

    /// Without the lock.
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
