public import Foundation
import MeshBase
public import MeshTransport

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// Shares the single delegate slot of a session. Listeners get the content addressed to them; the app's own delegate
/// gets everything else.
///
/// ```swift
/// let multiplexer = WatchSessionMultiplexer.of(WCSession.default)
/// multiplexer.attach(listener)
/// multiplexer.activate()
/// ```
///
/// The app may set its own delegate on the session at any time. The multiplexer then takes the slot back and forwards
/// to that delegate, which it holds weakly, as sessions do. It checks the slot when the session reports a change
/// (`WCSessionProviding.observeDelegate`), at each event, and in `activate` and `attach`. You can also set
/// `appDelegate` directly.
///
/// A message that neither a listener nor the app's delegate takes gets no reply. User infos of this library that arrive
/// before their listener is attached wait for it; the newest 256 are kept.
///
/// Each session has one multiplexer, which lives while it is referenced. When it is released, the app's delegate gets
/// the slot back. Safe to use from any thread.
public final class WatchSessionMultiplexer: NSObject, Sendable {
    /// The prefix of all names of this library in user infos, files' metadata and application contexts.
    public static let prefix = "sessionmesh."

    /// The session that this multiplexer serves as delegate.
    public let session: any WCSessionProviding
    /// The only writer of the session's application context.
    public let context: ApplicationContextWriter
    let clock: any DeliveryClock

    private let topic = Topic<WCSessionState>(bufferLimit: 64, overflow: .dropOldest, replaysLatest: true)
    private let shared = Locked(Shared())

    private struct Shared {
        weak var appDelegate: (any WCSessionDelegate)?
        var listeners: [Attached] = []
        /// Number of calls of `attach`.
        var attachCount: UInt64 = 0
        var hasBegun = false
        var observation: AnyObject?
        var watcher: Task<Void, Never>?
        var isSettingDelegate = false
        /// The delegate method being forwarded, and its thread.
        var forwarding: Forwarding?
        /// The context that the app's delegate got last.
        var appContext: NSDictionary?
        /// User infos of this library that no listener has taken yet.
        var early: [UncheckedContent] = []
    }

    private struct Attached {
        weak var listener: (any WatchSessionListener)?
    }

    private struct UncheckedContent: @unchecked Sendable {
        let content: WatchSessionContent
    }

    private struct Forwarding: Hashable {
        let thread: ObjectIdentifier
        let method: String
    }

    private static let earlyMax = 256

    // MARK: One for each session

    private struct Entry {
        weak var multiplexer: WatchSessionMultiplexer?
    }

    private static let all = Locked<[ObjectIdentifier: Entry]>([:])

    /// Returns the multiplexer of a session, which is created on first use.
    ///
    /// - Parameter clock: Times the retries of failed writes. Only the first call's clock is used.
    public static func of(
        _ session: any WCSessionProviding, clock: any DeliveryClock = SystemClock()
    ) -> WatchSessionMultiplexer {
        let multiplexer = all.withLock { all in
            if let multiplexer = all[ObjectIdentifier(session)]?.multiplexer { return multiplexer }
            all = all.filter { $0.value.multiplexer != nil }
            let multiplexer = WatchSessionMultiplexer(session, clock)
            all[ObjectIdentifier(session)] = Entry(multiplexer: multiplexer)
            return multiplexer
        }
        multiplexer.begin()
        return multiplexer
    }

    private init(_ session: any WCSessionProviding, _ clock: any DeliveryClock) {
        self.session = session
        self.clock = clock
        context = ApplicationContextWriter(session, clock)
        super.init()
        context.observe { [weak self] error in
            for listener in self?.listeners ?? [] { listener.contextWasWritten(error: error) }
        }
    }

    deinit {
        let (appDelegate, watcher) = shared.withLock { ($0.appDelegate, $0.watcher) }
        watcher?.cancel()
        if let appDelegate, session.delegate == nil { session.delegate = appDelegate }
        topic.finish()
    }

    /// Takes the delegate slot, and observes changes that the session doesn't report to its delegate.
    private func begin() {
        let isFirst = shared.withLock { shared in
            defer { shared.hasBegun = true }
            return !shared.hasBegun
        }
        guard isFirst else { return }
        let observation = session.observeDelegate { [weak self] in self?.becomeDelegate() }
        let changes = session.stateChanges()
        let watcher = Task { [weak self] in
            for await _ in changes { self?.notify(.stateChanged) }
        }
        shared.withLock { shared in
            shared.observation = observation
            shared.watcher = watcher
        }
        topic.publish(state)
        becomeDelegate()
    }

    /// Takes the slot, and keeps its previous occupant as the app's delegate.
    private func becomeDelegate() {
        let isMine = shared.withLock { shared in
            defer { shared.isSettingDelegate = true }
            return shared.isSettingDelegate
        }
        guard !isMine else { return }
        defer { shared.withLock { $0.isSettingDelegate = false } }
        let current = session.delegate
        guard current !== self else { return }
        shared.withLock { $0.appDelegate = current }
        session.delegate = self
    }
}

// MARK: - For clients of the session

