import MeshIdentity
import MeshTransport

extension TransportConformance {
    /// Rules about crashes and relaunches of peers with a store.
    static let relaunchRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule(
            "transport.relaunch.outbox", "Messages accepted for an absent peer arrive after a crash, in order"
        ) { bench in
            let before = try await bench.durable()
            try await before.connect()
            let met = before.record(before.second.receiveEnvelopes())
            try await before.send(1...5)
            try await before.wait(for: "five envelopes") { met.count >= 5 }
            try await before.disconnect()
            try await before.send(6...30)
            let after = try await before.relaunched(alongside: bench)
            let received = after.record(after.second.receiveEnvelopes())
            try await after.connect()
            try await after.send(31...35)
            try await after.wait(for: "envelopes 6 to 35") { received.sequences().last == 35 }
            // A platform's lane may deliver before the crash. Envelopes that arrived, but weren't recorded as read, are
            // offered again.
            let (early, late) = (met.sequences(), received.sequences())
            try requireEqual(Set(early + late), Set(1...35), "what arrived before and after the crash")
            for sequences in [early, late] { try requireEqual(sequences, Set(sequences).sorted(), "the order") }
        }.needs(.durability, .reconnection),
        ConformanceRule(
            "transport.relaunch.pending", "Messages accepted before any peer was known arrive after a crash"
        ) { bench in
            let before = try await bench.durable()
            try await before.send(1...10)
            let after = try await before.relaunched(alongside: bench)
            let received = after.record(after.second.receiveEnvelopes())
            try await after.connect()
            try await after.wait(for: "ten envelopes") { received.count >= 10 }
            await after.settle()
            try requireEqual(received.sequences(), Array(1...10), "the order of arrival")
        }.needs(.durability, .reconnection),
        ConformanceRule(
            "transport.relaunch.inbox", "Acknowledged but unread messages are offered again after a crash"
        ) { bench in
            let before = try await bench.durable()
            try await before.connect()
            try await before.send(1...20)
            await before.settle()
            let after = try await before.relaunched(alongside: bench)
            let received = after.record(after.second.receiveEnvelopes())
            try await after.connect()
            try await after.send(21...25)
            try await after.wait(for: "25 envelopes") { received.count >= 25 }
            await after.settle()
            try requireEqual(received.sequences(), Array(1...25), "the order of arrival")
        }.needs(.durability, .reconnection),
        ConformanceRule(
            "transport.relaunch.once", "Messages delivered before an orderly end aren't delivered again"
        ) { bench in
            let before = try await bench.durable()
            try await before.connect()
            let earlier = before.record(before.second.receiveEnvelopes())
            try await before.send(1...20)
            try await before.wait(for: "20 envelopes") { earlier.count >= 20 }
            await before.settle()
            await before.second.close()
            await before.first.close()
            let after = try await before.relaunched(alongside: bench)
            let received = after.record(after.second.receiveEnvelopes())
            try await after.connect()
            try await after.send(21...25)
            try await after.wait(for: "the later envelopes") { received.sequences().last == 25 }
            await after.settle()
            try requireEqual(received.sequences(), Array(21...25), "what arrived")
        }.needs(.durability, .reconnection),
        ConformanceRule(
            "transport.relaunch.snapshot", "The newest own snapshot reaches a peer that appears after a crash"
        ) { bench in
            let before = try await bench.durable()
            for revision in 1...3 as ClosedRange<UInt64> { try await before.publish(revision) }
            let after = try await before.relaunched(alongside: bench)
            let received = after.record(after.second.receiveSnapshots())
            try await after.connect()
            try await after.wait(for: "revision 3") { received.revisions().contains(3) }
            await after.settle()
            try requireEqual(received.revisions(), [3], "what arrived")
        }.needs(.durability, .reconnection),
        ConformanceRule(
            "transport.relaunch.lookup",
            "A peer's newest snapshot is available after a crash, before the peer reconnects"
        ) { bench in
            let before = try await bench.durable()
            try await before.connect()
            for revision in 1...3 as ClosedRange<UInt64> { try await before.publish(revision) }
            try await before.wait(for: "revision 3") {
                before.second.latestPeerSnapshot(featureID: "workout")?.revision == 3
            }
            await before.settle()
            let after = try await before.relaunched(alongside: bench)
            try requireEqual(
                after.second.latestPeerSnapshot(featureID: "workout")?.revision, 3, "the newest snapshot's revision")
            let received = after.record(after.second.receiveSnapshots())
            try await after.wait(for: "the snapshot at a subscriber") { received.count >= 1 }
            try requireEqual(received.revisions(), [3], "what a subscriber has")
        }.needs(.durability, .reconnection),
        ConformanceRule("transport.relaunch.peers", "Peers are known after a crash, before they reconnect") {
            bench in
            let before = try await bench.durable()
            try await before.connect()
            let peer = before.second.localPeer
            let after = try await before.relaunched(alongside: bench)
            try require(after.first.knownPeers.contains { $0.id == peer.id }, "\(peer.id) is not known any more")
            try await after.first.send(after.envelope(1), mode: .reliableEventually, to: peer)
            let received = after.record(after.second.receiveEnvelopes())
            try await after.connect()
            try await after.wait(for: "the envelope that waited for it") { received.count >= 1 }
        }.needs(.durability, .reconnection),
    ]
}
