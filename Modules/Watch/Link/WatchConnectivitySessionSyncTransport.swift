import MeshBase
@_exported public import MeshDelivery
public import MeshIdentity
public import MeshStorage
public import MeshTransport

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

/// The transport between a phone and its watch: a `LinkTransport` over a `WatchConnectivityLink`.
///
/// ```swift
/// let transport = WatchConnectivitySessionSyncTransport(localPeer: .thisDevice(topology: .pairedCompanion))
/// let game = SharedSession(Score(), over: transport)    // or over: .companion, one transport for the process
/// ```
///
/// It activates the session and shares its delegate with the app; see `WatchSessionMultiplexer`. Each mode uses these
/// calls:
///
/// | Mode | Calls |
/// |---|---|
/// | `realtimeBestEffort`, `snapshotRequest`, `acknowledgement` | message; user info if no peer can be reached, or the message is refused |
/// | `reliableEventually` | message, acknowledged and repeated, while the peer answers; otherwise user info, also for everything unacknowledged |
/// | `latestSnapshot` | application context, one key for each feature |
///
/// Messages sent before the session is activated, or before a peer is known, wait until then. The peer's newest
/// snapshots are kept in the last received application context, so a relaunched app has them once the session is
/// active. Safe to use from any thread.
public final class WatchConnectivitySessionSyncTransport: DeliveringTransport {
    public let delivery: LinkTransport

    /// Creates a transport over `WCSession.default` that keeps unacknowledged messages in memory.
    public convenience init(localPeer: SessionPeer) {
        do {
            try self.init(localPeer: localPeer, session: WCSession.default)
        } catch {
            preconditionFailure("a transport without a store can't fail: \(error)")
        }
    }

    /// Creates a transport between a phone and its watch.
    ///
    /// - Parameters:
    ///   - channel: Distinguishes the transports of one process. Must be the same on both devices.
    ///   - store: Keeps unacknowledged messages, so that a relaunch loses nothing. With nil they are kept in memory,
    ///     and only the system's queues outlive a relaunch.
    ///   - configuration: Its payload limit is lowered to the capacity of a user info.
    /// - Throws: Errors of `LinkTransport` for a configuration or a store that can't be used.
    public init(
        localPeer: SessionPeer, session: any WCSessionProviding = WCSession.default, channel: String = "",
        store: (any SessionStore)? = nil, configuration: DeliveryConfiguration = .watchConnectivity,
        clock: any DeliveryClock = SystemClock()
    ) throws {
        let link = WatchConnectivityLink(session, channel: channel, cancelsOutstanding: store != nil, clock: clock)
        var configuration = configuration
        if configuration.payloadLimit.bytes > PayloadLimit.watchConnectivityPayload.bytes {
            configuration.payloadLimit = .watchConnectivityPayload
        }
        delivery = try LinkTransport(
            localPeer: localPeer, link: link, configuration: configuration, store: store, clock: clock)
        try delivery.start()
    }
}

#if canImport(WatchConnectivity)
    extension SessionSyncTransport where Self == WatchConnectivitySessionSyncTransport {
        /// The process's shared transport between a phone and its watch. Several features can use it.
        public static var companion: Self { .shared }
    }

    extension WatchConnectivitySessionSyncTransport {
        fileprivate static let shared = WatchConnectivitySessionSyncTransport(
            localPeer: .thisDevice(topology: .pairedCompanion))
    }
#endif

extension DeliveryConfiguration {
    /// The configuration for a phone and its watch, in which every payload fits into a user info.
    public static var watchConnectivity: DeliveryConfiguration {
        var configuration = DeliveryConfiguration()
        configuration.payloadLimit = .watchConnectivityPayload
        return configuration
    }
}
