import MeshBase
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

/// Effects of partitions and false reports on connections.
@Suite struct ScenarioConnectionTests {
    private func pair(seed: UInt64 = 1) -> (network: ScenarioNetwork, a: Witness, b: Witness) {
        let network = ScenarioNetwork(seed: seed)
        let ends = (Witness("a", on: network), Witness("b", on: network))
        network.runUntilIdle()
        return (network, ends.0, ends.1)
    }

    @Test func `A partition breaks the connection, and healing makes a new one`() throws {
        let (network, a, b) = pair()
        try a.send([1], .stream, to: b)
        network.partition([a.peer], [b.peer])
        try a.send([2], .stream, to: b)
        try a.send([3], to: b)
        network.runUntilIdle()
        let broken = [Witness.Word.connected("b"), .disconnected("b", reason: "the connection broke")]
        #expect(a.words == broken)
        #expect(throws: LinkError.self) { try a.send([4], .stream, to: b) }
        network.heal()
        network.runUntilIdle()
        #expect(a.words == broken + [.connected("b")])
        #expect(b.stream == [] && b.packets() == [], "nothing of the old connection")
        try a.send([5], .stream, to: b)
        network.runUntilIdle()
        #expect(b.stream == [5])
    }

    @Test func `A partition that ends before either side is notified still breaks the connection`() throws {
        let (network, a, b) = pair()
        try a.send([1], .stream, to: b)
        network.partition([a.peer], [b.peer])
        network.heal()
        try a.send([2], .stream, to: b)
        network.runUntilIdle()
        #expect(a.news.count == 3 && a.news.last == .connected("b"))
        #expect(b.news.count == 3 && b.news.last == .connected("a"))
        #expect(b.stream == [])
    }

    @Test func `A cut in one direction is reported to neither side, and the other direction works`() throws {
        let (network, a, b) = pair()
        network.partition(from: a.peer, to: b.peer)
        try a.send([1], to: b)
        try a.send([2], .stream, to: b)
        try b.send([3], to: a)
        try b.send([4], .stream, to: a)
        network.runUntilIdle()
        #expect(a.packets() == [[3]] && a.stream == [4])
        #expect(b.packets() == [] && b.stream == [])
        network.heal()
        network.runUntilIdle()
        #expect(b.stream == [2], "a stream waits, a datagram does not")
        #expect(b.packets() == [])
        #expect(a.news == [.connected("b")] && b.news == [.connected("a")])
    }

    @Test func `No connection begins while one way is cut`() {
        let network = ScenarioNetwork(seed: 1)
        let (a, b) = (Witness("a", on: network, opens: false), Witness("b", on: network, opens: false))
        network.partition(from: a.peer, to: b.peer)
        for end in [a, b] { end.link.open(end) }
        network.runUntilIdle()
        #expect(a.words == [] && b.words == [])
        network.heal()
        network.runUntilIdle()
        #expect(a.words == [.connected("b")] && b.words == [.connected("a")])
    }

    @Test func `A side with a false report of no connection can't use it until the next one`() throws {
        let (network, a, b) = pair()
        network.setReachable(false, of: b.peer, seenBy: a.peer)
        network.runUntilIdle()
        #expect(a.words.last == .disconnected("b", reason: "reported as unreachable"))
        #expect(throws: LinkError.self) { try a.send([1], to: b) }
        try b.send([2], .stream, to: a)
        network.runUntilIdle()
        #expect(a.stream == [])
        #expect(b.news == [.connected("a")], "the other side notices nothing")

        network.setReachable(nil, of: b.peer, seenBy: a.peer)
        network.runUntilIdle()
        #expect(a.words.last == .connected("b"))
        #expect(b.news.count == 3 && b.news.last == .connected("a"))
        try b.send([3], .stream, to: a)
        try a.send([4], .stream, to: b)
        network.runUntilIdle()
        #expect(a.stream == [3] && b.stream == [4])
    }

