import Foundation
import MeshSimulatedWatch
import Testing

// The code between the marks uses every public name as an app for Apple's framework does.

// MARK: - App code

enum ConnectivityIssue: Error {
    case unreachable, tooLarge
    case other(Int)
}

final class ConnectivityManager: NSObject, WCSessionDelegate, @unchecked Sendable {
    static let shared = ConnectivityManager()

    private(set) var log: [String] = []
    private var validSession: WCSession? {
        let session = WCSession.default
        return session.isPaired && session.isWatchAppInstalled ? session : nil
    }

    func start() {
        guard WCSession.isSupported() else { return }
        let session = WCSession.default
        session.delegate = self
        session.activate()
    }

    func describe(_ session: WCSession) -> String {
        let state =
            switch session.activationState {
            case .notActivated: "not activated"
            case .inactive: "inactive"
            case .activated: "activated"
            @unknown default: "new"
            }
        let flags = [
            session.isReachable, session.isPaired, session.isWatchAppInstalled, session.isComplicationEnabled,
            session.isCompanionAppInstalled, session.iOSDeviceNeedsUnlockAfterRebootForReachability,
            session.hasContentPending,
        ]
        let folder: URL? = session.watchDirectoryURL
        return "\(state) \(flags) \(folder?.lastPathComponent ?? "-") \(session.remainingComplicationUserInfoTransfers)"
    }

    func sendEverything(_ file: URL) throws {
        guard let session = validSession else { return }
        session.sendMessage(["a": 1], replyHandler: nil)
        session.sendMessage(["b": 2], replyHandler: nil, errorHandler: nil)
        session.sendMessage(["c": 3]) { reply in
            self.log.append("reply \(reply["c"] as? Int ?? 0)")
        } errorHandler: { error in
            self.log.append("error \(self.classify(error))")
        }
        session.sendMessageData(Data([1]), replyHandler: { (data: Data) in self.log.append("data \(data.count)") })
        session.sendMessageData(Data([2]), replyHandler: nil, errorHandler: { (error: any Error) in print(error) })
        try session.updateApplicationContext(["count": 1])
        let _: [String: Any] = session.applicationContext
        let _: [String: Any] = session.receivedApplicationContext
        session.transferUserInfo()
        let transfer: WCSessionUserInfoTransfer = session.transferUserInfo(["u": 1])
        log.append("outstanding \(session.outstandingUserInfoTransfers.contains(transfer)) \(transfer.isTransferring)")
        let complication = session.transferCurrentComplicationUserInfo(["v": 1])
        if complication.isCurrentComplicationInfo, complication.userInfo.isEmpty { complication.cancel() }
        let fileTransfer: WCSessionFileTransfer = session.transferFile(file, metadata: ["m": true])
        let progress: Progress = fileTransfer.progress
        if progress.isFinished, !fileTransfer.isTransferring { fileTransfer.cancel() }
        let sent: WCSessionFile = fileTransfer.file
        log.append("file \(sent.fileURL.lastPathComponent) \(sent.metadata?["m"] as? Bool ?? false)")
        for transfer in session.outstandingFileTransfers where transfer.file.metadata == nil { transfer.cancel() }
    }

    func classify(_ error: any Error) -> ConnectivityIssue {
        if let error = error as? WCError {
            switch error.code {
            case .notReachable, .deviceNotPaired, .watchAppNotInstalled, .companionAppNotInstalled: return .unreachable
            case .payloadTooLarge: return .tooLarge
            default: return .other(error.errorCode)
            }
        }
        let error = error as NSError
        return error.domain == WCErrorDomain ? .other(error.code) : .other(0)
    }

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState, error: (any Error)?
    ) {
        log.append(error.map { "failed \($0.localizedDescription)" } ?? "activated \(activationState.rawValue)")
    }

    #if !os(watchOS)
        func sessionDidBecomeInactive(_ session: WCSession) { log.append("inactive") }
        func sessionDidDeactivate(_ session: WCSession) { session.activate() }
        func sessionWatchStateDidChange(_ session: WCSession) { log.append("watch state") }
    #endif
    func sessionCompanionAppInstalledDidChange(_ session: WCSession) {}
    func sessionReachabilityDidChange(_ session: WCSession) { log.append("reachable \(session.isReachable)") }

    func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {}
    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void
    ) {
        replyHandler(message)
    }
    func session(_ session: WCSession, didReceiveMessageData messageData: Data) {}
    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping (Data) -> Void
    ) {
        replyHandler(messageData)
    }
    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        log.append("context \(applicationContext.count)")
    }
    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any] = [:]) {
        log.append("user info \(userInfo.count)")
    }
    func session(_ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?) {
        log.append("user info finished \(userInfoTransfer.isTransferring)")
    }
    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?) {
        log.append("file finished \(fileTransfer.file.fileURL.lastPathComponent)")
    }
    func session(_ session: WCSession, didReceive file: WCSessionFile) {
        log.append("file \(file.fileURL.lastPathComponent)")
    }
}

/// Implements only the methods that Apple requires on watchOS.
final class BareDelegate: NSObject, WCSessionDelegate {
    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
        error: (any Error)?
    ) {}
}

// MARK: - Tests

@Suite struct InterfaceTests {
    @Test("An app written for Apple's framework runs on the simulated devices unchanged")
    func unchangedApp() throws {
        let pair = SimulatedWatchPair(seed: 4, conditions: .ideal)
        pair.watch.isComplicationEnabled = true
        let (phone, watch) = (ConnectivityManager(), ConnectivityManager())
        pair.phone.onLaunch { _ in phone.start() }
        pair.watch.onLaunch { _ in watch.start() }
        pair.phone.launch()
        pair.watch.launch()
        pair.runUntilIdle()
        let folder = pair.directory
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("x.txt")
        try Data([1]).write(to: file)
        try pair.phone.run { try phone.sendEverything(file) }
        pair.runUntilIdle()
        #expect(
            Set(phone.log) == [
                "activated 2", "reachable true", "outstanding true true", "file x.txt true", "reply 3", "data 1",
                "user info finished false", "file finished x.txt",
            ])
        #expect(
            Set(watch.log).isSuperset(of: ["activated 2", "context 1", "user info 0", "user info 1", "file x.txt"]))
        let session = try #require(pair.phone.session)
        #expect(phone.describe(session) == "activated [true, true, true, true, false, false, false] watch 49")
    }
}
