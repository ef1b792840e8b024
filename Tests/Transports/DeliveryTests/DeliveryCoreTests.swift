import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// Delivery in virtual time, on lanes that lose, duplicate and reorder, over connections that break.
@Suite struct DeliveryCoreTests {
    @Test("M11: everything accepted arrives once and in order", arguments: 0..<12 as Range<UInt64>)
    func reliable(seed: UInt64) throws {
        var conditions = CoreWorld.Conditions()
        conditions.lane = seed % 4 == 3 ? .stream : .datagram
        conditions.breakRate = seed % 2 == 0 ? 0 : 0.01
        conditions.features = 1 + Int(seed % 5)
        var world = CoreWorld(seed: seed, conditions)
        var random = SplitMix64(seed: seed &+ 1000)
        let wanted = 800
        var sent = 0
        for _ in 0..<200_000 where sent < wanted {
            let feature = "feature \(random.upTo(UInt64(conditions.features - 1)))"
            if (try? world.send(feature: feature)) == true { sent += 1 } else { world.advance(by: 5_000_000) }
            if random.happens(rate: 0.05) { world.advance(by: random.upTo(20_000_000)) }
            if random.happens(rate: conditions.breakRate) { world.breakConnection(for: random.upTo(2_000_000_000)) }
        }
        #expect(sent == wanted, "seed \(seed)")
        world.advance(by: 120_000_000_000)
        check(world, seed)
        #expect(world[.left].peers[0].outstandingCount == 0, "seed \(seed): everything is acknowledged")
        #expect(world[.left].peers[0].outstandingBytes == 0, "seed \(seed)")
    }

