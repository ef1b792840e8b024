public import Foundation
import MeshBase
public import MeshWatchConnectivityTransport

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// The base class of `PreviewWCSession` and `MockWCSession`: a session that doesn't use the system. Its counterpart
/// answers like an app with WatchConnectivitySwift 5.
///
/// Safe to use from any thread. The `simulate` methods and the setter of `isReachable` call the delegate on the
/// caller's thread; `activate` calls it on another one.
public class StandInSession: WCSessionProviding, @unchecked Sendable {
    struct State {
        var activationState = WCSessionActivationState.activated
        var isReachable = true
        var isPaired = true
        var isWatchAppInstalled = true
        var applicationContext: [String: Any] = [:]
        var receivedApplicationContext: [String: Any] = [:]
        weak var delegate: (any WCSessionDelegate)?
        var outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] = []
        var outstandingFileTransfers: [WCSessionFileTransfer] = []
        var sendMessageError: (any Error)?
        var autoReply = true
        var updateContextError: (any Error)?
    }

    let state = Locked(State())
    private let changes = Topic<WCSessionState>(bufferLimit: 16, overflow: .dropOldest)

    init() {}

    public func stateChanges() -> AsyncStream<WCSessionState> { changes.subscribe() }

    private func change(_ body: (inout State) -> Void) {
        state.withLock(body)
        changes.publish(WCSessionState(self))
    }

    // MARK: Session state

    /// The activation state of the session. Setting it doesn't call the delegate.
    public var activationState: WCSessionActivationState {
        get { state.withLock { $0.activationState } }
        set { change { $0.activationState = newValue } }
    }
    /// True if the counterpart accepts messages. A change calls the delegate, as the system does.
    public var isReachable: Bool {
        get { state.withLock { $0.isReachable } }
        set {
            let hasChanged = state.withLock { state in
                defer { state.isReachable = newValue }
                return state.isReachable != newValue
            }
            if hasChanged { delegate.notifyReachability() }
        }
    }
    /// True if a watch is paired. Meaningful on iOS only.
    public var isPaired: Bool {
        get { state.withLock { $0.isPaired } }
        set { change { $0.isPaired = newValue } }
    }
    /// True if the app is installed on the paired watch. Meaningful on iOS only.
    public var isWatchAppInstalled: Bool {
        get { state.withLock { $0.isWatchAppInstalled } }
        set { change { $0.isWatchAppInstalled = newValue } }
    }
    public var applicationContext: [String: Any] {
        get { state.withLock { $0.applicationContext } }
        set { state.withLock { $0.applicationContext = newValue } }
    }
    public var receivedApplicationContext: [String: Any] {
        get { state.withLock { $0.receivedApplicationContext } }
        set { state.withLock { $0.receivedApplicationContext = newValue } }
    }
    /// The object that receives the session's events. Held weakly.
    public var delegate: (any WCSessionDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }
    /// The outstanding user infos, as set by a test. `transferUserInfo` adds none.
    public var outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] {
        get { state.withLock { $0.outstandingUserInfoTransfers } }
        set { state.withLock { $0.outstandingUserInfoTransfers = newValue } }
    }
    /// The outstanding files, as set by a test. `transferFile` adds none.
    public var outstandingFileTransfers: [WCSessionFileTransfer] {
        get { state.withLock { $0.outstandingFileTransfers } }
        set { state.withLock { $0.outstandingFileTransfers = newValue } }
    }

    // MARK: Simulated failures

    /// The error with which messages fail; nil if they arrive.
    public var sendMessageError: (any Error)? {
        get { state.withLock { $0.sendMessageError } }
        set { state.withLock { $0.sendMessageError = newValue } }
    }
    /// True if messages are answered. Otherwise neither handler is called.
    public var autoReply: Bool {
        get { state.withLock { $0.autoReply } }
        set { state.withLock { $0.autoReply = newValue } }
    }
    /// The error that `updateApplicationContext` throws; nil if it succeeds.
    public var updateContextError: (any Error)? {
        get { state.withLock { $0.updateContextError } }
        set { state.withLock { $0.updateContextError = newValue } }
    }

    // MARK: Sending

    /// Calls the delegate asynchronously with the current `activationState`.
    public func activate() {
        let delegate = delegate
        let state = activationState
        let call = UncheckedCall { delegate?.session(.default, activationDidCompleteWith: state, error: nil) }
        Task.detached { call.perform() }
    }

    /// Does nothing, because requests are sent as data.
    public func sendMessage(
        _ message: [String: Any], replyHandler: (([String: Any]) -> Void)?, errorHandler: ((any Error) -> Void)?
    ) {}

    public func sendMessageData(
        _ data: Data, replyHandler: ((Data) -> Void)?, errorHandler: ((any Error) -> Void)?
    ) {
        let (isAnswered, error) = state.withLock { state in
            (state.autoReply, state.sendMessageError ?? (state.isReachable ? nil : WCError(.notReachable)))
        }
        guard isAnswered else { return }
        if let error { errorHandler?(error) } else { replyHandler?(reply(to: data)) }
    }

    public func updateApplicationContext(_ applicationContext: [String: Any]) throws {
        if let updateContextError { throw updateContextError }
        self.applicationContext = applicationContext
    }

    /// Returns a transfer that isn't in progress. Sends nothing.
    @discardableResult
    public func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer {
        WCSession.default.transferUserInfo([:])
    }

    /// Returns a transfer that isn't in progress. Sends nothing.
    @discardableResult
    public func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer {
        WCSession.default.transferFile(file, metadata: metadata)
    }

    /// Returns the counterpart's answer to a message.
    func reply(to data: Data) -> Data {
        let request = try? JSONDecoder().decode(WireRequest.self, from: data)
        return Self.encoded(.success(Data(), requestID: request?.requestID ?? UUID()))
    }

    static func encoded(_ response: WireResponse) -> Data { (try? JSONEncoder().encode(response)) ?? Data() }

    // MARK: Simulated events

    /// Delivers a message that expects a reply.
    ///
    /// - Parameter replyHandler: Receives the reply, on any thread.
    public func simulateReceivedMessage(_ data: Data, replyHandler: @escaping (Data) -> Void) {
        delegate.receive(messageData: data, replyHandler: replyHandler)
    }

    /// Sets `isReachable`, and calls the delegate if it changed.
    public func simulateReachabilityChange(_ reachable: Bool) { isReachable = reachable }

    /// Delivers an application context to the delegate, and stores it as the last received one.
    public func simulateReceivedApplicationContext(_ context: [String: Any]) {
        receivedApplicationContext = context
        delegate.receive(applicationContext: context)
    }
}

/// A closure that is called once, on another thread.
struct UncheckedCall: @unchecked Sendable {
    let perform: () -> Void
}
