public import Foundation
import MeshBase
public import MeshTransport

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// Has the one delegate slot of a session, and shares it out: to the listeners what is theirs, to the app's own delegate
/// everything else.
///
/// ```swift
/// let multiplexer = WatchSessionMultiplexer.of(WCSession.default)
/// multiplexer.attach(listener)
/// multiplexer.activate()
/// ```
///
/// The app may set its own delegate at the session at any time, before or after: the multiplexer takes the slot back and
/// passes on to that delegate, which it holds weakly, as sessions do. It looks at the slot when the session is observed
/// (`WCSessionProviding.observeDelegate`), with each event, and with each `activate` and `attach`. Setting `appDelegate`
/// does the same without the detour.
///
/// A message that no listener takes gets no answer, as from an app without the method for it. What is the mesh's and
/// comes before its listener has been attached, waits for it: the newest 256 user infos.
///
/// There is one for each session, for as long as it is referenced; when it goes, the app's delegate gets the slot. Safe
/// to use from any thread.
public final class WatchSessionMultiplexer: NSObject, Sendable {
    /// The prefix of all names of this library in user infos, files' metadata and application contexts.
    public static let prefix = "sessionmesh."

    /// The session whose delegate it is.
    public let session: any WCSessionProviding
    /// The only one who writes the application context.
    public let context: ApplicationContextWriter
    let clock: any DeliveryClock

    private let topic = Topic<WCSessionState>(bufferLimit: 64, overflow: .dropOldest, replaysLatest: true)
    private let shared = Locked(Shared())

    private struct Shared {
        weak var appDelegate: (any WCSessionDelegate)?
        var listeners: [Attached] = []
        var hasBegun = false
        var observation: AnyObject?
        var watcher: Task<Void, Never>?
        var isSettingDelegate = false
        /// What the app's delegate is being told, and on which thread.
        var forwarding: Forwarding?
        /// What the app was told last of the application context.
        var appContext: NSDictionary?
        /// The mesh's, and nobody was there.
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
    /// - Parameter clock: by which failed writes are tried again. The first caller's counts.
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

    /// Takes the slot, and listens to what the delegate is not told.
    private func begin() {
        let isFirst = shared.withLock { shared in
            defer { shared.hasBegun = true }
            return !shared.hasBegun
        }
        guard isFirst else { return }
        let observation = session.observeDelegate { [weak self] in self?.takeSlot() }
        let changes = session.stateChanges()
        let watcher = Task { [weak self] in
            for await _ in changes { self?.tell(.stateChanged) }
        }
        shared.withLock { shared in
            shared.observation = observation
            shared.watcher = watcher
        }
        topic.publish(state)
        takeSlot()
    }

    /// Whoever has the slot is the app's delegate.
    private func takeSlot() {
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

// MARK: - For those who share the session

extension WatchSessionMultiplexer {
    /// The app's own, which gets everything that is not the mesh's. Held weakly.
    public var appDelegate: (any WCSessionDelegate)? {
        get { shared.withLock { $0.appDelegate } }
        set {
            takeSlot()
            shared.withLock { $0.appDelegate = newValue }
        }
    }

    /// Adds a listener, which is held weakly. It gets every event from now on; `state` has the session's current state.
    public func attach(_ listener: any WatchSessionListener) {
        takeSlot()
        let early = shared.withLock { shared in
            shared.listeners.removeAll { $0.listener == nil || $0.listener === listener }
            shared.listeners.append(Attached(listener: listener))
            defer { shared.early = [] }
            return shared.early
        }
        let left = early.filter { !listener.take($0.content) }
        shared.withLock { $0.early = left + $0.early }
    }

    /// Tells a listener nothing more. One that is not attached is fine.
    public func detach(_ listener: any WatchSessionListener) {
        shared.withLock { $0.listeners.removeAll { $0.listener == nil || $0.listener === listener } }
    }

    /// Activates the session, unless that has been done.
    public func activate() {
        takeSlot()
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
    func tell(_ event: WatchSessionEvent) {
        takeSlot()
        let state = state
        topic.publish(state)
        if state.activationState == .activated { context.sessionChanged() }
        for listener in listeners { listener.session(event, state) }
    }

    /// - Returns: whether it is the mesh's.
    func isTaken(_ content: WatchSessionContent) -> Bool {
        for listener in listeners where listener.take(content) { return true }
        guard content.isMesh else { return false }
        guard case .userInfo = content else { return true }
        shared.withLock { shared in
            if shared.early.count == Self.earlyMax { shared.early.removeFirst() }
            shared.early.append(UncheckedContent(content: content))
        }
        return true
    }

    func tellContext(_ context: [String: Any], isNew: Bool) {
        for listener in listeners { listener.takeContext(context, isNew: isNew) }
    }

    /// - Returns: what is the app's and news to it; nil when there is no such thing.
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

    /// Tells the app's own delegate, unless that is what calls: one that passes on what it does not know to whoever had the
    /// slot before it.
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
    /// Whether it goes by one of this library's names.
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
