public import Foundation
import MeshBase
public import MeshWatchConnectivityTransport

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// The base of `PreviewWCSession` and `MockWCSession`: a session without a system, whose counterpart answers as an app
/// with WatchConnectivitySwift 5 does.
///
/// Safe to use from any thread; its delegate is called on the thread that calls a `simulate` method.
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

    // MARK: What the session says

    /// The activation state of the session. Setting it doesn't call the delegate.
    public var activationState: WCSessionActivationState {
        get { state.withLock { $0.activationState } }
        set { change { $0.activationState = newValue } }
    }
    /// Setting it tells the delegate, as the system does.
    public var isReachable: Bool {
        get { state.withLock { $0.isReachable } }
        set {
            let hasChanged = state.withLock { state in
                defer { state.isReachable = newValue }
                return state.isReachable != newValue
            }
            if hasChanged { delegate.tellOfReachability() }
        }
    }
    /// Whether a watch is paired. Meaningful on iOS only.
    public var isPaired: Bool {
        get { state.withLock { $0.isPaired } }
        set { change { $0.isPaired = newValue } }
    }
    /// Whether the paired watch has the app. Meaningful on iOS only.
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
    /// The user infos that `transferUserInfo` has left under way, or that were set.
    public var outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] {
        get { state.withLock { $0.outstandingUserInfoTransfers } }
        set { state.withLock { $0.outstandingUserInfoTransfers = newValue } }
    }
    /// The files that `transferFile` has left under way, or that were set.
    public var outstandingFileTransfers: [WCSessionFileTransfer] {
        get { state.withLock { $0.outstandingFileTransfers } }
        set { state.withLock { $0.outstandingFileTransfers = newValue } }
    }

    // MARK: What goes wrong

    /// The error with which messages fail; nil if they arrive.
    public var sendMessageError: (any Error)? {
        get { state.withLock { $0.sendMessageError } }
        set { state.withLock { $0.sendMessageError = newValue } }
    }
    /// Whether messages are answered at all.
    public var autoReply: Bool {
        get { state.withLock { $0.autoReply } }
        set { state.withLock { $0.autoReply = newValue } }
    }
    /// The error that writing the application context throws; nil if it is written.
    public var updateContextError: (any Error)? {
        get { state.withLock { $0.updateContextError } }
        set { state.withLock { $0.updateContextError = newValue } }
    }

    // MARK: What is sent

    /// Tells the delegate, soon, that the session is in its `activationState`.
    public func activate() {
        let delegate = delegate
        let state = activationState
        let call = UncheckedCall { delegate?.session(.default, activationDidCompleteWith: state, error: nil) }
        Task.detached { call.perform() }
    }

    /// Does nothing: requests are sent as data.
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

    /// Returns a transfer without sending anything.
    ///
    /// - Returns: a transfer that is not under way.
    @discardableResult
    public func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer {
        WCSession.default.transferUserInfo([:])
    }

    /// Returns a transfer without sending anything.
    ///
    /// - Returns: a transfer that is not under way.
    @discardableResult
    public func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer {
        WCSession.default.transferFile(file, metadata: metadata)
    }

    /// What the counterpart answers to a message.
    func reply(to data: Data) -> Data {
        let request = try? JSONDecoder().decode(WireRequest.self, from: data)
        return Self.encoded(.success(Data(), requestID: request?.requestID ?? UUID()))
    }

    static func encoded(_ response: WireResponse) -> Data { (try? JSONEncoder().encode(response)) ?? Data() }

    // MARK: What is received

    /// Delivers a message that the counterpart wants answered.
    ///
    /// - Parameter replyHandler: is given the answer, on whatever thread it is ready.
    public func simulateReceivedMessage(_ data: Data, replyHandler: @escaping (Data) -> Void) {
        delegate.receive(messageData: data, replyHandler: replyHandler)
    }

    /// The counterpart takes messages, or no longer; the delegate is told.
    public func simulateReachabilityChange(_ reachable: Bool) { isReachable = reachable }

    /// Tells the delegate that a context has come, and keeps it as the newest.
    public func simulateReceivedApplicationContext(_ context: [String: Any]) {
        receivedApplicationContext = context
        delegate.receive(applicationContext: context)
    }
}

/// A call that is made once, on another thread.
struct UncheckedCall: @unchecked Sendable {
    let perform: () -> Void
}
