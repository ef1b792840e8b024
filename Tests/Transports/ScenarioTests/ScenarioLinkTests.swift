import Foundation
import MeshBase
import MeshScenarioTransport
import MeshTransport
import Testing

/// A link without a transport, and its effect on packets.
@Suite struct ScenarioLinkTests {
    private func pair(
        seed: UInt64 = 1, _ conditions: ScenarioConditions = .calm,
        lanes: [LinkLane: PayloadLimit] = ScenarioLanes.network
    ) -> (network: ScenarioNetwork, a: Witness, b: Witness) {
        let network = ScenarioNetwork(seed: seed, conditions: conditions)
        let ends = (Witness("a", on: network, lanes: lanes), Witness("b", on: network, lanes: lanes))
        network.runUntilIdle()
        return (network, ends.0, ends.1)
    }

    private func code(_ body: () throws -> Void) -> LinkError.Code? {
        do { try body() } catch { return (error as? LinkError)?.code }
        return nil
    }

    @Test func `Two links are connected after a latency, and nothing arrives before time is moved`() throws {
        let network = ScenarioNetwork(seed: 1, conditions: ScenarioConditions(latency: .fixed(.milliseconds(20))))
        let (a, b) = (Witness("a", on: network), Witness("b", on: network))
        #expect(code { try a.send([1], to: b) } == .unreachable)
        #expect(network.advance(by: .milliseconds(19)) == 0)
        #expect(network.advance(by: .milliseconds(1)) == 2)
        #expect(a.words == [.connected("b")] && b.words == [.connected("a")])
        try a.send([1], to: b)
        #expect(network.pendingCount == 1)
        network.advance(by: .milliseconds(19))
        #expect(b.packets() == [])
        network.advance(by: .milliseconds(1))
        #expect(b.words.last == .received([1], .datagram, from: "a"))
        #expect(network.elapsed == .milliseconds(40))
        #expect(network.now == network.start.addingTimeInterval(0.04))
        #expect(a.packets() == [], "own packets do not come back")
    }

    @Test func `A packet that is too large, to an unknown address or on a missing lane is refused`() throws {
        let (network, a, b) = pair()
        #expect(code { try a.send([UInt8](repeating: 0, count: 1201), to: b) } == .oversized)
        #expect(code { try a.send([1], .queue, to: b) } == .unreachable)
        #expect(code { try a.send([1], to: a) } == .unreachable)
        #expect(code { try a.link.send(LinkPacket(lane: .datagram, bytes: [1]), to: "x") } == .unreachable)
        let unopened = Witness("c", on: network, opens: false)
        #expect(code { try unopened.send([1], to: b) } == .closed)
    }

    @Test func `Loss, duplication and reordering happen about as often as configured`() throws {
        let (network, a, b) = pair(
            seed: 3, ScenarioConditions(lossRate: 0.25, duplicationRate: 0.1, reorderingRate: 0.2))
        for index in 1...2000 {
            try a.send(packet(index), to: b)
            network.advance(by: .milliseconds(10))
        }
        network.runUntilIdle()
        let delivered = b.packets().map(number)
        let distinct = Set(delivered).count
        #expect((1400...1600).contains(distinct))
        #expect((100...200).contains(delivered.count - distinct))
        #expect(zip(delivered, delivered.dropFirst()).contains { $0 > $1 })
        #expect(network.trace.count { $0.outcome == .lost } == 2000 - distinct)
    }

    @Test func `Without reordering a jittery link keeps its order`() throws {
        let (network, a, b) = pair(seed: 3, ScenarioConditions(lossRate: 0.1))
        for index in 1...200 { try a.send(packet(index), to: b) }
        network.runUntilIdle()
        let delivered = b.packets().map(number)
        #expect(delivered == delivered.sorted())
        #expect((150..<200).contains(delivered.count))
    }

