#if Metrics
    public import CoreMetrics
    public import MeshBase
    public import MeshTransport

    /// Counts diagnostic events in swift-metrics.
    ///
    /// | metric | kind | dimensions |
    /// |---|---|---|
    /// | `sessionmesh.events` | counter | `kind`: the name of the event |
    /// | `sessionmesh.retransmissions`, `sessionmesh.dropped` | counter | |
    /// | `sessionmesh.round_trip` | timer, nanoseconds | `peer` |
    /// | `sessionmesh.peers_reachable` | gauge | |
    public struct DiagnosticsMetrics: Sendable {
        private let events: AsyncStream<SessionDiagnosticEvent>
        private let factory: any MetricsFactory

        /// Creates a counter that subscribes at once, so events between this call and `run` aren't lost.
        public init(topic: Topic<SessionDiagnosticEvent>, factory: any MetricsFactory = MetricsSystem.factory) {
            events = topic.subscribe()
            self.factory = factory
        }

        /// Counts until the topic finishes or the task is cancelled. Call it once.
        public func run() async {
            var counters: [String: Counter] = [:]
            var timers: [String: CoreMetrics.Timer] = [:]
            var reachable: Set<String> = []
            let retransmissions = Counter(label: "sessionmesh.retransmissions", dimensions: [], factory: factory)
            let dropped = Counter(label: "sessionmesh.dropped", dimensions: [], factory: factory)
            let peersReachable = Gauge(label: "sessionmesh.peers_reachable", dimensions: [], factory: factory)
            for await event in events {
                let kind = event.kind
                let counter =
                    counters[kind]
                    ?? Counter(label: "sessionmesh.events", dimensions: [("kind", kind)], factory: factory)
                counters[kind] = counter
                counter.increment()
                switch event {
                case .retransmitted(let count, _): retransmissions.increment(by: count)
                case .dropped(let count, _): dropped.increment(by: count)
                case .reachabilityChanged(let peer?, let isReachable):
                    if isReachable { reachable.insert(peer) } else { reachable.remove(peer) }
                    peersReachable.record(reachable.count)
                case .roundTrip(let peer, let duration):
                    // A person has few peers. Names of unknown peers must not fill the metrics system.
                    guard timers[peer] != nil || timers.count < Self.peersMax else { continue }
                    let timer =
                        timers[peer]
                        ?? CoreMetrics.Timer(
                            label: "sessionmesh.round_trip", dimensions: [("peer", peer)], factory: factory)
                    timers[peer] = timer
                    timer.recordNanoseconds(Int64(clamping: duration.nanoseconds))
                default: break
                }
            }
        }

        private static let peersMax = 64
    }

    extension SessionDiagnosticEvent {
        /// The name of the case.
        var kind: String {
            switch self {
            case .envelopeSent: "envelopeSent"
            case .envelopeReceived: "envelopeReceived"
            case .snapshotSent: "snapshotSent"
            case .snapshotReceived: "snapshotReceived"
            case .snapshotRequestSent: "snapshotRequestSent"
            case .snapshotRequestReceived: "snapshotRequestReceived"
            case .reachabilityChanged: "reachabilityChanged"
            case .sendFailed: "sendFailed"
            case .rejected: "rejected"
            case .displaced: "displaced"
            case .acknowledged: "acknowledged"
            case .retransmitted: "retransmitted"
            case .expired: "expired"
            case .cancelled: "cancelled"
            case .pendingFlushed: "pendingFlushed"
            case .dropped: "dropped"
            case .subscriberFull: "subscriberFull"
            case .stalled: "stalled"
            case .healthChanged: "healthChanged"
            case .roundTrip: "roundTrip"
            case .storeFailed: "storeFailed"
            case .storeWentBack: "storeWentBack"
            case .peerIDInUse: "peerIDInUse"
            }
        }
    }
#endif
