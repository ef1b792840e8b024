import MeshBase
import MeshFoundation
import MeshIdentity
import MeshTransport

extension TransportConformance {
    /// Rules about delivering envelopes.
    static let deliveryRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule(
            "transport.envelope.intact", "Every metadata field arrives unchanged, and the payload decodes"
        ) {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let metadata = SessionSyncMetadata(
                sessionID: bench.sessionID, featureID: "größe", sourcePeerID: bench.first.localPeer.id,
                eventID: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), sequence: .max,
                causalTimestamp: Date(timeIntervalSince1970: 1_767_225_600.123456), monotonicTimestamp: 0.1,
                payloadType: "conformance.text", acknowledgedSequence: 41,
                stamp: HybridTimestamp(milliseconds: 1_767_225_600_123, counter: 9), incarnation: .max, epoch: 3,
                promise: SequencePromise(sequence: 40, stamp: HybridTimestamp(rawValue: 77)))
            let payload = ["", "snow ❄︎", "null \u{0}"]
            try await bench.first.send(
                AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: payload)),
                mode: .reliableEventually, to: nil)
            try await bench.wait(for: "an envelope") { received.count >= 1 }
            try requireEqual(received.elements[0].metadata, metadata, "the metadata")
            try requireEqual(try received.elements[0].decodePayload(as: [String].self), payload, "the payload")
        },
        ConformanceRule("transport.order.reliable", "Reliable envelopes arrive once and in order") { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            try await bench.send(1...200)
            try await bench.wait(for: "200 envelopes") { received.count >= 200 }
            await bench.settle()
            try requireEqual(received.sequences(), Array(1...200), "the order of arrival")
        },
        ConformanceRule(
            "transport.queue.waits", "A reliable envelope waits for a peer that isn't connected yet"
        ) { bench in
            let received = bench.record(bench.second.receiveEnvelopes())
            try await bench.send(1...3)
            await bench.settle()
            try await bench.connect()
            try await bench.send(4...5)
            try await bench.wait(for: "five envelopes") { received.count >= 5 }
            await bench.settle()
            try requireEqual(received.sequences(), Array(1...5), "the order of arrival")
        }.unless { bench in
            if bench.pair.ownSendsComeBack { return "the only peer is always connected" }
            return bench.first.capabilities.supportsDurableQueue ? nil : "no queue is offered"
        },
        ConformanceRule(
            "transport.realtime.not-stored", "A best-effort envelope is never delivered later to a peer that was away"
        ) { bench in
            let received = bench.record(bench.second.receiveEnvelopes())
            await bench.settle()
            try await requireThrows(.notReachable) {
                try await bench.first.send(bench.envelope(1), mode: .realtimeBestEffort, to: nil)
            }
            await bench.settle()
            try await bench.connect()
            try await bench.send(2...2)
            try await bench.wait(for: "the later envelope") { received.sequences().contains(2) }
            await bench.settle()
            try requireEqual(received.sequences(), [2], "what arrived")
        }.needs(.otherPeer, .nothingKeepsBestEffort),
        ConformanceRule(
            "transport.realtime.kept", "If the platform keeps a queue, a best-effort event arrives whenever it was sent"
        ) { bench in
            let received = bench.record(bench.second.receiveEnvelopes())
            try await bench.send(1...1, mode: .realtimeBestEffort)
            try await bench.connect()
            try await bench.send(2...2, mode: .realtimeBestEffort)
            try await bench.wait(for: "the first two") { Set(received.sequences()) == [1, 2] }
            try await bench.disconnect()
            try await bench.send(3...3, mode: .realtimeBestEffort)
            await bench.settle()
            // Sends while the peers connect, before they can exchange hellos.
            async let connected: Void = bench.connect()
            try await bench.send(4...4, mode: .realtimeBestEffort)
            try await connected
            try await bench.wait(for: "the last two") { Set(received.sequences()) == [1, 2, 3, 4] }
        }.needs(.reconnection, .lane(.queue)),
        ConformanceRule("transport.realtime.arrives", "A best-effort envelope arrives on a link without faults") {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            for mode in [SessionDeliveryMode.realtimeBestEffort, .acknowledgement] {
                try await bench.first.send(bench.envelope(1), mode: mode, to: nil)
            }
            try await bench.wait(for: "two envelopes") { received.count >= 2 }
        },
        ConformanceRule("transport.features.separate", "Features that share a link don't mix") { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let features = (1...8).map { "feature-\($0)" }
            for sequence in 1...20 as ClosedRange<UInt64> {
                for feature in features { try await bench.send(sequence...sequence, feature: feature) }
            }
            for feature in features { try await bench.publish(1, feature: feature) }
            try await bench.wait(for: "all envelopes") { received.count >= 160 }
            for feature in features {
                try requireEqual(received.sequences(feature: feature), Array(1...20), "the order of \(feature)")
                try await bench.wait(for: "the snapshot of \(feature)") {
                    bench.second.latestPeerSnapshot(featureID: feature) != nil
                }
                let snapshot = bench.second.latestPeerSnapshot(featureID: feature)
                try requireEqual(snapshot?.metadata.featureID, feature, "the snapshot's feature")
            }
        },
        ConformanceRule("transport.subscribers.independent", "Every subscriber receives everything, in its own time") {
            bench in
            try await bench.connect()
            let early = bench.record(bench.second.receiveEnvelopes())
            let unread = bench.second.receiveEnvelopes()
            // A subscriber that stops listening takes nothing from the others.
            _ = bench.second.receiveEnvelopes()
            try await bench.send(1...20)
            try await bench.wait(for: "20 envelopes at the first subscriber") { early.count >= 20 }
            let late = bench.record(unread)
            try await bench.wait(for: "20 envelopes at the subscriber that reads later") { late.count >= 20 }
            try requireEqual(early.sequences(), late.sequences(), "what the early subscriber has")
        },
        ConformanceRule(
            "transport.subscribers.first", "Reliable envelopes that arrive before the first subscriber wait for it"
        ) { bench in
            try await bench.connect()
            try await bench.send(1...5)
            await bench.settle()
            let received = bench.record(bench.second.receiveEnvelopes())
            try await bench.send(6...6)
            try await bench.wait(for: "six envelopes") { received.count >= 6 }
            try requireEqual(received.sequences(), Array(1...6), "what the first subscriber has")
        },
        ConformanceRule(
            "transport.subscribers.slow",
            "A subscriber that stops reading loses no reliable envelope; those beyond its buffer wait at the sender"
        ) { bench in
            let bench = try await bench.narrow()
            try await bench.connect()
            let unread = bench.second.receiveEnvelopes()
            let sequences = 1...UInt64(8 * TransportPair.narrowLimit)
            let sending = Task { try await bench.send(sequences) }
            defer { sending.cancel() }
            for _ in 0..<5 { await bench.settle() }
            let received = bench.record(unread)
            // Each envelope may need the full patience.
            var count = 0
            while count < sequences.count {
                try await bench.wait(for: "envelope \(count + 1)") { received.count > count }
                count = received.count
            }
            try requireEqual(received.sequences(), Array(sequences), "what the slow subscriber has")
        }.needs(.narrowness),
        ConformanceRule(
            "transport.limit.refused",
            "A payload over the limit is refused with the limit's name, and one within it arrives"
        ) { bench in
            guard let limit = bench.pair.limit else { return }
            try requireEqual(bench.first.capabilities.maximumPayloadSize, limit.bytes, "the declared limit")
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let large = String(repeating: "x", count: limit.bytes + 1)
            try await requireTooLarge(limit.id) {
                try await bench.first.send(bench.envelope(1, text: large), mode: .reliableEventually, to: nil)
            }
            try await requireTooLarge(limit.id) {
                try await bench.first.sendSnapshot(bench.snapshot(1, text: large), mode: .latestSnapshot, to: nil)
            }
            let fitting = String(large.prefix(limit.bytes / 2))
            try await bench.first.send(bench.envelope(2, text: fitting), mode: .reliableEventually, to: nil)
            try await bench.wait(for: "the payload within the limit") { received.count >= 1 }
            try requireEqual(received.sequences(), [2], "what arrived")
            try requireEqual(
                try received.elements[0].decodePayload(as: [String].self), [fitting], "the payload within the limit")
        }.unless { $0.pair.limit == nil ? "any size is carried" : nil },
    ]

    private static func requireTooLarge(_ limitID: String, _ send: () async throws -> Void) async throws {
        do {
            try await send()
        } catch SessionSyncError.payloadTooLarge(_, _, let id) {
            return try requireEqual(id, limitID, "the limit that the error names")
        }
        throw ConformanceFailure("a payload over the limit was accepted")
    }
}
