import MeshIdentity
import MeshTransport

extension TransportConformance {
    /// Rules about many peers and many features.
    static let crowdRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule("transport.crowd.all", "Each of a hundred peers receives each message to all once, in order") {
            bench in
            let crowd = try await bench.crowd(crowdCount)
            let received = crowd.ends.dropFirst().map { bench.record($0.receiveEnvelopes()) }
            for sequence in 1...10 as ClosedRange<UInt64> {
                try await crowd.ends[0].send(bench.envelope(sequence), mode: .reliableEventually, to: nil)
            }
            try await bench.wait(in: crowd, for: "ten envelopes at each peer") {
                received.allSatisfy { $0.count >= 10 }
            }
            for _ in 0..<100 { await crowd.settle() }
            for (index, recorder) in received.enumerated() {
                try requireEqual(recorder.sequences(), Array(1...10), "what peer \(index + 1) received")
            }
        }.needs(.crowd),
        ConformanceRule("transport.crowd.one", "Among a hundred peers, only the addressed one receives a message") {
            bench in
            let crowd = try await bench.crowd(crowdCount)
            let received = crowd.ends.map { bench.record($0.receiveEnvelopes()) }
            for sequence in 1...5 as ClosedRange<UInt64> {
                try await crowd.ends[0].send(
                    bench.envelope(sequence), mode: .reliableEventually, to: crowd.ends[crowdCount / 2].localPeer)
            }
            try await bench.wait(in: crowd, for: "five envelopes") { received[crowdCount / 2].count >= 5 }
            for _ in 0..<100 { await crowd.settle() }
            for (index, recorder) in received.enumerated() {
                let expected: [UInt64] = index == crowdCount / 2 ? [1, 2, 3, 4, 5] : []
                try requireEqual(recorder.sequences(), expected, "what peer \(index) received")
            }
        }.needs(.crowd),
        ConformanceRule(
            "transport.crowd.sources", "One peer receives the messages of a hundred peers in each sender's order"
        ) {
            bench in
            let crowd = try await bench.crowd(crowdCount)
            let received = bench.record(crowd.ends[0].receiveEnvelopes())
            for sequence in 1...5 as ClosedRange<UInt64> {
                for (index, end) in crowd.ends.enumerated().dropFirst() {
                    let envelope = try bench.envelope(sequence, feature: "from-\(index)", from: end.localPeer)
                    try await end.send(envelope, mode: .reliableEventually, to: crowd.ends[0].localPeer)
                }
            }
            let count = 5 * (crowdCount - 1)
            try await bench.wait(in: crowd, for: "\(count) envelopes") { received.count >= count }
            for index in 1..<crowdCount {
                try requireEqual(
                    received.sequences(feature: "from-\(index)"), Array(1...5), "the order of peer \(index)")
            }
        }.needs(.crowd),
        ConformanceRule("transport.features.many", "Each of a hundred features keeps its order and its snapshots") {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let features = (1...100).map { "feature-\($0)" }
            for sequence in 1...5 as ClosedRange<UInt64> {
                for feature in features { try await bench.send(sequence...sequence, feature: feature) }
            }
            for feature in features { try await bench.publish(7, feature: feature) }
            try await bench.wait(for: "500 envelopes") { received.count >= 500 }
            for feature in features {
                try requireEqual(received.sequences(feature: feature), Array(1...5), "the order of \(feature)")
            }
            try await bench.wait(for: "the snapshot of every feature") {
                features.allSatisfy { bench.second.latestPeerSnapshot(featureID: $0)?.revision == 7 }
            }
            let late = bench.record(bench.second.receiveSnapshots())
            try await bench.wait(for: "every snapshot at a late subscriber") { late.count >= 100 }
            try requireEqual(
                Set(late.elements.map(\.metadata.featureID)), Set(features), "what a late subscriber has")
        },
        ConformanceRule(
            "transport.snapshot.collapse",
            "The newest of many snapshots arrives last, and none arrives after a newer one"
        ) {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveSnapshots())
            for revision in 1...100 as ClosedRange<UInt64> { try await bench.publish(revision) }
            try await bench.wait(for: "revision 100") { received.revisions().contains(100) }
            await bench.settle()
            let revisions = received.revisions()
            try requireEqual(revisions, Set(revisions).sorted(), "the order of arrival")
        },
        ConformanceRule("transport.snapshot.target", "A snapshot or a request for one peer reaches no other") { bench in
            guard let other = bench.pair.bystander else { return }
            try await bench.connect()
            let snapshots = (bench.record(bench.second.receiveSnapshots()), bench.record(other.receiveSnapshots()))
            let requests = (
                bench.record(bench.second.receiveSnapshotRequests()), bench.record(other.receiveSnapshotRequests())
            )
            try await bench.first.sendSnapshot(bench.snapshot(1), mode: .latestSnapshot, to: bench.second.localPeer)
            try await bench.first.requestSnapshot(sessionID: bench.sessionID, from: bench.second.localPeer)
            try await bench.wait(for: "both at the peer that is meant") {
                snapshots.0.count >= 1 && requests.0.count >= 1
            }
            await bench.settle()
            try requireEqual([snapshots.1.count, requests.1.count], [0, 0], "what another peer received")
        }.needs(.bystander),
        ConformanceRule(
            "transport.reachability.late-subscriber", "A late subscriber is told at once which peers are reachable"
        ) { bench in
            let early = bench.record(bench.first.reachabilityChanges())
            try await bench.connect()
            let peer = bench.second.localPeer.id
            try await bench.wait(for: "the peer to be reported as reachable") {
                early.elements.contains { $0.peer?.id == peer && $0.isReachable }
            }
            let late = bench.record(bench.first.reachabilityChanges())
            try await bench.wait(for: "the same report at a late subscriber") { late.count >= 1 }
            await bench.settle()
            try requireEqual(
                late.elements.filter { $0.peer?.id == peer }.map(\.isReachable), [true],
                "the reports to a late subscriber")
        }.needs(.otherPeer, .liveLane),
        ConformanceRule("transport.close.announced", "A peer that closes is reported to the other as unreachable") {
            bench in
            let peer = bench.first.localPeer.id
            let changes = bench.record(bench.second.reachabilityChanges())
            func announced() -> [Bool] { changes.elements.filter { $0.peer?.id == peer }.map(\.isReachable) }
            try await bench.connect()
            try await bench.wait(for: "the peer to be reported as reachable") { announced().last == true }
            await bench.first.close()
            try await bench.wait(for: "the peer to be reported as unreachable") { announced().last == false }
        }.needs(.otherPeer, .liveLane),
    ]

    static let crowdCount = 100
}
