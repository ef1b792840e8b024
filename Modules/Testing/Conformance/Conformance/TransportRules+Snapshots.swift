import MeshIdentity
import MeshTransport

extension TransportConformance {
    /// Rules about snapshots and requests for them.
    static let snapshotRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule("transport.snapshot.intact", "A snapshot arrives with its revision, vector and checkpoint") {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveSnapshots())
            var snapshot = try bench.snapshot(7)
            snapshot.peerSequenceVector = ["": 0, "phone": 12, "watch/1a": .max]
            snapshot.checkpoint = [0, 255, 7]
            try await bench.first.sendSnapshot(snapshot, mode: .reliableEventually, to: nil)
            try await bench.wait(for: "a snapshot") { received.count >= 1 }
            let arrived = received.elements[0]
            try requireEqual(arrived.metadata, snapshot.metadata, "the metadata")
            try requireEqual(arrived.revision, 7, "the revision")
            try requireEqual(arrived.peerSequenceVector, snapshot.peerSequenceVector, "the vector")
            try requireEqual(arrived.checkpoint, snapshot.checkpoint, "the checkpoint")
            try requireEqual(try arrived.decodeState(as: [String].self), ["state"], "the state")
        },
        ConformanceRule(
            "transport.snapshot.late-subscriber", "A late subscriber receives the newest snapshot of each feature"
        ) {
            bench in
            try await bench.connect()
            let early = bench.record(bench.second.receiveSnapshots())
            try await bench.publish(1)
            try await bench.publish(2)
            try await bench.publish(5, feature: "other")
            try await bench.wait(for: "the snapshots") {
                early.revisions().contains(2) && early.revisions(feature: "other") == [5]
            }
            let late = bench.record(bench.second.receiveSnapshots())
            try await bench.wait(for: "the newest snapshots at a late subscriber") { late.count >= 2 }
            await bench.settle()
            try requireEqual(late.revisions(), [2], "what a late subscriber has of the one feature")
            try requireEqual(late.revisions(feature: "other"), [5], "what it has of the other")
        },
        ConformanceRule("transport.snapshot.lookup", "latestPeerSnapshot returns the newest snapshot of its feature") {
            bench in
            try await bench.connect()
            try require(
                bench.second.latestPeerSnapshot(featureID: "workout") == nil, "a snapshot is there before any was sent")
            try await bench.publish(3)
            try await bench.wait(for: "revision 3") {
                bench.second.latestPeerSnapshot(featureID: "workout")?.revision == 3
            }
            try require(
                bench.second.latestPeerSnapshot(featureID: "other") == nil, "a feature has the snapshot of another")
        },
        ConformanceRule(
            "transport.snapshot.newest-wins", "An older snapshot that arrives later doesn't replace a newer one"
        ) {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveSnapshots())
            for revision in [4, 9, 6] as [UInt64] {
                try await bench.first.sendSnapshot(bench.snapshot(revision), mode: .reliableEventually, to: nil)
            }
            try await bench.wait(for: "the last snapshot") { received.revisions().contains(6) }
            try requireEqual(
                bench.second.latestPeerSnapshot(featureID: "workout")?.revision, 9, "the newest snapshot's revision")
        },
        ConformanceRule(
            "transport.snapshot.late-peer", "A late peer receives only the newest snapshot of each feature"
        ) { bench in
            let received = bench.record(bench.second.receiveSnapshots())
            await bench.settle()
            for revision in 1...4 as ClosedRange<UInt64> { try await bench.publish(revision) }
            try await bench.publish(8, feature: "other")
            await bench.settle()
            try await bench.connect()
            try await bench.wait(for: "the newest snapshots") { received.count >= 2 }
            await bench.settle()
            try requireEqual(received.revisions(), [4], "what arrived of the one feature")
            try requireEqual(received.revisions(feature: "other"), [8], "what arrived of the other")
        }.unless { bench in
            if bench.pair.ownSendsComeBack { return "the only peer is always connected" }
            return bench.first.capabilities.supportsLatestStateReplacement ? nil : "snapshots are not kept"
        },
        ConformanceRule("transport.request.requester", "A snapshot request arrives with its session and its requester")
        {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveSnapshotRequests())
            try await bench.first.requestSnapshot(sessionID: bench.sessionID, from: nil)
            try await bench.wait(for: "a request") { received.count >= 1 }
            try requireEqual(received.elements[0].sessionID, bench.sessionID, "the session")
            try requireEqual(received.elements[0].requester?.id, bench.first.localPeer.id, "the requester")
        },
    ]
}