    @Test("A slow link that queues everything isn't flooded with repetitions", arguments: [2, 10, 50])
    func slowLink(milliseconds: UInt64) throws {
        var conditions = CoreWorld.Conditions(lossRate: 0, duplicationRate: 0, reorderingRate: 0)
        conditions.frameTime = milliseconds * 1_000_000
        var world = CoreWorld(seed: 1, conditions)
        // One message at a time, so the core knows the round trip of an idle link but not how much the link takes at once.
        for _ in 0..<1000 {
            #expect(try world.send(feature: "feature"))
            world.advance(by: 200_000_000)
        }
        let before = world.framesSent[0]
        for _ in 0..<2000 { #expect(try world.send(feature: "feature")) }
        world.advance(by: 2000 * conditions.frameTime * 3 / 2)
        #expect(world.delivered[1].count == 3000)
        #expect(world.framesSent[0] - before < 3000, "of which 2000 are needed")
        check(world, 1)
    }

    @Test("Withdrawn and expired messages delay no others", arguments: 0..<12 as Range<UInt64>)
    func withdrawn(seed: UInt64) throws {
        var conditions = CoreWorld.Conditions()
        conditions.lane = seed % 4 == 3 ? .stream : .datagram
        conditions.features = 3
        var world = CoreWorld(seed: seed, conditions)
        var random = SplitMix64(seed: seed &+ 1000)
        for _ in 0..<600 {
            let feature = "feature \(random.upTo(2))"
            var options = DeliveryOptions()
            if random.happens(rate: 0.2) { options.timeToLive = .milliseconds(Int64(random.upTo(300))) }
            while (try? world.send(feature: feature, options: options)) != true { world.advance(by: 5_000_000) }
            if random.happens(rate: 0.2), let last = world.sequences[feature] {
                world.cancel(feature: feature, sequence: max(1, last - random.upTo(min(last - 1, 20))))
            }
            if random.happens(rate: 0.2) { world.advance(by: random.upTo(20_000_000)) }
            if random.happens(rate: 0.005) { world.breakConnection(for: random.upTo(500_000_000)) }
        }
        world.advance(by: 120_000_000_000)
        check(world, seed)
        #expect(!world.withdrawn.isEmpty, "seed \(seed)")
        #expect(world[.left].peers[0].outstandingCount == 0, "seed \(seed)")
        for channel in world[.left].peers[0].channels { #expect(!channel.needsFloor, "seed \(seed)") }
    }

    @Test(
        "A side whose end of the connection restarted unnoticed is greeted again",
        arguments: 0..<8 as Range<UInt64>)
    func restartedConnection(seed: UInt64) throws {
        var conditions = CoreWorld.Conditions()
        conditions.lossRate = 0.05
        var world = CoreWorld(seed: seed, conditions)
        world.advance(by: 10_000_000_000)
        try #require(world[.right].health(of: "left")?.health == .reachable, "seed \(seed)")
        world.restartConnection(.left)
        let isTaken = try world.send(feature: "list")
        #expect(isTaken, "seed \(seed)")
        world.advance(by: 4_000_000_000)
        for side in CoreWorld.Side.allCases {
            #expect(world[side].health(of: side.other.id)?.health == .reachable, "seed \(seed): \(side)")
        }
        #expect(world.delivered[1].map(\.sequence) == [1], "seed \(seed)")
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `A new hello is answered at once, although the connection seems healthy`(seed: UInt64) throws {
        var conditions = CoreWorld.Conditions()
        (conditions.lossRate, conditions.duplicationRate, conditions.reorderingRate) = (0, 0, 0)
        var world = CoreWorld(seed: seed, conditions)
        world.advance(by: 10_000_000_000 + seed * 700_000_000)
        for side in [CoreWorld.Side.left, .right, .left] {
            world.restartConnection(side)
            // A hello each way, a probe and its echo.
            world.advance(by: 4 * 50_000_000)
            #expect(world[side].health(of: side.other.id)?.health == .reachable, "seed \(seed): \(side)")
        }
    }

    @Test func `A hello is repeated after a heartbeat that is shorter than the timeout`() {
        var configuration = DeliveryConfiguration()
        configuration.heartbeat = .milliseconds(100)
        let settings = DeliveryCore.Settings(configuration, lanes: [.datagram], codec: 2, codecs: [2])
        var core = DeliveryCore(localPeer: peer("left"), settings: settings, outbox: 1)
        core.connected("link", as: nil, DeliveryTime(elapsed: 1, wall: 1))
        #expect(core.deadline == 100_000_001)
    }

    @Test(arguments: [false, true])
    func `A flood of hellos causes no flood of answers`(numbersConnections: Bool) throws {
        let settings = DeliveryCore.Settings(lanes: [.datagram], codec: 2, codecs: [2])
        var core = DeliveryCore(localPeer: peer("left"), settings: settings, outbox: 1)
        var now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)
        core.connected("link", as: nil, now)
        var greetings = 0
        for number in 1...10_000 as ClosedRange<UInt64> {
            now.elapsed += 100_000
            core.tick(now)
            var hello = WireHello(peer: peer("right"), codecs: [2])
            hello.connection = numbersConnections ? number : 0
            try core.receive(WireFrame(.hello(hello)), on: .datagram, from: "link", now)
            while let next = core.nextFrame(for: "link", now) {
                if case .hello = next.frame.message { greetings += 1 }
            }
            _ = core.takeDirectives()
        }
        #expect(greetings <= 21, "one each 50 ms of the second that it took")
        #expect(numbersConnections ? greetings > 10 : greetings < 5)
    }

    @Test func `A connection ends, with a report, when its peer sends a hello on another one`() throws {
        let settings = DeliveryCore.Settings(lanes: [.stream], codec: 2, codecs: [2])
        var core = DeliveryCore(localPeer: peer("left"), settings: settings, outbox: 1)
        let now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)
        for address in ["first", "second"] as [LinkAddress] {
            core.connected(address, as: nil, now)
            let hello = WireFrame(.hello(WireHello(peer: peer("right"), codecs: [2])))
            try core.receive(hello, on: .stream, from: address, now)
        }
        let directives = core.takeDirectives()
        #expect(directives.connectionsToEnd.map(\.address) == ["first"])
        #expect(directives.connectionsToEnd.first?.goodbye.reason == .displaced)
        let isReported = directives.diagnostics.contains { if case .displaced("right") = $0 { true } else { false } }
        #expect(isReported)
    }

    @Test(arguments: [true, false])
    func `A peer that says goodbye has left; one whose connection just ends hasn't`(saysFarewell: Bool) throws {
        let settings = DeliveryCore.Settings(lanes: [.stream], codec: 2, codecs: [2])
        var cores = ["left", "right"].map { DeliveryCore(localPeer: peer($0), settings: settings, outbox: 1) }
        var now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)
        var changes: [SessionPeerReachability] = []
        func exchange() throws {
            for _ in 0..<20 {
                now.elapsed += 50_000_000
                for side in 0...1 {
                    cores[side].tick(now)
                    while let next = cores[side].nextFrame(for: "link", now) {
                        try cores[1 - side].receive(next.frame, on: .stream, from: "link", now)
                    }
                }
            }
        }
        // A peer that returns no longer counts as having left.
        for leaves in [saysFarewell, false] {
            for side in 0...1 { cores[side].connected("link", as: nil, now) }
            try exchange()
            if leaves {
                cores[1].queueGoodbye(WireGoodbye(.closing), to: "link")
                try exchange()
            }
            for side in 0...1 { cores[side].disconnected("link", reason: nil, now) }
            changes += cores[0].takeDirectives().arrivals.compactMap {
                if case .reachability(let change) = $0 { change } else { nil }
            }
        }
        #expect(changes.map(\.isReachable) == [true, false, true, false])
        #expect(changes.map(\.hasLeft) == [false, saysFarewell, false, false])
    }

