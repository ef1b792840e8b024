#if SwiftLog
    public import Logging
    public import MeshBase
    public import MeshTransport

    /// Forwards diagnostic events to swift-log: failures and rejected messages as warnings, the rest as debug lines.
    public struct DiagnosticsLogger: Sendable {
        private let events: AsyncStream<SessionDiagnosticEvent>
        private let logger: Logger

        /// Subscribes at once, so that events between this call and `run` are not lost.
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
