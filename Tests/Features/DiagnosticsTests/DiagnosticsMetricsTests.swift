#if Metrics
    import CoreMetrics
    import MeshBase
    import MeshTransport
    import Testing

    @testable import MeshDiagnostics

    @Suite struct DiagnosticsMetricsTests {
        @Test func `events become counters, timers and a gauge`() async {
            let records = Records()
            let topic = Topic<SessionDiagnosticEvent>()
            let bridge = DiagnosticsMetrics(topic: topic, factory: records)
            topic.publish(.reachabilityChanged(peerID: "watch", isReachable: true))
            topic.publish(.reachabilityChanged(peerID: "watch", isReachable: false))
            topic.publish(.retransmitted(count: 3, peerID: "watch"))
            topic.publish(.roundTrip(peerID: "watch", duration: .milliseconds(4)))
            topic.finish()
            await bridge.run()
            #expect(
                records.lines.withLock { $0 } == [
                    "sessionmesh.events reachabilityChanged +1", "sessionmesh.peers_reachable  =1",
                    "sessionmesh.events reachabilityChanged +1", "sessionmesh.peers_reachable  =0",
                    "sessionmesh.events retransmitted +1", "sessionmesh.retransmissions  +3",
                    "sessionmesh.events roundTrip +1", "sessionmesh.round_trip watch 4000000",
                ])
        }
    }

    private final class Records: MetricsFactory {
        let lines = Locked<[String]>([])

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            Record(self, label, dimensions)
        }
        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            Record(self, label, dimensions)
        }
        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            Record(self, label, dimensions)
        }
        func destroyCounter(_ handler: any CounterHandler) {}
        func destroyRecorder(_ handler: any RecorderHandler) {}
        func destroyTimer(_ handler: any TimerHandler) {}
    }

    private final class Record: CounterHandler, RecorderHandler, TimerHandler {
        private let records: Records
        private let name: String

        init(_ records: Records, _ label: String, _ dimensions: [(String, String)]) {
            self.records = records
            name = "\(label) \(dimensions.map(\.1).joined())"
        }

        func increment(by amount: Int64) { note("+\(amount)") }
        func reset() { note("reset") }
        func record(_ value: Int64) { note("=\(value)") }
        func record(_ value: Double) { note("=\(Int(value))") }
        func recordNanoseconds(_ duration: Int64) { note("\(duration)") }

        private func note(_ text: String) { records.lines.withLock { $0.append("\(name) \(text)") } }
    }
#endif
