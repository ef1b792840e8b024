import MeshBase
import MeshIdentity
import MeshTransport

extension TransportConformance {
    /// Rules about messages and peers across connections.
    static let reconnectionRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule(
            "transport.order.after-reconnect",
            "Messages sent before, during and after a disconnection all arrive once, in order"
        ) { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            try await bench.send(1...20)
            try await bench.disconnect()
            try await bench.send(21...40)
            await bench.settle()
            try await bench.connect()
            try await bench.send(41...60)
            try await bench.wait(for: "60 envelopes") { received.count >= 60 }
            await bench.settle()
            try requireEqual(received.sequences(), Array(1...60), "the order of arrival")
        }.needs(.reconnection),
        ConformanceRule(
            "transport.reconnect.mid-transfer",
            "A connection that fails during messages, even in the middle of one, neither loses nor repeats any"
        ) { bench in
            let faults = try bench.faults()
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            var sequence: UInt64 = 0
            for (index, passing) in [0, 1, 37, 150, 1000, 20_000, 7].enumerated() {
                faults.swallow(passing)
                for _ in 0..<20 {
                    sequence += 1
                    let text = String(repeating: "x", count: index == 5 ? 5000 : 50)
                    try await bench.first.send(
                        bench.envelope(sequence, text: text), mode: .reliableEventually, to: nil)
                }
                await bench.settle()
                faults.cut()
                await bench.settle()
                faults.mend()
                await bench.settle()
            }
            try await bench.wait(for: "\(sequence) envelopes") { received.count >= Int(sequence) }
            await bench.settle()
            try requireEqual(received.sequences(), Array(1...sequence), "the order of arrival")
        }.needs(.otherPeer, .faults),
        ConformanceRule(
            "transport.reconnect.large", "A large message that was interrupted arrives whole after reconnecting"
        ) { bench in
            let faults = try bench.faults()
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let text = String(repeating: "large ", count: min(bench.pair.limit?.bytes ?? .max, 300_000) / 12)
            faults.swallow(text.utf8.count / 2)
            try await bench.first.send(bench.envelope(1, text: text), mode: .reliableEventually, to: nil)
            await bench.settle()
            try requireEqual(received.count, 0, "what arrived of half a message")
            faults.cut()
            faults.mend()
            try await bench.wait(for: "the message") { received.count >= 1 }
            await bench.settle()
            try requireEqual(received.sequences(), [1], "what arrived")
            try requireEqual(try received.elements[0].decodePayload(as: [String].self), [text], "the payload")
        }.needs(.otherPeer, .faults, .liveLane),
        ConformanceRule(
            "transport.realtime.refused",
            "A best-effort send to a peer that has gone is refused, and isn't delivered later"
        ) {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            try await bench.disconnect()
            for mode in [SessionDeliveryMode.realtimeBestEffort, .acknowledgement] {
                try await requireThrows(.notReachable) {
                    try await bench.first.send(bench.envelope(1), mode: mode, to: nil)
                }
            }
            try await requireThrows(.notReachable) {
                try await bench.first.requestSnapshot(sessionID: bench.sessionID, from: bench.second.localPeer)
            }
            try await bench.connect()
            try await bench.send(2...2)
            try await bench.wait(for: "the later envelope") { received.sequences().contains(2) }
            await bench.settle()
            try requireEqual(received.sequences(), [2], "what arrived")
        }.needs(.reconnection, .nothingKeepsBestEffort),
        ConformanceRule("transport.peers.remembered", "A peer that comes and goes stays known, and is listed once") {
            bench in
            let peer = bench.second.localPeer
            for round in 1...3 {
                try await bench.connect()
                try requireEqual(
                    bench.first.knownPeers.count { $0.id == peer.id }, 1, "how often it is known in round \(round)")
                try await bench.disconnect()
                try requireEqual(
                    bench.first.knownPeers.count { $0.id == peer.id }, 1, "how often it is known after round \(round)")
                try await bench.first.send(bench.envelope(UInt64(round)), mode: .reliableEventually, to: peer)
            }
        }.needs(.reconnection),
        ConformanceRule(
            "transport.reachability.alternates", "A peer is reported as reachable and unreachable alternately"
        ) { bench in
            let peer = bench.second.localPeer.id
            let changes = bench.record(bench.first.reachabilityChanges())
            func announced() -> [Bool] { changes.elements.filter { $0.peer?.id == peer }.map(\.isReachable) }
            for round in 1...3 {
                try await bench.connect()
                try await bench.wait(for: "word of round \(round)") { announced().count >= 2 * round - 1 }
                try await bench.disconnect()
                try await bench.wait(for: "word of the end of round \(round)") { announced().count >= 2 * round }
            }
            try requireEqual(announced(), [true, false, true, false, true, false], "what was announced")
        }.needs(.reconnection, .liveLane),
        ConformanceRule(
            "transport.reachability.proven", "A peer is reachable once it answers, not once it is connected"
        ) { bench in
            let faults = try bench.faults()
            let peer = bench.second.localPeer.id
            let changes = bench.record(bench.first.reachabilityChanges())
            func announced() -> [Bool] { changes.elements.filter { $0.peer?.id == peer }.map(\.isReachable) }
            try await bench.connect()
            try await bench.wait(for: "the peer to be reported as reachable") { announced() == [true] }
            faults.cut()
            try await bench.wait(for: "word that it is gone") { announced() == [true, false] }
            // Reconnects, but lets nothing through.
            faults.setRoom(0)
            faults.mend()
            await bench.settle()
            try requireEqual(announced(), [true, false], "what is announced of a peer that cannot answer")
            faults.setRoom(nil)
            try await bench.wait(for: "word that it is back") { announced() == [true, false, true] }
        }.needs(.otherPeer, .faults, .liveLane),
        ConformanceRule(
            "transport.snapshot.returning-peer", "A returning peer gets newer snapshots, and not the one that it has"
        ) { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveSnapshots())
            try await bench.publish(1)
            try await bench.publish(1, feature: "other")
            try await bench.wait(for: "the first snapshots") { received.count >= 2 }
            try await bench.disconnect()
            for revision in 2...5 as ClosedRange<UInt64> { try await bench.publish(revision) }
            try await bench.connect()
            try await bench.wait(for: "the newest snapshot") { received.revisions().last == 5 }
            await bench.settle()
            let revisions = received.revisions()
            if bench.pair.faults?.lanes.contains(.latest) == true {
                // The platform may have delivered some revisions in the meantime.
                try requireEqual(revisions, Set(revisions).sorted(), "what arrived of the one feature")
            } else {
                try requireEqual(revisions, [1, 5], "what arrived of the one feature")
            }
            try requireEqual(received.revisions(feature: "other"), [1], "what arrived of the other")
        }.needs(.reconnection, .replacement),
    ]
}
