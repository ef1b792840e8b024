#if MQTT
    import Foundation
    package import MeshBenchmarks
    import MeshBase
    import MeshMQTTLab
    import MeshMQTTTransport
    import MeshRelay

    /// Compares the link with Mosquitto's own programs at one broker, in one run: QoS 1, 256 bytes, and a Receive Maximum of 20.
    ///
    /// The paths take turns, so that other load on the machine disturbs all equally. A rate is for 10,000 messages, sent as
    /// fast as they are accepted, from the first sending to the last arrival. A latency is for a single message in flight.
    /// Mosquitto's programs read lines from one pipe and write them to another.
    package enum MQTTBenchmark {
        package static let benchmarkCase = BenchmarkCase(
            id: "mqtt",
            summary:
                "Messages a second and latency of the link over a Mosquitto, beside mosquitto_pub and mosquitto_sub",
            run: { context in
                // Runs on its own thread, because it blocks and the pool has only a few threads.
                try await withCheckedThrowingContinuation { done in
                    Thread.detachNewThread { done.resume(with: Result { try measure(context) }) }
                }
            })

        package static let sealingCase = BenchmarkCase(
            id: "mqtt-sealing",
            summary: "Messages that a broker may keep: time to seal one, to seal and open one, and both for the first",
            run: { context in try [0, 256, 4096, 65_536].map { try sealing($0, context) } })

        static let byteCount = 256
        private static let messageCount = 10_000
        private static let latencyCount = 3_000
        private static let rounds = 15

        private static func measure(_ context: BenchmarkContext) throws -> [BenchmarkRow] {
            let broker = try MosquittoBroker([
                "allow_anonymous true", "max_queued_messages 0", "max_inflight_messages 20", "set_tcp_nodelay true",
            ])
            let ways: [(name: String, way: any MeasuredWay)] = [
                ("mosquitto_pub and mosquitto_sub", try MosquittoPrograms(broker)),
                ("MosquittoClient, nothing sealed", try MeasuredClients(broker)),
                ("RelayLink, sealed", try MeasuredLinks(broker)),
            ]
            defer { for (_, way) in ways { way.close() } }
            var (rates, delays) = (ways.map { _ in [Double]() }, ways.map { _ in [Double]() })
            for round in 1...rounds {
                for (index, (name, way)) in ways.enumerated() {
                    context.report("\(name), round \(round) of \(rounds)")
                    rates[index].append(try rate(of: way))
                    delays[index] += try (0..<latencyCount / rounds).map { _ in try delay(of: way) }
                }
            }
            let medians = rates.map { percentile($0, 50) }
            let latencies = delays.map { percentile($0, 50) }
            return ways.indices.map { index in
                [
                    "way": .text(ways[index].name), "bytes": .integer(byteCount),
                    "messagesPerSecond": .integer(Int(medians[index])),
                    "throughputRatio": .number(medians[index] / medians[0]),
                    "medianMicroseconds": .number(latencies[index]),
                    "medianRatio": .number(latencies[index] / latencies[0]),
                    "percentile99Microseconds": .number(percentile(delays[index], 99)),
                ]
            }
        }

        /// Returns messages a second, from the first sending to the last arrival.
        private static func rate(of way: any MeasuredWay) throws -> Double {
            let start = ContinuousClock.now
            for _ in 0..<messageCount { try way.send() }
            try way.arrivals.wait(for: messageCount)
            return Double(messageCount) / ((ContinuousClock.now - start) / .seconds(1))
        }

        /// Returns the microseconds that a single message takes.
        private static func delay(of way: any MeasuredWay) throws -> Double {
            let start = ContinuousClock.now
            try way.send()
            try way.arrivals.wait(for: 1)
            return (ContinuousClock.now - start) / .microseconds(1)
        }

        private static func percentile(_ values: [Double], _ percent: Int) -> Double {
            let sorted = values.sorted()
            return sorted[min(sorted.count * percent / 100, sorted.count - 1)]
        }

        private static func sealing(_ byteCount: Int, _ context: BenchmarkContext) throws -> BenchmarkRow {
            context.report("messages of \(byteCount) bytes")
            let plaintext = [UInt8](repeating: 7, count: byteCount)
            var pair = try KeptSealPair()
            let seal = try context.stopwatch.nanoseconds { try pair.seal(plaintext) }
            // A message can be opened only once in each context.
            try pair.forgetContexts()
            let both = try context.stopwatch.nanoseconds { try pair.open(pair.seal(plaintext)) }
            let first = try context.stopwatch.nanoseconds {
                try pair.forgetContexts()
                return try pair.open(pair.seal(plaintext))
            }
            return [
                "bytes": .integer(byteCount), "sealNanoseconds": .number(seal), "sealAndOpenNanoseconds": .number(both),
                "firstNanoseconds": .number(first),
            ]
        }
    }
#endif
