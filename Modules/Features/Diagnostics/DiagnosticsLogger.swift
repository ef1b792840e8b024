#if SwiftLog
    public import Logging
    public import MeshBase
    public import MeshTransport

    /// Forwards diagnostic events to swift-log. Failures and rejected messages are warnings, and a store's failure is an error.
    /// Changes of peers and waiting messages are informational, and all other events are debug lines.
    public struct DiagnosticsLogger: Sendable {
        private let events: AsyncStream<SessionDiagnosticEvent>
        private let logger: Logger

        /// Creates a logger that subscribes at once, so events between this call and `run` aren't lost.
        public init(topic: Topic<SessionDiagnosticEvent>, logger: Logger) {
            events = topic.subscribe()
            self.logger = logger
        }

        /// Logs until the topic finishes or the task is cancelled. Call it once.
        public func run() async {
            for await event in events { logger.log(level: event.level, "\(event)") }
        }
    }

    extension SessionDiagnosticEvent {
        var level: Logger.Level {
            switch self {
            case .storeFailed: .error
            case .sendFailed, .rejected, .displaced, .dropped, .subscriberFull, .stalled, .storeWentBack, .peerIDInUse:
                .warning
            case .reachabilityChanged, .healthChanged, .expired, .cancelled, .pendingFlushed: .info
            case .acknowledged, .retransmitted, .roundTrip, .envelopeSent, .envelopeReceived, .snapshotSent,
                .snapshotReceived, .snapshotRequestSent,
                .snapshotRequestReceived:
                .debug
            }
        }
    }
#endif
