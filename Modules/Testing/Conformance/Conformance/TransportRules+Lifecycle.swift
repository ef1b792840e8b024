import MeshIdentity
import MeshTransport

extension TransportConformance {
    /// Rules about closing, unsupported modes and cancellation.
    static let lifecycleRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule(
            "transport.close.streams-end", "Closing ends every stream, including one that begins afterwards"
        ) {
            bench in
            try await bench.connect()
            let transport = bench.first
            func streams() -> [@Sendable () -> Bool] {
                let recorders = (
                    bench.record(transport.receiveEnvelopes()), bench.record(transport.receiveSnapshots()),
                    bench.record(transport.receiveSnapshotRequests()), bench.record(transport.reachabilityChanges())
                )
                return [
                    { recorders.0.hasEnded }, { recorders.1.hasEnded }, { recorders.2.hasEnded },
                    { recorders.3.hasEnded },
                ]
            }
            let before = streams()
            await bench.settle()
            try require(!before.contains { $0() }, "a stream ended before the transport was closed")
            await transport.close()
            await transport.close()
            let after = streams()
            try await bench.wait(for: "every stream to end") { (before + after).allSatisfy { $0() } }
        },
        ConformanceRule("transport.close.sends-throw", "After closing, every send throws closed") { bench in
            try await bench.connect()
            await bench.first.close()
            for mode in [SessionDeliveryMode.realtimeBestEffort, .reliableEventually, .acknowledgement] {
                try await requireThrows(.closed) { try await bench.first.send(bench.envelope(1), mode: mode, to: nil) }
            }
            try await requireThrows(.closed) { try await bench.publish(1) }
            try await requireThrows(.closed) {
                try await bench.first.requestSnapshot(sessionID: bench.sessionID, from: nil)
            }
        },
        ConformanceRule(
            "transport.close.flushes", "Messages accepted before closing still arrive"
        ) { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            try await bench.send(1...50)
            await bench.first.close()
            try await bench.wait(for: "50 envelopes") { received.count >= 50 }
            try requireEqual(received.sequences(), Array(1...50), "the order of arrival")
        }.unless { $0.pair.ownSendsComeBack ? "the receiver closes with the sender" : nil },
        ConformanceRule("transport.mode.unsupported", "A mode that is not offered throws unsupportedDeliveryMode") {
            bench in
            try await bench.connect()
            let capabilities = bench.first.capabilities
            // No transport offers this mode for events: a newer event never replaces an older one.
            var refused: [SessionDeliveryMode] = [.latestSnapshot]
            let hasQueue = bench.pair.faults?.lanes.contains(.queue) ?? false
            if !capabilities.supportsRealtime, !hasQueue { refused.append(.realtimeBestEffort) }
            if !capabilities.supportsDurableQueue { refused.append(.reliableEventually) }
            for mode in refused {
                try await requireThrows(.unsupportedDeliveryMode) {
                    try await bench.first.send(bench.envelope(1), mode: mode, to: nil)
                }
            }
            if !capabilities.supportsLatestStateReplacement {
                try await requireThrows(.unsupportedDeliveryMode) { try await bench.publish(1) }
            }
        },
        ConformanceRule("transport.cancellation.honoured", "A cancelled task sends nothing") { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let sending = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await bench.first.send(bench.envelope(1), mode: .reliableEventually, to: nil)
            }
            if case .success = await sending.result {
                throw ConformanceFailure("a cancelled send did not throw")
            }
            try await bench.send(2...2)
            try await bench.wait(for: "the later envelope") { received.sequences().contains(2) }
            try requireEqual(received.sequences(), [2], "what arrived")
        },
    ]
}
