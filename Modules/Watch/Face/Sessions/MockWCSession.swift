public import Foundation
import MeshBase

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// A session for tests that records what is sent.
public final class MockWCSession: StandInSession, @unchecked Sendable {
    private struct Configuration {
        var sendMessageResponse: Data?
        var sendMessageDelayMs: Int64 = 0
        var onSendMessageData: (@Sendable (Data) -> Void)?
        var onTransferUserInfo: (@Sendable ([String: Any]) -> Void)?
        var onUpdateApplicationContext: (@Sendable ([String: Any]) -> Void)?
        var onActivate: (@Sendable () -> Void)?
        var onTransferFile: (@Sendable (URL, [String: Any]?) -> Void)?
        var autoCompleteFileTransfer = true
        var transferFileError: (any Error)?
    }

    private struct Calls {
        var activate = 0
        var sendMessageData = 0
        var transferUserInfo = 0
        var updateApplicationContext = 0
        var transferFile = 0
        var messageData: Data?
        var userInfo: [String: Any]?
        var applicationContext: [String: Any]?
        var fileURL: URL?
        var fileMetadata: [String: Any]?
    }

    private let configuration = Locked(Configuration())
    private let calls = Locked(Calls())

    /// Creates a session that is activated, reachable and answers every message.
    public override init() { super.init() }

    // MARK: Behavior

    /// The answer to every message: a `WireResponse` in JSON, into which the request's ID is written. nil answers with
    /// an empty success.
    public var sendMessageResponse: Data? {
        get { configuration.withLock { $0.sendMessageResponse } }
        set { configuration.withLock { $0.sendMessageResponse = newValue } }
    }
    /// The delay in milliseconds before a message is answered or fails.
    public var sendMessageDelayMs: Int64 {
        get { configuration.withLock { $0.sendMessageDelayMs } }
        set { configuration.withLock { $0.sendMessageDelayMs = newValue } }
    }
    /// True if file transfers finish automatically.
    public var autoCompleteFileTransfer: Bool {
        get { configuration.withLock { $0.autoCompleteFileTransfer } }
        set { configuration.withLock { $0.autoCompleteFileTransfer = newValue } }
    }
    /// The error that ends file transfers; nil if they succeed.
    public var transferFileError: (any Error)? {
        get { configuration.withLock { $0.transferFileError } }
        set { configuration.withLock { $0.transferFileError = newValue } }
    }
    /// A function called with each message's data, before its reply.
    public var onSendMessageData: (@Sendable (Data) -> Void)? {
        get { configuration.withLock { $0.onSendMessageData } }
        set { configuration.withLock { $0.onSendMessageData = newValue } }
    }
    /// A function called with each user info.
    public var onTransferUserInfo: (@Sendable ([String: Any]) -> Void)? {
        get { configuration.withLock { $0.onTransferUserInfo } }
        set { configuration.withLock { $0.onTransferUserInfo = newValue } }
    }
    /// A function called with each application context.
    public var onUpdateApplicationContext: (@Sendable ([String: Any]) -> Void)? {
        get { configuration.withLock { $0.onUpdateApplicationContext } }
        set { configuration.withLock { $0.onUpdateApplicationContext = newValue } }
    }
    /// A function called at each activation.
    public var onActivate: (@Sendable () -> Void)? {
        get { configuration.withLock { $0.onActivate } }
        set { configuration.withLock { $0.onActivate = newValue } }
    }
    /// A function called with each file and its metadata.
    public var onTransferFile: (@Sendable (URL, [String: Any]?) -> Void)? {
        get { configuration.withLock { $0.onTransferFile } }
        set { configuration.withLock { $0.onTransferFile = newValue } }
    }

    // MARK: Recorded calls

    /// The number of calls to `activate`.
    public var activateCallCount: Int { calls.withLock { $0.activate } }
    /// The number of calls to `sendMessageData`.
    public var sendMessageDataCallCount: Int { calls.withLock { $0.sendMessageData } }
    /// The number of calls to `transferUserInfo`.
    public var transferUserInfoCallCount: Int { calls.withLock { $0.transferUserInfo } }
    /// The number of calls to `updateApplicationContext`.
    public var updateApplicationContextCallCount: Int { calls.withLock { $0.updateApplicationContext } }
    /// The number of calls to `transferFile`.
    public var transferFileCallCount: Int { calls.withLock { $0.transferFile } }
    /// The last argument of `sendMessageData`; nil before the first.
    public var lastSentMessageData: Data? { calls.withLock { $0.messageData } }
    /// The last argument of `transferUserInfo`; nil before the first.
    public var lastTransferredUserInfo: [String: Any]? { calls.withLock { $0.userInfo } }
    /// The last argument of `updateApplicationContext`; nil before the first.
    public var lastUpdatedApplicationContext: [String: Any]? { calls.withLock { $0.applicationContext } }
    /// The last argument of `transferFile`; nil before the first.
    public var lastTransferredFileURL: URL? { calls.withLock { $0.fileURL } }
    /// The metadata of the last `transferFile`; nil if it had none.
    public var lastTransferredFileMetadata: [String: Any]? { calls.withLock { $0.fileMetadata } }