    @Test func `A side with a false report of a connection reaches no peer`() throws {
        let (network, a, b) = pair()
        network.setReachable(true, of: b.peer, seenBy: a.peer)
        network.partition([a.peer], [b.peer])
        network.runUntilIdle()
        #expect(a.news == [.connected("b")], "the end is withheld")
        try a.send([1], .stream, to: b)
        network.heal()
        network.runUntilIdle()
        #expect(b.stream == [])
        #expect(a.news.count == 3 && a.news.last == .connected("b"))

        let stranger = SessionPeer(id: "c", deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
        network.setReachable(true, of: stranger, seenBy: a.peer)
        network.runUntilIdle()
        #expect(a.words.last == .connected("c"), "although no peer is there")
    }

    @Test func `Packets sent before a disconnect arrive, and both sides reconnect a second later`() throws {
        let (network, a, b) = pair()
        try a.send([1], .stream, to: b)
        a.link.disconnect("b")
        network.advance(by: .milliseconds(500))
        #expect(b.stream == [1])
        #expect(b.words.last == .disconnected("a", reason: nil))
        #expect(a.words.last == .disconnected("b", reason: nil))
        network.runUntilIdle()
        #expect(a.words.last == .connected("b") && b.words.last == .connected("a"))
        try b.send([2], .stream, to: a)
        network.runUntilIdle()
        #expect(a.stream == [2])
    }

    @Test func `Partitioned groups stay connected within`() throws {
        let network = ScenarioNetwork(seed: 1)
        let (a, b, c) = (Witness("a", on: network), Witness("b", on: network), Witness("c", on: network))
        network.partition([a.peer, b.peer], [c.peer])
        network.runUntilIdle()
        #expect(a.words == [.connected("b")] && b.words == [.connected("a")] && c.words == [])
    }

    /// Runs three links on every lane over a bad network with partitions, false reports and relaunches.
    private func run(seed: UInt64) -> [ScenarioTraceEntry] {
        let network = ScenarioNetwork(seed: seed, conditions: .rough)
        var lanes = ScenarioLanes.paired
        lanes.merge(ScenarioLanes.network) { $1 }
        var ends = ["a", "b", "c"].map { Witness($0, on: network, lanes: lanes) }
        for step in 1...60 {
            if step == 10 { network.partition([ends[0].peer, ends[2].peer], [ends[1].peer]) }
            if step == 15 { network.setReachable(true, of: ends[1].peer, seenBy: ends[0].peer) }
            if step == 20 { network.heal() }
            if step == 30 { network.partition(from: ends[2].peer, to: ends[0].peer) }
            if step == 40 { ends[1] = Witness("b", on: network, lanes: lanes) }
            for end in ends {
                for other in ends where other !== end {
                    for lane in lanes.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
                        try? end.send(packet(step), lane, key: "state", to: other)
                    }
                }
            }
            network.advance(by: .milliseconds(25))
        }
        network.heal()
        network.runUntilIdle()
        return network.trace
    }

    @Test("One seed gives one trace, and another seed another", arguments: 0..<10 as Range<UInt64>)
    func replays(seed: UInt64) {
        let first = run(seed: seed)
        #expect(first.count > 500)
        #expect(run(seed: seed) == first, "seed \(seed)")
        #expect(run(seed: seed + 1000) != first, "seed \(seed)")
    }

    @Test func `The trace of a seed is the same on every system`() throws {
        let network = ScenarioNetwork(seed: 42, conditions: .rough)
        let (a, b) = (Witness("a", on: network), Witness("b", on: network))
        network.runUntilIdle()
        for index in 1...4 { try a.send([UInt8](repeating: 0, count: index), to: b) }
        try a.send([UInt8](repeating: 0, count: 5), .stream, to: b)
        network.runUntilIdle()
        #expect(network.trace.map(\.description) == Self.golden)
    }

    @Test func `The effects in one direction are independent of the packets in others`() throws {
        func deliveries(noise: Bool) throws -> [ScenarioTraceEntry] {
            let network = ScenarioNetwork(seed: 5, conditions: .rough)
            let (a, b) = (Witness("a", on: network), Witness("b", on: network))
            let c = noise ? Witness("c", on: network) : nil
            network.advance(by: .seconds(10))
            for index in 1...50 {
                if noise { try b.send(packet(index), to: a) }
                if let c { try c.send(packet(index), to: b) }
                try a.send(packet(index), to: b)
            }
            network.runUntilIdle()
            return network.trace.filter { $0.receiverID == "b" && $0.senderID == "a" }
        }
        #expect(try deliveries(noise: true) == deliveries(noise: false))
    }

    @Test func `One direction's conditions don't change the others`() throws {
        let network = ScenarioNetwork(seed: 1, conditions: .ideal)
        let (a, b, c) = (Witness("a", on: network), Witness("b", on: network), Witness("c", on: network))
        network.runUntilIdle()
        let start = network.elapsed
        network.setConditions(ScenarioConditions(latency: .fixed(.seconds(9))), from: a.peer, to: b.peer)
        for other in [b, c] { try a.send([1], to: other) }
        network.advance(by: .seconds(1))
        #expect(b.packets() == [] && c.packets() == [[1]])
        network.runUntilIdle()
        #expect(b.packets() == [[1]])
        #expect(network.elapsed - start == .seconds(9))
    }

    @Test func `The trace keeps the newest entries up to its limit`() throws {
        let network = ScenarioNetwork(seed: 1, traceLimit: 3)
        let (a, b) = (Witness("a", on: network), Witness("b", on: network))
        network.runUntilIdle()
        for index in 1...10 { try a.send([UInt8](repeating: 0, count: index), to: b) }
        network.runUntilIdle()
        #expect(network.trace.map(\.subject) == (8...10).map { .packet(.datagram, byteCount: $0) })
    }

    static let golden = [
        "0.010134105 seconds a → b: connected",
        "0.072682307 seconds b → a: connected",
        "0.072682307 seconds a → b: datagram, 2 bytes, lost",
        "0.077881153 seconds a → b: datagram, 3 bytes, delivered",
        "0.092853991 seconds a → b: datagram, 4 bytes, delivered",
        "0.124645555 seconds a → b: datagram, 1 bytes, delivered",
        "0.198159289 seconds a → b: datagram, 1 bytes, delivered",
        "1.127933559 seconds a → b: stream, 5 bytes, delivered",
    ]
}
