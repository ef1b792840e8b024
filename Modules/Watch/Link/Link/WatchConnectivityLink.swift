import Foundation
public import MeshBase
public import MeshTransport

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// Moves bytes between a phone and its watch, over a `WCSession`.
///
/// | Lane | By | When |
/// |---|---|---|
/// | `datagram` | `sendMessageData` | while the session says that the counterpart is reachable, and messages are not refused |
/// | `queue` | `transferUserInfo` | always; a transfer that fails is made again, after 1 s, doubling to 30 s |
/// | `latest` | `updateApplicationContext` | always; see `ApplicationContextWriter` |
///
/// There is no lane for files: what is too large for a user info waits until messages can carry it in pieces, and whole
/// files have a carrier of their own (`FileCarrier`).
///
/// An address is a paired device. On a phone there is another one once the user has switched watches; what is sent to
/// the one before waits in the system, or here, until that is worn again. The other side's relaunch is a new connection,
/// by the number that each life of a link puts before its messages. Messages that arrive while the session says that
/// nobody can be reached are passed on all the same: a watch in the background may speak to a phone that cannot answer.
/// Who can be reached is there also while the session says that its app is not installed: it keeps its address, or has one
/// of its own until it is named.
///
/// Three messages in a row that are refused, with none coming back, end the connection, whatever the session says; it is
/// tried again when something comes, when reachability changes, and after 1 s, doubling to 30 s.
///
/// Up to 4096 user infos are under way at once; then `send` says `full`. Several links share a session, each with a
/// channel of its own. Safe to use from any thread; never blocks.
public final class WatchConnectivityLink: TransportLink {
    public let lanes: [LinkLane: PayloadLimit] = [
        .datagram: .watchConnectivityMessage, .queue: .watchConnectivityUserInfo, .latest: .watchConnectivityLatest,
    ]
    /// Secured as Apple Platform Security says: paired out of band, and encrypted over Bluetooth (LE Secure) and Wi-Fi
    /// (IKEv2).
    ///
    /// The idle interval is longer than five minutes, the longest silence of a session, so that a session's message often
    /// comes first.
    public let traits = LinkTraits(expectedLatency: .interactive, isSecured: true, idleInterval: .seconds(310))
    /// On a phone, a missing watch (`notPaired`) and a missing watch app (`appNotInstalled`).
    public var problems: [SessionProblem] { board.problems }
    /// The session that the link sends with.
    public let session: any WCSessionProviding

    let names: LinkNames
    let clock: any DeliveryClock
    let launch: UInt32
    let cancelsOutstanding: Bool
    let calls = OrderedCalls()
    let state = Locked(State())
    let board = ProblemBoard()

    /// Of whoever can be reached although the session names nobody.
    static let unnamed: LinkAddress = "unnamed"
    static let transfersMax = 4096
    static let refusalsMax = 3

    enum Phase {
        case idle, open, closed
    }

    struct State {
        var phase = Phase.idle
        var observer: (any LinkObserver)?
        var multiplexer: WatchSessionMultiplexer?
        /// Whom the session talks to.
        var address: LinkAddress?
        /// The same, or whom it talked to last.
        var lastAddress: LinkAddress?
        /// The session is activated; while it is not, what came for it before may still be handed over.
        var isActive = false
        var isConnected = false
        /// Of whoever sent the last message on this connection.
        var peerLaunch: UInt32?
        /// Messages that were refused since one came.
        var refusals = 0
        /// Nobody answers although the session says that somebody is there.
        var isDistrusted = false
        /// The other side's bytes made no sense.
        var isCutOff = false
        var distrust = Backoff(from: .seconds(1), to: .seconds(30))
        var activations = RetryPlan.ofSession
        /// What has been told of each address that was ever there.
        var places: [LinkAddress: Place] = [:]
    }

    struct Place {
        /// User infos under way, and those that wait to be sent again.
        var transferCount = 0
        var failed: [Data] = []
        var retries = RetryPlan.ofSession
        /// `full` was said, and `writable` is to follow.
        var isBlocked = false
        /// What the context is to hold.
        var latest: [String: Data] = [:]
        /// What has been passed on of the context that came.
        var seen: [String: Data] = [:]
    }

    /// Creates a link over a session. The link activates the session when it opens.
    ///
    /// - Parameters:
    ///   - channel: tells the links that share a session apart; the same on both sides. At most 64 bytes count.
    ///   - cancelsOutstanding: takes back what an earlier life of this link has queued and the system still holds. Right
    ///     where a store offers it again, as `LinkTransport` with a store does.
    ///   - launch: tells this life of the link from others.
    public init(
        _ session: any WCSessionProviding = WCSession.default, channel: String = "",
        cancelsOutstanding: Bool = false, clock: any DeliveryClock = SystemClock(),
        launch: UInt32 = .random(in: 0 ... .max)
    ) {
        self.session = session
        self.clock = clock
        self.launch = launch
        self.cancelsOutstanding = cancelsOutstanding
        names = LinkNames(channel: channel)
    }

    /// Activates the session if it isn't activated.
    /// - Throws: `LinkError.closed` when it was opened before.
    public func open(_ observer: any LinkObserver) throws {
        let multiplexer = WatchSessionMultiplexer.of(session, clock: clock)
        try state.withLock { state in
            guard state.phase == .idle else { throw LinkError(.closed, "a link opens once") }
            state.phase = .open
            state.observer = observer
            state.multiplexer = multiplexer
        }
        refresh()
        multiplexer.attach(self)
        multiplexer.activate()
        refresh()
    }

    /// Everything that was taken is in the system's hands already.
    public func close() async {
        let multiplexer = state.withLock { state in
            defer {
                state.phase = .closed
                state.observer = nil
                state.multiplexer = nil
            }
            return state.multiplexer
        }
        multiplexer?.detach(self)
        while calls.isRunning { await Task.yield() }
    }

    /// Says what is to be told, in the order of the changes. With the lock.
    func tell(_ what: @escaping @Sendable (any LinkObserver) -> Void) {
        calls.add { [state] in
            if let observer = state.withLock({ $0.observer }) { what(observer) }
        }
    }
}

extension RetryPlan {
    /// Before asking the system again: 1 s, doubling to 30 s.
    static var ofSession: RetryPlan { RetryPlan(from: .seconds(1), to: .seconds(30)) }
}