    /// Resets call counts, recorded arguments, configured replies and errors, and both application contexts. Callbacks,
    /// the delegate, the session's state and outstanding transfers stay.
    public func reset() {
        calls.withLock { $0 = Calls() }
        configuration.withLock { configuration in
            configuration.sendMessageResponse = nil
            configuration.sendMessageDelayMs = 0
            configuration.transferFileError = nil
            configuration.autoCompleteFileTransfer = true
        }
        sendMessageError = nil
        autoReply = true
        updateContextError = nil
        applicationContext = [:]
        receivedApplicationContext = [:]
    }

    // MARK: WCSessionProviding

    public override func activate() {
        calls.withLock { $0.activate += 1 }
        onActivate?()
        super.activate()
    }

    public override func sendMessageData(
        _ data: Data, replyHandler: ((Data) -> Void)?, errorHandler: ((any Error) -> Void)?
    ) {
        calls.withLock { calls in
            calls.sendMessageData += 1
            calls.messageData = data
        }
        onSendMessageData?(data)
        let delay = sendMessageDelayMs
        guard delay > 0 else {
            return super.sendMessageData(data, replyHandler: replyHandler, errorHandler: errorHandler)
        }
        let call = UncheckedCall { self.answer(data, replyHandler, errorHandler) }
        Task.detached {
            try? await Task.sleep(for: .milliseconds(delay))
            call.perform()
        }
    }

    private func answer(_ data: Data, _ replyHandler: ((Data) -> Void)?, _ errorHandler: ((any Error) -> Void)?) {
        super.sendMessageData(data, replyHandler: replyHandler, errorHandler: errorHandler)
    }

    override func reply(to data: Data) -> Data {
        guard let bytes = sendMessageResponse else { return super.reply(to: data) }
        // The configured response can't contain the request's ID.
        guard let response = try? JSONDecoder().decode(WireResponse.self, from: bytes),
            let request = try? JSONDecoder().decode(WireRequest.self, from: data)
        else { return bytes }
        return Self.encoded(
            WireResponse(outcome: response.outcome, requestID: request.requestID, timestamp: response.timestamp))
    }

    public override func updateApplicationContext(_ applicationContext: [String: Any]) throws {
        calls.withLock { calls in
            calls.updateApplicationContext += 1
            calls.applicationContext = applicationContext
        }
        onUpdateApplicationContext?(applicationContext)
        try super.updateApplicationContext(applicationContext)
    }

    @discardableResult
    public override func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer {
        calls.withLock { calls in
            calls.transferUserInfo += 1
            calls.userInfo = userInfo
        }
        onTransferUserInfo?(userInfo)
        return super.transferUserInfo(userInfo)
    }

    @discardableResult
    public override func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer {
        calls.withLock { calls in
            calls.transferFile += 1
            calls.fileURL = file
            calls.fileMetadata = metadata
        }
        onTransferFile?(file, metadata)
        let transfer = super.transferFile(file, metadata: metadata)
        if autoCompleteFileTransfer {
            let error = transferFileError
            let call = UncheckedCall { self.simulateFileTransferFinished(transfer, error: error) }
            Task.detached { call.perform() }
        }
        return transfer
    }

    // MARK: Simulated events

    /// Delivers a message that expects no reply.
    public func simulateReceivedMessage(_ data: Data) { delegate.receive(messageData: data) }

    /// Delivers a user info to the delegate.
    public func simulateReceivedUserInfo(_ userInfo: [String: Any]) { delegate.receive(userInfo: userInfo) }

    /// Delivers a file to the delegate. Only the system can create a `WCSessionFile`.
    public func simulateFileReceived(_ file: WCSessionFile) { delegate.receive(file: file) }

    /// Reports to the delegate that a file transfer has finished or failed.
    public func simulateFileTransferFinished(_ transfer: WCSessionFileTransfer, error: (any Error)?) {
        delegate.finish(transfer: transfer, error: error)
    }
}
