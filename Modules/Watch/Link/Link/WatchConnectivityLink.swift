import Foundation
public import MeshBase
public import MeshTransport

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

// `isReachable` is often wrong, so two more rules decide whether the lane `datagram` is connected. First, three refused
// messages in a row end a connection. The next one starts after 1 s, doubling to 30 s, or when a message arrives or
// reachability changes. Second, a message from a new launch of the counterpart ends the connection and starts another.
// For this, every message carries a random launch number.
// Docs/Internals/Glossary.md defines the terms.

/// A link between a phone and its watch, over a `WCSession`.
///
/// | Lane | Call | When |
/// |---|---|---|
/// | `datagram` | `sendMessageData` | while the counterpart is reachable and messages aren't refused |
/// | `queue` | `transferUserInfo` | always; a failed transfer is repeated after 1 s, doubling to 30 s |
/// | `latest` | `updateApplicationContext` | always; see `ApplicationContextWriter` |
///
/// An urgent packet goes by its lane, and a copy wakes the watch app: see `WatchConnectivityLink+Waking`.
///
/// Files have no lane. Data that is too large for a user info waits until messages can carry it in pieces; complete
/// files travel by a `FileCarrier`.
///
/// An address stands for a paired device. On a phone it changes when the user switches watches. Packets for the earlier
/// watch wait in the system, or in the link, until that watch is worn again. A relaunch of the counterpart starts a new
/// connection.
///
/// Messages are received even while the counterpart seems unreachable: a watch in the background may send to a phone
/// that can't answer. A reachable counterpart counts as present even if the session reports its app as missing. It
/// keeps its address, or gets a temporary one until the session has an ID for it.
///
/// At most 4096 user infos are outstanding; then `send` throws `full`. Several links can share a session, each with its
/// own channel. Safe to use from any thread; never blocks.
public final class WatchConnectivityLink: TransportLink {
    public let lanes: [LinkLane: PayloadLimit] = [
        .datagram: .watchConnectivityMessage, .queue: .watchConnectivityUserInfo, .latest: .watchConnectivityLatest,
    ]
    /// The properties of the link. According to Apple Platform Security, devices are paired out of band, and traffic is
    /// encrypted over Bluetooth (LE Secure) and Wi-Fi (IKEv2).
    ///
    /// The idle interval exceeds five minutes, the longest silence of a shared session's engine. So a probe often
    /// leaves together with an engine's message.
    public let traits = LinkTraits(expectedLatency: .interactive, isSecured: true, idleInterval: .seconds(310))
    /// The problems of a phone without a watch (`notPaired`) or without the watch app (`appNotInstalled`).
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

    /// The address of a reachable counterpart for which the session has no ID.
    static let unnamed: LinkAddress = "unnamed"
    static let transfersMax = 4096
    static let refusalsMax = 3

    enum Phase {
        case idle, open, closed
    }

    struct State {
        var phase = Phase.idle
        var openedAt = Duration.zero
        var observer: (any LinkObserver)?
        var multiplexer: WatchSessionMultiplexer?
        /// The device that the session talks to.
        var address: LinkAddress?
        /// The current address, or the last one if the session talks to no device.
        var lastAddress: LinkAddress?
        /// True if the session is activated. Even if it isn't, content that arrived earlier may still be delivered.
        var isActive = false
        var isConnected = false
        /// The launch number in the last message on this connection.
        var peerLaunch: UInt32?
        /// The number of refused messages since the last received one.
        var refusals = 0
        /// True if the counterpart doesn't answer although it is reported as reachable, or if delivery has disconnected
        /// it.
        var isBackingOff = false
        /// True if delivery has disconnected the counterpart, for example because its bytes couldn't be decoded.
        var isCutOff = false
        var retryBackoff = Backoff(from: .seconds(1), to: .seconds(30))
        var activations = RetryPlan.session
        /// The state of each address that was ever present.
        var addressStates: [LinkAddress: AddressState] = [:]
    }

    struct AddressState {
        /// User infos in transfer, plus those that wait to be sent again.
        var transferCount = 0
        var failed: [Data] = []
        var retries = RetryPlan.session
        /// True if `send` has thrown `full`, so that the observer expects `writable`.
        var isBlocked = false
        /// The entries that the context must hold.
        var latest: [String: Data] = [:]
        /// The packets already delivered from the received context.
        var seen: [String: Data] = [:]
        var wake = PendingWake()
        var duplicates = WakeDuplicates()
    }

    /// Creates a link over a session. The link activates the session when it opens.
    ///
    /// - Parameters:
    ///   - channel: Distinguishes the links that share a session. Must be the same on both devices. At most 64 bytes
    ///     are used.
    ///   - cancelsOutstanding: Cancels user infos that an earlier launch queued and the system still holds. Use it if a
    ///     store offers them again, as `LinkTransport` with a store does.
    ///   - launch: A number that distinguishes this launch of the link from others.
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

    /// Attaches to the session, and activates it if necessary.
    /// - Throws: `LinkError.closed` if the link was opened before.
    public func open(_ observer: any LinkObserver) throws {
        let multiplexer = WatchSessionMultiplexer.of(session, clock: clock)
        try state.withLock { state in
            guard state.phase == .idle else { throw LinkError(.closed, "open() was already called on this link") }
            state.phase = .open
            state.openedAt = clock.elapsed
            state.observer = observer
            state.multiplexer = multiplexer
        }
        refresh()
        multiplexer.attach(self)
        multiplexer.activate()
        refresh()
    }

    /// Closes the link for good. The system already has all accepted packets.
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

    /// Queues a call of the observer, so that calls keep the order of the changes. Call it with the lock held.
    func notify(_ call: @escaping @Sendable (any LinkObserver) -> Void) {
        calls.add { [state] in
            if let observer = state.withLock({ $0.observer }) { call(observer) }
        }
    }
}

extension RetryPlan {
    /// The plan for repeating a request to the system: after 1 s, doubling to 30 s.
    static var session: RetryPlan { RetryPlan(from: .seconds(1), to: .seconds(30)) }
}
