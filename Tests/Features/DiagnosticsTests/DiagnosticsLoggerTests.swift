#if SwiftLog
    import Logging
    import MeshBase
    import MeshTransport
    import Testing

    @testable import MeshDiagnostics

    @Suite struct DiagnosticsLoggerTests {
        @Test func `events become log lines of fitting levels`() async {
            let lines = Locked<[String]>([])
            let logger = Logger(label: "test") { _ in CollectingHandler(lines: lines) }
            let topic = Topic<SessionDiagnosticEvent>()
            let bridge = DiagnosticsLogger(topic: topic, logger: logger)
            topic.publish(.reachabilityChanged(peerID: "watch", isReachable: true))
            topic.publish(.rejected(peerID: "watch", reason: "garbage"))
            topic.publish(.snapshotRequestSent(peerID: nil))
            topic.finish()
            await bridge.run()
            #expect(
                lines.withLock { $0 } == [
                    "info: watch is reachable",
                    "warning: rejected a message from watch: garbage",
                    "debug: asked all for a snapshot",
                ])
        }
    }

    private struct CollectingHandler: LogHandler {
        let lines: Locked<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.withLock { $0.append("\(event.level): \(event.message)") } }
    }
#endif