extension WatchSessionMultiplexer {
    /// The app's own delegate, which gets everything that isn't for this library. Held weakly.
    public var appDelegate: (any WCSessionDelegate)? {
        get { shared.withLock { $0.appDelegate } }
        set {
            becomeDelegate()
            shared.withLock { $0.appDelegate = newValue }
        }
    }

    /// Adds a listener, held weakly. It gets every later event; `state` has the session's current state.
    public func attach(_ listener: any WatchSessionListener) {
        becomeDelegate()
        shared.withLock { shared in
            shared.listeners.removeAll { $0.listener == nil || $0.listener === listener }
            shared.listeners.append(Attached(listener: listener))
            shared.attachCount += 1
        }
        offerEarly()
    }

    /// Offers the waiting user infos to all listeners, again if one was attached meanwhile.
    private func offerEarly() {
        var isDone = false
        while !isDone {
            let (early, count) = shared.withLock { shared in
                defer { shared.early = [] }
                return (shared.early, shared.attachCount)
            }
            let listeners = listeners
            let left = early.filter { waiting in !listeners.contains { $0.take(waiting.content) } }
            isDone = shared.withLock { shared in
                shared.early = (left + shared.early).suffix(Self.earlyMax)
                return shared.attachCount == count
            }
        }
    }

    /// Removes a listener from the session. Has no effect if it isn't attached.
    public func detach(_ listener: any WatchSessionListener) {
        shared.withLock { $0.listeners.removeAll { $0.listener == nil || $0.listener === listener } }
    }

    /// Activates the session unless it is active.
    public func activate() {
        becomeDelegate()
        if session.activationState != .activated { session.activate() }
    }

    /// The current state of the session.
    public var state: WCSessionState { WCSessionState(session) }

    /// Returns a stream of the session's state: the current one, then each change. Every call is an independent stream
    /// that buffers 64 states and drops the oldest.
    public func states() -> AsyncStream<WCSessionState> { topic.subscribe() }

    private var listeners: [any WatchSessionListener] { shared.withLock { $0.listeners.compactMap(\.listener) } }
}

// MARK: - For the delegate's methods

extension WatchSessionMultiplexer {
    func notify(_ event: WatchSessionEvent) {
        becomeDelegate()
        let state = state
        topic.publish(state)
        if state.activationState == .activated { context.sessionChanged() }
        for listener in listeners { listener.session(event, state) }
    }

    /// - Returns: True if the content belongs to this library.
    func isTaken(_ content: WatchSessionContent) -> Bool {
        while true {
            let count = shared.withLock { $0.attachCount }
            for listener in listeners where listener.take(content) { return true }
            guard content.isMesh else { return false }
            guard case .userInfo = content else { return true }
            let isKept = shared.withLock { shared in
                // A listener that was attached meanwhile hasn't been asked.
                guard shared.attachCount == count else { return false }
                if shared.early.count >= Self.earlyMax { shared.early.removeFirst() }
                shared.early.append(UncheckedContent(content: content))
                return true
            }
            if isKept { return true }
        }
    }

    func deliverContext(_ context: [String: Any], isNew: Bool) {
        for listener in listeners { listener.takeContext(context, isNew: isNew) }
    }

    /// - Returns: The app's part of the context; nil if only the other keys are new.
    func appPart(of context: [String: Any]) -> [String: Any]? {
        let listeners = listeners
        let part = context.filter { key, _ in
            !key.hasPrefix(Self.prefix) && !listeners.contains { $0.owns(contextKey: key) }
        }
        let isMixed = part.count < context.count
        let content = NSDictionary(dictionary: part)
        return shared.withLock { shared in
            let known = shared.appContext
            shared.appContext = content
            guard isMixed else { return part }
            return part.isEmpty && known == nil || content == known ? nil : part
        }
    }

    /// Calls the app's delegate. Does nothing if that delegate is the caller: some delegates pass calls on to the
    /// slot's previous occupant, which is the multiplexer.
    func forward(method: String = #function, _ body: (any WCSessionDelegate) -> Void) {
        let forwarding = Forwarding(thread: ObjectIdentifier(Thread.current), method: method)
        let (delegate, outer) = shared.withLock { shared -> ((any WCSessionDelegate)?, Forwarding?) in
            guard shared.forwarding != forwarding, let delegate = shared.appDelegate else { return (nil, nil) }
            defer { shared.forwarding = forwarding }
            return (delegate, shared.forwarding)
        }
        guard let delegate else { return }
        body(delegate)
        shared.withLock { $0.forwarding = outer }
    }
}

extension WatchSessionContent {
    /// True if the content has a name that begins with this library's prefix.
    fileprivate var isMesh: Bool {
        let prefix = WatchSessionMultiplexer.prefix
        return switch self {
        case .data(let data, _): data.starts(with: Array(prefix.utf8))
        case .message(let content, _), .userInfo(let content): content.keys.contains { $0.hasPrefix(prefix) }
        case .finishedUserInfo(let transfer, _): transfer.userInfo.keys.contains { $0.hasPrefix(prefix) }
        case .file(let file): file.metadata?.keys.contains { $0.hasPrefix(prefix) } ?? false
        case .finishedFile(let transfer, _): transfer.file.metadata?.keys.contains { $0.hasPrefix(prefix) } ?? false
        }
    }
}
