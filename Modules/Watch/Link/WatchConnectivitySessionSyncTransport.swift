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

/// A phone and its watch, over WatchConnectivity: a `LinkTransport` over a `WatchConnectivityLink`.
///
/// ```swift
/// let transport = WatchConnectivitySessionSyncTransport(localPeer: .thisDevice(topology: .pairedCompanion))
/// let game = SharedSession(Score(), over: transport)    // or over: .companion, one transport for the process
/// ```
///
/// It activates the session and shares its delegate with the app; see `WatchSessionMultiplexer`. How the modes travel:
///
/// | Mode | By |
/// |---|---|
/// | `realtimeBestEffort`, `snapshotRequest`, `acknowledgement` | message; user info when nobody can be reached, or the message is refused |
/// | `reliableEventually` | message, acknowledged and repeated, while the other side answers; user info otherwise, and for everything that was not acknowledged when it no longer does |
/// | `latestSnapshot` | application context, one key for each feature |
///
/// What is sent before the session is activated, or before the other side is known, waits in a `PendingDeliveryQueue`. The
/// newest snapshots of the other side outlive a relaunch in the application context that came last, and are there once the
/// session is activated. Safe to use from any thread.
public final class WatchConnectivitySessionSyncTransport: DeliveringTransport {
    public let delivery: LinkTransport

    /// Over the app's own session, keeping in memory what is not acknowledged.
    public convenience init(localPeer: SessionPeer) {
        do {
            try self.init(localPeer: localPeer, session: WCSession.default)
        } catch {
            preconditionFailure("without a store, and with lanes of its own, nothing can fail: \(error)")
        }
    }

    /// Creates a transport between a phone and its watch.
    ///
    /// - Parameters:
    ///   - channel: tells the transports of one process apart; the same on both sides.
    ///   - store: keeps what was accepted and not acknowledged, so that relaunches lose nothing; nil keeps it in memory, and
    ///     what the system holds is all that outlives one.
    ///   - configuration: its limit for payloads is lowered to what a user info holds.
    /// - Throws: what `LinkTransport` throws for a configuration or a store that cannot be used.
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
        /// The transport between a phone and its watch, one for the process: several features share it.
        public static var companion: Self { .shared }
    }

    extension WatchConnectivitySessionSyncTransport {
        fileprivate static let shared = WatchConnectivitySessionSyncTransport(
            localPeer: .thisDevice(topology: .pairedCompanion))
    }
#endif

extension DeliveryConfiguration {
    /// The configuration for a phone and its watch: every payload fits into a user info.
    public static var watchConnectivity: DeliveryConfiguration {
        var configuration = DeliveryConfiguration()
        configuration.payloadLimit = .watchConnectivityPayload
        return configuration
    }
}
