public import Foundation

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// The part of `WCSession` that this library uses. `WCSession` conforms; stand-ins may, too.
///
/// Requirements for implementers:
/// - Members are called from any thread. The delegate and handlers may be called on any thread, too.
/// - Hold the delegate weakly. It is always a multiplexer, which forwards to the app's own delegate. It ignores the
///   `WCSession` that is passed to its methods, so you can pass any.
/// - Report changes that don't call the delegate through `stateChanges()`.
public protocol WCSessionProviding: AnyObject, Sendable {
    /// The activation state of the session.
    var activationState: WCSessionActivationState { get }
    /// True if the counterpart accepts messages now. May be wrong either way.
    var isReachable: Bool { get }
    /// The application context that was sent last.
    var applicationContext: [String: Any] { get }
    /// The application context that arrived last. Survives a relaunch.
    var receivedApplicationContext: [String: Any] { get }

    #if !os(watchOS)
        /// True if a watch is paired. Meaningful on iOS only.
        var isPaired: Bool { get }
        /// True if the app is installed on the paired watch. Meaningful on iOS only.
        var isWatchAppInstalled: Bool { get }
    #endif

    /// The object that receives the session's events. See the type's description for requirements.
    var delegate: (any WCSessionDelegate)? { get set }

    /// Starts activating the session, which calls the delegate at the end.
    func activate()

    /// Sends a property list to the counterpart's app if it can be reached. Without `replyHandler`, no reply is
    /// expected.
    func sendMessage(
        _ message: [String: Any], replyHandler: (([String: Any]) -> Void)?,
        errorHandler: ((any Error) -> Void)?)
    /// Sends bytes to the counterpart's app if it can be reached. Without `replyHandler`, no reply is expected.
    func sendMessageData(
        _ data: Data, replyHandler: ((Data) -> Void)?, errorHandler: ((any Error) -> Void)?)

    /// Replaces the application context. May block its caller.
    func updateApplicationContext(_ applicationContext: [String: Any]) throws

    /// Queues a property list for delivery in order, however long that takes.
    @discardableResult
    func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer
    /// User info transfers that haven't arrived yet.
    var outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] { get }

    /// Queues a file for transfer. It must stay in place until its transfer has finished.
    @discardableResult
    func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer
    /// File transfers that haven't arrived yet.
    var outstandingFileTransfers: [WCSessionFileTransfer] { get }

    // The following members have defaults.

    #if !os(watchOS)
        /// The number of transfers left today that wake the watch app; 0 unless the watch face shows the app's
        /// complication. Meaningful on iOS only. The default is 0.
        var remainingComplicationUserInfoTransfers: Int { get }
        /// Queues a property list ahead of others, and wakes the watch app with it if the budget allows. The default is
        /// `transferUserInfo`.
        @discardableResult
        func transferCurrentComplicationUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer
    #endif

    /// Returns a stream of the state changes that the delegate doesn't get. Each call returns an independent stream.
    /// The default polls ten times a second while there is a subscriber.
    func stateChanges() -> AsyncStream<WCSessionState>
    /// Calls `changed` each time the delegate is set, until the result is released. The default returns nil and
    /// observes nothing.
    func observeDelegate(_ changed: @escaping @Sendable () -> Void) -> AnyObject?
    /// The ID of the device that the session talks to; nil while there is none. It must survive relaunches, and change
    /// when the user switches watches. The default is `paired`.
    var counterpartID: String? { get }
}

extension WCSessionProviding {
    // Conformances written for iOS implement these; on other systems they can't.
    #if !os(iOS) && !os(watchOS)
        public var isPaired: Bool { true }
        public var isWatchAppInstalled: Bool { true }
    #endif

    #if !os(watchOS)
        public var remainingComplicationUserInfoTransfers: Int { 0 }
        @discardableResult
        public func transferCurrentComplicationUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer {
            transferUserInfo(userInfo)
        }
    #endif

    public var counterpartID: String? { "paired" }

    public func observeDelegate(_ changed: @escaping @Sendable () -> Void) -> AnyObject? { nil }

    public func stateChanges() -> AsyncStream<WCSessionState> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: WCSessionState.self, bufferingPolicy: .bufferingNewest(1))
        let first = WCSessionState(self)
        let task = Task { [weak self] in
            var last = first
            while let session = self, !Task.isCancelled {
                let state = WCSessionState(session)
                if state != last { continuation.yield(state) }
                last = state
                try? await Task.sleep(for: .milliseconds(100))
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}

/// The state of a session at one moment.
public struct WCSessionState: Hashable, Sendable {
    /// The activation state of the session.
    public var activationState: WCSessionActivationState
    /// True if the counterpart accepts messages now. May be wrong either way.
    public var isReachable: Bool
    /// True if a watch is paired. Always true on systems other than iOS.
    public var isPaired: Bool
    /// True if the app is installed on the paired watch. Always true on systems other than iOS.
    public var isWatchAppInstalled: Bool

    /// Creates a state for stand-ins and tests.
    public init(
        activationState: WCSessionActivationState, isReachable: Bool, isPaired: Bool = true,
        isWatchAppInstalled: Bool = true
    ) {
        self.activationState = activationState
        self.isReachable = isReachable
        self.isPaired = isPaired
        self.isWatchAppInstalled = isWatchAppInstalled
    }

    /// Reads the state of a session at this moment.
    public init(_ session: any WCSessionProviding) {
        self.init(activationState: session.activationState, isReachable: session.isReachable)
        #if !os(watchOS)
            isPaired = session.isPaired
            isWatchAppInstalled = session.isWatchAppInstalled
        #endif
    }
}