    @Test("A stream arrives whole and in order, in other pieces than it was sent", arguments: 0..<20 as Range<UInt64>)
    func stream(seed: UInt64) throws {
        let (network, a, b) = pair(seed: seed, .rough)
        var sent: [UInt8] = []
        for index in 1...300 {
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 1 + index % 7)
            try a.send(bytes, .stream, to: b)
            sent += bytes
            if index == 100 { network.partition(from: a.peer, to: b.peer) }
            if index == 150 { network.heal() }
            network.advance(by: .milliseconds(20))
        }
        network.runUntilIdle()
        #expect(b.stream == sent, "seed \(seed)")
        let lengths = Set(b.packets(.stream).map(\.count))
        #expect(lengths.contains { $0 > 7 }, "seed \(seed): nothing was joined")
        #expect(b.news == [.connected("a")], "seed \(seed): a cut in one direction isn't reported")
    }

    @Test func `A full stream throws, reports when it has space, and loses nothing`() throws {
        let (network, a, b) = pair(.ideal)
        let chunk = [UInt8](repeating: 7, count: 50_000)
        var taken = 0
        while code({ try a.send(chunk, .stream, to: b) }) == nil { taken += 1 }
        #expect(taken == 5)
        #expect(code { try a.send(chunk, .stream, to: b) } == .full)
        #expect(!a.words.contains(.writable("b")))
        network.runUntilIdle()
        #expect(a.words.count { $0 == .writable("b") } == 1)
        #expect(b.stream.count == taken * chunk.count)
        try a.send(chunk, .stream, to: b)
        network.runUntilIdle()
        #expect(a.words.count { $0 == .writable("b") } == 1, "reported only to the rejected sender")
    }

    @Test("Kept packets wait for their receiver, in order and bounded, and survive their sender")
    func kept() throws {
        let network = ScenarioNetwork(seed: 4, conditions: .rough, queueLimit: 100)
        let a = Witness("a", on: network, lanes: ScenarioLanes.paired)
        let b = Witness("b", on: network, lanes: ScenarioLanes.paired)
        network.partition([a.peer], [b.peer])
        network.runUntilIdle()
        #expect(a.words == [.found("b")], "known, but not connected")
        for index in 0..<100 { try a.send(packet(index), .queue, to: b) }
        #expect(code { try a.send([1], .queue, to: b) } == .full)
        network.runUntilIdle()
        #expect(b.packets(.queue) == [])
        network.heal()
        network.advance(by: .milliseconds(300))
        network.crash(a.peer)
        #expect(a.words.last == .failed)
        network.runUntilIdle()
        #expect(b.packets(.queue).map(number) == Array(0..<100))
    }

    @Test func `On the latest lane the newest packet of each key arrives`() async throws {
        let (network, a, b) = pair(lanes: ScenarioLanes.paired)
        await b.link.close()
        network.runUntilIdle()
        for index in 0..<10 {
            try a.send(packet(index), .latest, key: "x", to: b)
            try a.send(packet(100 + index), .latest, key: "y", to: b)
        }
        for index in 0..<254 { try a.send([1], .latest, key: "\(index)", to: b) }
        #expect(code { try a.send([1], .latest, key: "one too many", to: b) } == .full)
        let returned = Witness("b", on: network, lanes: ScenarioLanes.paired)
        network.runUntilIdle()
        #expect(Set(returned.packets(.latest).map(number)).isSuperset(of: [9, 109]))
        #expect(returned.packets(.latest).count == 256)
        #expect(returned.words.first == .found("a"))
        #expect(a.words.contains(.writable("b")))
    }

    @Test func `Packets sent before closing arrive, and then the other side is notified`() async throws {
        let (network, a, b) = pair(.rough)
        for _ in 0..<50 { try a.send([1, 2, 3], .stream, to: b) }
        await a.link.close()
        #expect(code { try a.send([1], to: b) } == .closed)
        network.runUntilIdle()
        #expect(b.stream.count == 150)
        #expect(b.words.last == .disconnected("a", reason: nil))
        #expect(code { try b.send([1], to: a) } == .unreachable)
    }

    @Test func `A relaunch replaces the earlier link, and the others reconnect to it`() throws {
        let (network, a, b) = pair()
        try a.send([1], .stream, to: b)
        let again = Witness("a", on: network)
        #expect(a.words.last == .failed)
        network.runUntilIdle()
        #expect(b.stream == [], "a crashed link's packets in flight are lost")
        #expect(again.words == [.connected("b")])
        #expect(b.news.count == 3)
        #expect(b.news[2] == .connected("a"))
        #expect(code { try a.send([1], to: b) } == .closed)
        try again.send([2], .stream, to: b)
        network.runUntilIdle()
        #expect(b.stream == [2])
    }

    @Test func `Absurd durations and rates neither trap nor hang`() throws {
        let (network, a, b) = pair(
            ScenarioConditions(
                latency: .uniform(.seconds(Int64.max), .seconds(-5)), lossRate: 1, duplicationRate: 7,
                reorderingRate: .nan))
        for _ in 0..<200 { network.advance(by: .seconds(Int64.max)) }
        try a.send([1], to: b)
        try a.send([2], .stream, to: b)
        network.advance(by: .seconds(-1))
        for _ in 0..<200 { network.advance(by: .seconds(Int64.max)) }
        #expect(b.packets() == [] && b.stream == [2])
    }

    @Test func `Many threads may send while others move time and change the network`() async throws {
        let network = ScenarioNetwork(seed: 1, conditions: .rough)
        let ends = ["a", "b", "c", "d"].map { Witness($0, on: network, lanes: ScenarioLanes.paired) }
        network.runUntilIdle()
        await withTaskGroup { group in
            for end in ends {
                group.addTask {
                    for index in 0..<200 {
                        for other in ends where other !== end {
                            try? end.send(packet(index), to: other)
                            try? end.send(packet(index), .queue, to: other)
                        }
                    }
                }
            }
            for _ in 0..<2 {
                group.addTask { for _ in 0..<300 { network.advance(by: .milliseconds(5)) } }
            }
            group.addTask {
                for _ in 0..<20 {
                    network.partition([ends[0].peer, ends[1].peer], [ends[2].peer, ends[3].peer])
                    network.heal()
                }
            }
        }
        network.heal()
        network.runUntilIdle()
        for end in ends { #expect(end.packets(.queue).count == 600) }
    }
}
