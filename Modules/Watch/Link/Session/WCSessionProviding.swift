public import Foundation

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// The part of `WCSession` that this library uses. `WCSession` conforms, and so may a stand-in for it.
///
/// To the implementer:
/// - Every member is used from any thread; calls of the delegate and of handlers may come on any thread too.
/// - The delegate should be held weakly, and is never the app's own: one multiplexer has the slot, and passes on what is
///   the app's. It goes by its session, so the `WCSession` that a delegate method is called with may be any.
/// - Whatever changes without a call of the delegate should be told by `stateChanges()`.
public protocol WCSessionProviding: AnyObject, Sendable {
    /// The activation state of the session.
    var activationState: WCSessionActivationState { get }
    /// Whether the counterpart takes messages now. May be wrong either way.
    var isReachable: Bool { get }
    /// The application context that was sent last.
    var applicationContext: [String: Any] { get }
    /// The application context that came last; outlives a relaunch.
    var receivedApplicationContext: [String: Any] { get }

    #if !os(watchOS)
        /// Whether a watch is paired. Meaningful on iOS only.
        var isPaired: Bool { get }
        /// Whether the paired watch has the app. Meaningful on iOS only.
        var isWatchAppInstalled: Bool { get }
    #endif

    /// The object that receives the session's events; see the protocol's description.
    var delegate: (any WCSessionDelegate)? { get set }

    /// Begins to activate the session; the delegate is told when that is done.
    func activate()

    /// Sends a property list to the counterpart's app while it can be reached. Without `replyHandler` the sender waits
    /// for no reply.
    func sendMessage(
        _ message: [String: Any], replyHandler: (([String: Any]) -> Void)?,
        errorHandler: ((any Error) -> Void)?)
    /// Sends bytes to the counterpart's app while it can be reached. Without `replyHandler` the sender waits for no
    /// reply.
    func sendMessageData(
        _ data: Data, replyHandler: ((Data) -> Void)?, errorHandler: ((any Error) -> Void)?)

    /// May block its caller.
    func updateApplicationContext(_ applicationContext: [String: Any]) throws

    /// Queues a property list, which arrives however long that takes, in order.
    @discardableResult
    func transferUserInfo(_ userInfo: [String: Any]) -> WCSessionUserInfoTransfer
    /// User infos that have not arrived.
    var outstandingUserInfoTransfers: [WCSessionUserInfoTransfer] { get }

    /// Queues a file, which must stay where it is until its transfer has finished.
    @discardableResult
    func transferFile(_ file: URL, metadata: [String: Any]?) -> WCSessionFileTransfer
    /// Files that have not arrived.
    var outstandingFileTransfers: [WCSessionFileTransfer] { get }

    // What follows has a default.

    /// Returns a stream of the changes that the delegate doesn't learn of. Every call is an independent stream. By
    /// default it looks ten times a second while there is a subscriber.
    func stateChanges() -> AsyncStream<WCSessionState>
    /// Calls `changed` whenever the delegate was set, until the result is released. By default returns nil, without
    /// observing.
    func observeDelegate(_ changed: @escaping @Sendable () -> Void) -> AnyObject?
    /// The device that the session talks to, the same over relaunches and another one after the user has switched
    /// watches. nil while there is no counterpart. By default there is one, called `paired`.
    var counterpartID: String? { get }
}

extension WCSessionProviding {
    // Conformances written for iOS have these; elsewhere they cannot.
    #if !os(iOS) && !os(watchOS)
        public var isPaired: Bool { true }
        public var isWatchAppInstalled: Bool { true }
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
    /// Whether the counterpart takes messages now. May be wrong either way.
    public var isReachable: Bool
    /// Whether a watch is paired. True on every system but iOS.
    public var isPaired: Bool
    /// Whether the paired watch has the app. True on every system but iOS.
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
