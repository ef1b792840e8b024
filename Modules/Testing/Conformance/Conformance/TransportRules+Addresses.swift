import MeshIdentity
import MeshTransport

extension TransportConformance {
    /// Rules about receivers, known peers and reachability.
    static let addressRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule("transport.target.reaches", "A send to one peer reaches that peer and no other") { bench in
            try await bench.connect()
            let target = bench.record(bench.second.receiveEnvelopes())
            let bystander = bench.pair.bystander.map { bench.record($0.receiveEnvelopes()) }
            try await bench.first.send(bench.envelope(1), mode: .reliableEventually, to: bench.second.localPeer)
            try await bench.wait(for: "the envelope") { target.count >= 1 }
            await bench.settle()
            try requireEqual(target.sequences(), [1], "what the peer received")
            try requireEqual(bystander?.sequences() ?? [], [], "what another peer received")
        },
        ConformanceRule("transport.target.all", "A send without a receiver reaches every known peer") { bench in
            try await bench.connect()
            let receivers = ([bench.second] + [bench.pair.bystander].compactMap { $0 }).map {
                bench.record($0.receiveEnvelopes())
            }
            try await bench.send(1...1)
            try await bench.wait(for: "the envelope at every peer") { receivers.allSatisfy { $0.count >= 1 } }
        },
        ConformanceRule("transport.target.unknown", "A send to an unknown peer throws unknownPeer") { bench in
            try await bench.connect()
            let stranger = SessionPeer(id: "stranger", deviceClass: .unknown, appInstanceID: "0", topology: .unknown)
            let expected = SessionSyncError.unknownPeer(id: "stranger")
            try await requireThrows(expected) {
                try await bench.first.send(bench.envelope(1), mode: .reliableEventually, to: stranger)
            }
            try await requireThrows(expected) {
                try await bench.first.sendSnapshot(bench.snapshot(1), mode: .latestSnapshot, to: stranger)
            }
            try await requireThrows(expected) {
                try await bench.first.requestSnapshot(sessionID: bench.sessionID, from: stranger)
            }
        },
        ConformanceRule(
            "transport.echo.none", "Own messages don't come back"
        ) { bench in
            try await bench.connect()
            let own = (
                bench.record(bench.first.receiveEnvelopes()), bench.record(bench.first.receiveSnapshots()),
                bench.record(bench.first.receiveSnapshotRequests())
            )
            let other = bench.record(bench.second.receiveEnvelopes())
            try await bench.publish(1)
            try await bench.first.requestSnapshot(sessionID: bench.sessionID, from: nil)
            try await bench.send(1...3)
            try await bench.wait(for: "the envelopes") { other.count >= 3 }
            await bench.settle()
            try requireEqual([own.0.count, own.1.count, own.2.count], [0, 0, 0], "what came back")
            try require(
                bench.first.latestPeerSnapshot(featureID: "workout") == nil, "an own snapshot passes for a peer's")
        }.unless { $0.pair.ownSendsComeBack ? "own sends come back here" : nil },
        ConformanceRule("transport.peers.local-is-not-known", "The local peer isn't a known peer") { bench in
            try await bench.connect()
            for end in [bench.first, bench.second] {
                try require(
                    !end.knownPeers.contains { $0.id == end.localPeer.id }, "\(end.localPeer.id) knows itself")
            }
        },
        ConformanceRule(
            "transport.reachability.announced", "A peer that comes and goes is reported by its ID"
        ) { bench in
            let peer = bench.second.localPeer.id
            let changes = bench.record(bench.first.reachabilityChanges())
            func announced() -> [Bool] { changes.elements.filter { $0.peer?.id == peer }.map(\.isReachable) }
            try await bench.connect()
            try await bench.wait(for: "the peer to be reported as reachable") { announced().last == true }
            guard let disconnect = bench.pair.disconnect else { return }
            try await disconnect()
            try await bench.wait(for: "the peer to be reported as unreachable") { announced().last == false }
        }.needs(.otherPeer, .liveLane),
    ]
}

/// Throws `ConformanceFailure` unless `body` throws exactly this error.
func requireThrows(_ expected: SessionSyncError, _ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as SessionSyncError {
        return try requireEqual(error, expected, "the error")
    }
    throw ConformanceFailure("nothing was thrown, expected: \(expected)")
}
