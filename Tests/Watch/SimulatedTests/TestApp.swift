import Dispatch
import Foundation
import MeshBase
import MeshSimulatedWatch

/// An app that records the calls of its delegate.
final class TestApp: NSObject, WCSessionDelegate, @unchecked Sendable {
    enum Event: Hashable, Sendable {
        case activated(WCSessionActivationState, WCError.Code?)
        case inactive, deactivated, watchState, companionState
        case reachable(Bool)
        case message(Int)
        case request(Int)
        case data([UInt8])
        case dataRequest([UInt8])
        case replied(Int)
        case failed(WCError.Code?)
        case context(Int)
        case userInfo(Int)
        case finishedUserInfo(Int, WCError.Code?)
        case file(String, [UInt8])
        case finishedFile(String, WCError.Code?)
    }

    let session: WCSession
    private let log = Locked<[Event]>([])
    private let mainThreadCalls = Locked(0)
    /// Called before an event is recorded, from within the delegate's call.
    let onEvent = Locked<(@Sendable (Event) -> Void)?>(nil)
    /// True if requests are answered, with the number plus 100.
    let answers = Locked(true)
    let heldReplies = Locked<[([String: Any]) -> Void]>([])

    init(_ session: WCSession, activates: Bool = true) {
        self.session = session
        super.init()
        session.delegate = self
        if activates { session.activate() }
    }

    var events: [Event] { log.withLock { $0 } }
    var callsOnMainThread: Int { mainThreadCalls.withLock { $0 } }

    func clear() { log.withLock { $0 = [] } }

    func send(_ number: Int, wantsReply: Bool = false) {
        session.sendMessage(
            ["n": number], replyHandler: wantsReply ? { self.note(.replied(Self.number($0))) } : nil,
            errorHandler: { self.note(.failed(($0 as? WCError)?.code)) })
    }

    private func note(_ event: Event) {
        if isMainThread { mainThreadCalls.withLock { $0 += 1 } }
        onEvent.withLock { $0 }?(event)
        log.withLock { $0.append(event) }
    }

    private static func number(_ content: [String: Any]) -> Int { content["n"] as? Int ?? -1 }
    private static func code(_ error: (any Error)?) -> WCError.Code? { (error as? WCError)?.code }

    // MARK: WCSessionDelegate

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
        error: (any Error)?
    ) {
        note(.activated(activationState, Self.code(error)))
    }
    func sessionDidBecomeInactive(_ session: WCSession) { note(.inactive) }
    func sessionDidDeactivate(_ session: WCSession) { note(.deactivated) }
    func sessionWatchStateDidChange(_ session: WCSession) { note(.watchState) }
    func sessionCompanionAppInstalledDidChange(_ session: WCSession) { note(.companionState) }
    func sessionReachabilityDidChange(_ session: WCSession) { note(.reachable(session.isReachable)) }
    func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {
        note(.message(Self.number(message)))
    }
    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void
    ) {
        note(.request(Self.number(message)))
        if answers.withLock({ $0 }) {
            replyHandler(["n": Self.number(message) + 100])
        } else {
            heldReplies.withLock { $0.append(replyHandler) }
        }
    }
    func session(_ session: WCSession, didReceiveMessageData messageData: Data) {
        note(.data([UInt8](messageData)))
    }
    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping (Data) -> Void
    ) {
        note(.dataRequest([UInt8](messageData)))
        replyHandler(Data(messageData.reversed()))
    }
    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        note(.context(Self.number(applicationContext)))
    }
    func session(
        _ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?
    ) {
        note(.finishedUserInfo(Self.number(userInfoTransfer.userInfo), Self.code(error)))
    }
    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any] = [:]) {
        note(.userInfo(Self.number(userInfo)))
    }
    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?) {
        note(.finishedFile(fileTransfer.file.fileURL.lastPathComponent, Self.code(error)))
    }
    func session(_ session: WCSession, didReceive file: WCSessionFile) {
        let bytes = (try? Data(contentsOf: file.fileURL)).map { [UInt8]($0) } ?? []
        note(.file(file.fileURL.lastPathComponent, bytes))
    }
}

/// A pair with both apps in the foreground and activated.
struct Running {
    let pair: SimulatedWatchPair
    let phone: TestApp
    let watch: TestApp

    init(seed: UInt64 = 1, _ conditions: SimulatedWatchConditions = .ideal, watches: Int = 1) throws {
        pair = SimulatedWatchPair(seed: seed, conditions: conditions, watches: watches)
        phone = TestApp(try pair.phone.launched())
        watch = TestApp(try pair.watch.launched())
        pair.runUntilIdle()
        phone.clear()
        watch.clear()
    }
}

struct NotLaunched: Error {}

/// True if the current code runs where the main actor's code does.
var isMainThread: Bool {
    _ = mainQueueMark
    return Thread.isMainThread || DispatchQueue.getSpecific(key: mainQueueKey) == true
}

private let mainQueueKey = DispatchSpecificKey<Bool>()
private let mainQueueMark: Void = DispatchQueue.main.setSpecific(key: mainQueueKey, value: true)

extension SimulatedDevice {
    func launched() throws -> WCSession {
        guard let session = launch() else { throw NotLaunched() }
        return session
    }
}
