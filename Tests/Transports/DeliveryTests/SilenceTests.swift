import MeshBase
import MeshTesting
import MeshTransport
import Testing

@testable import MeshDelivery

/// Two idle cores, with peers of this version and of the one before.
@Suite struct SilenceTests {
    private static let second: UInt64 = 1_000_000_000
    private static let lossless = CoreWorld.Conditions(lossRate: 0, duplicationRate: 0, reorderingRate: 0)

    private func conditions(_ lane: LinkLane) -> CoreWorld.Conditions {
        var conditions = Self.lossless
        conditions.lane = lane
        return conditions
    }

    private func health(_ world: CoreWorld) -> [DeliveryHealth?] {
        CoreWorld.Side.allCases.map { world[$0].health(of: $0.other.id)?.health }
    }

    @Test(arguments: [LinkLane.stream, .datagram], 0..<4 as Range<UInt64>)
    func `An idle hour costs one probe and one echo each 20 s`(lane: LinkLane, seed: UInt64) {
        var world = CoreWorld(seed: seed, conditions(lane))
        world.advance(by: 10 * Self.second)
        let before = world.framesSent
        world.advance(by: 3600 * Self.second)
        let counts = zip(world.framesSent, before).map { $0 - $1 }
        #expect(counts.allSatisfy { (170...181).contains($0) }, "seed \(seed): \(counts)")
        #expect(health(world) == [.reachable, .reachable], "seed \(seed)")
    }

    @Test(arguments: [[.left], [.right], [.left, .right]] as [Set<CoreWorld.Side>])
    func `With a peer of an earlier version each side probes every 5 s`(earlier: Set<CoreWorld.Side>) {
        var world = CoreWorld(seed: 1, conditions(.stream), earlierVersions: earlier)
        world.advance(by: 10 * Self.second)
        let before = world.framesSent
        world.advance(by: 3600 * Self.second)
        let counts = zip(world.framesSent, before).map { $0 - $1 }
        #expect(counts.allSatisfy { (700...1500).contains($0) }, "\(counts)")
        #expect(health(world) == [.reachable, .reachable])
    }

    /// Mutes one side or both, at a moment that depends on the seed.
    @Test(arguments: [LinkLane.stream, .datagram], 0..<20 as Range<UInt64>)
    func `A peer that dies silently is noticed within 60 s, and a side that isn't heard learns of it`(
        lane: LinkLane, seed: UInt64
    ) {
        var world = CoreWorld(seed: seed, conditions(lane))
        world.advance(by: 60 * Self.second + seed * 3_700_000_000)
        world.muted = [[.left], [.right], [.left, .right]][Int(seed % 3)]
        var noticed: [Double?] = [nil, nil]
        for step in 1...600 {
            world.advance(by: Self.second / 10)
            for side in [0, 1] where noticed[side] == nil && health(world)[side] == .gone {
                noticed[side] = Double(step) / 10
            }
        }
        #expect(noticed.allSatisfy { $0.map { $0 <= 30 } ?? false }, "seed \(seed): \(noticed)")
    }

    @Test func `Over kept lanes an idle hour costs 12 exchanges`() throws {
        let wire = KeptWire([.datagram, .queue, .latest])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        wire.connect()
        clock.advance(by: .seconds(10))
        let before = wire.liveCount
        clock.advance(by: .seconds(3600))
        #expect((22...24).contains(wire.liveCount - before), "\(wire.liveCount - before) packets")
        #expect(left.health(of: peer("right")) == .reachable)
        #expect(right.health(of: peer("left")) == .reachable)
        wire.isDeaf = true
        clock.advance(by: .seconds(327))
        #expect(left.health(of: peer("right")) == .gone)
        #expect(right.health(of: peer("left")) == .gone)
    }

    @Test(arguments: [LinkLane.stream, .datagram])
    func `A peer that dies with a message in flight is noticed within 13 s`(lane: LinkLane) throws {
        var world = CoreWorld(seed: 1, conditions(lane))
        world.advance(by: 63 * Self.second)
        world.muted = [.right]
        #expect(try world.send(feature: "list"))
        world.advance(by: 13 * Self.second)
        #expect(world[.left].health(of: "right")?.health == .gone)
    }

    @Test(arguments: [[], [.left], [.right]] as [Set<CoreWorld.Side>], 0..<20 as Range<UInt64>)
    func `Peers find each other again within 15 s after loss`(earlier: Set<CoreWorld.Side>, seed: UInt64) {
        var world = CoreWorld(seed: seed, earlierVersions: earlier)
        world.advance(by: 600 * Self.second)
        world.muted = [.left, .right]
        world.advance(by: 120 * Self.second)
        #expect(health(world) == [.gone, .gone], "seed \(seed)")
        world.muted = []
        world.lossRate = 0
        world.advance(by: 15 * Self.second)
        #expect(health(world) == [.reachable, .reachable], "seed \(seed)")
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `Under 30 percent loss peers are rarely considered gone`(seed: UInt64) {
        var world = CoreWorld(seed: seed)
        world.advance(by: 10 * Self.second)
        var goneCount = 0
        for _ in 0..<3600 {
            world.advance(by: Self.second)
            if health(world).contains(.gone) { goneCount += 1 }
        }
        #expect(goneCount < 180, "seed \(seed): gone in \(goneCount) of 3600 s")
    }
}