    @Test func `A goodbye at an address that the peer has left doesn't count`() throws {
        let settings = DeliveryCore.Settings(lanes: [.stream], codec: 2, codecs: [2])
        var cores = ["left", "right"].map { DeliveryCore(localPeer: peer($0), settings: settings, outbox: 1) }
        var now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)
        func exchange(at address: LinkAddress) throws {
            for side in 0...1 { cores[side].connected(address, as: nil, now) }
            for _ in 0..<20 {
                now.elapsed += 50_000_000
                for side in 0...1 {
                    cores[side].tick(now)
                    while let next = cores[side].nextFrame(for: address, now) {
                        try cores[1 - side].receive(next.frame, on: .stream, from: address, now)
                    }
                }
            }
        }
        try exchange(at: "first")
        try exchange(at: "second")
        try cores[0].receive(WireFrame(.goodbye(WireGoodbye(.closing))), on: .stream, from: "first", now)
        cores[0].disconnected("second", reason: nil, now)
        let last = cores[0].takeDirectives().arrivals.compactMap {
            if case .reachability(let change) = $0 { change } else { nil }
        }.last
        #expect(last?.isReachable == false && last?.hasLeft == false)
    }

    /// Checks that each feature is in order, each message arrived at most once, and only withdrawn messages are missing.
    private func check(_ world: CoreWorld, _ seed: UInt64) {
        for (feature, accepted) in world.accepted.sorted(by: { $0.key < $1.key }) {
            let delivered = world.delivered[1].filter { $0.feature == feature }.map(\.sequence)
            #expect(delivered == delivered.sorted(), "seed \(seed): \(feature) out of order")
            #expect(Set(delivered).count == delivered.count, "seed \(seed): \(feature) has doubles")
            let missing = Set(accepted).subtracting(delivered).filter { !world.withdrawn.contains("\(feature)#\($0)") }
            #expect(
                missing.isEmpty, "seed \(seed): \(feature) lacks \(missing.count), the first is \(missing.min() ?? 0)")
        }
    }

    @Test func `A restored channel states its first number until the peer acknowledges it`() {
        // Earlier messages may have been withdrawn. A peer that holds all later messages would never stop waiting for them.
        var channel = OutgoingChannel(ChannelKey(outbox: 1, featureID: "list"), first: 6)
        #expect(channel.needsFloor)
        _ = channel.acknowledge(upTo: 4, beyond: [], messagesWanted: false)
        #expect(channel.needsFloor)
        _ = channel.acknowledge(upTo: 5, beyond: [], messagesWanted: false)
        #expect(!channel.needsFloor)
        #expect(!OutgoingChannel(channel.key).needsFloor)
    }
}
