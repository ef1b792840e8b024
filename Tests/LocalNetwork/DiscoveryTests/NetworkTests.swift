import MeshBase
import Testing

@testable import MeshDiscovery

/// Many peers on bad networks. In the end all peers find each other under unique names.
@Suite struct NetworkTests {
    private static let bad = DiscoveryWorld.Conditions(lossRate: 0.2, duplicationRate: 0.1, delay: 500...80_000)

    private func expectAllFound(_ world: DiscoveryWorld, _ cores: [Int]) {
        let names = cores.map { world.instance($0) ?? "" }
        #expect(Set(names).count == cores.count, "duplicate names; seed \(world.seed)")
        for core in cores {
            let others = Set(names).subtracting([names[core]])
            #expect(Set(world.names(found: core)) == others, "core \(core) doesn't find all; seed \(world.seed)")
            for (name, service) in world.found(by: core) {
                let other = names.firstIndex(of: name) ?? 0
                #expect(service.port == 4000 + UInt16(other), "seed \(world.seed)")
            }
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `five peers find each other through loss, delay, reordering and duplication`(seed: UInt64) throws {
        var world = DiscoveryWorld(seed: seed, Self.bad)
        let cores = try (0..<5).map { _ in try world.join(0, families: seed % 2 == 0 ? [.v4] : [.v4, .v6]) }
        for core in cores {
            world.browse(core)
            world.announce(core, "peer \(core)", port: 4000 + UInt16(core))
        }
        world.run(.seconds(60))
        expectAllFound(world, cores)
        for core in cores { #expect(world.cores[core].statistics.conflicts == 0, "seed \(seed)") }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `five peers with one name end with five names`(seed: UInt64) throws {
        var world = DiscoveryWorld(seed: seed, Self.bad)
        let cores = try (0..<5).map { _ in try world.join(0) }
        for core in cores {
            world.browse(core)
            world.announce(core, "phone", port: 4000 + UInt16(core))
        }
        world.run(.seconds(300))
        expectAllFound(world, cores)
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `peers that join, leave and change leave no stale services`(seed: UInt64) throws {
        var world = DiscoveryWorld(seed: seed, Self.bad)
        var random = SplitMix64(seed: seed)
        let cores = try (0..<4).map { _ in try world.join(0) }
        for core in cores { world.browse(core) }
        for step in 0..<40 {
            let core = Int(random.upTo(3))
            switch random.upTo(3) {
            case 0: world.announce(core, nil)
            case 1:
                world.unplug(core, 0)
                world.run(.milliseconds(Int64(random.upTo(5000))))
                world.plug(core, 0, DiscoveryWorld.interface(1, network: 0, host: core + 1))
            default: world.announce(core, "peer \(core) \(step)", port: 4000 + UInt16(core))
            }
            world.run(.milliseconds(Int64(random.upTo(4000))))
        }
        for core in cores { world.announce(core, "end \(core)", port: 4000 + UInt16(core)) }
        // Goodbyes may be lost. Then SRV expires after 120 s.
        world.run(.seconds(300))
        expectAllFound(world, cores)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `one seed always gives the same run`(seed: UInt64) throws {
        func course() throws -> [[MulticastDNSPacket]] {
            var world = DiscoveryWorld(seed: seed, Self.bad)
            for core in 0..<3 {
                try world.join(0, 1)
                world.browse(core)
                world.announce(core, "phone")
            }
            world.run(.seconds(30))
            return (0..<3).map { core in world.sent.filter { $0.core == core }.map(\.packet) }
        }
        #expect(try course() == course(), "seed \(seed)")
    }

    @Test func `a quiet network stays quiet`() throws {
        var world = DiscoveryWorld()
        for core in 0..<5 {
            try world.join(0)
            world.browse(core)
            world.announce(core, "peer \(core)")
        }
        world.run(.seconds(600))
        _ = world.takeSent()
        world.run(.seconds(3600))
        // At four fifths of 120 s, two records of each of five peers are asked for and answered. A few are sent twice.
        let perPeer = 3600 / 96 * 2 * 2
        #expect(world.sent.count < 5 * perPeer * 2)
        expectAllFoundNames(world)
    }

    private func expectAllFoundNames(_ world: DiscoveryWorld) {
        for core in 0..<5 { #expect(world.names(found: core).count == 4) }
    }

    @Test func `from announcement to discovery it takes less than a second and a half`() throws {
        for seed in 0..<20 as Range<UInt64> {
            var world = DiscoveryWorld(seed: seed)
            for core in 0..<2 {
                try world.join(0)
                world.browse(core)
                world.announce(core, "peer \(core)")
            }
            let start = world.now
            world.run(.seconds(5))
            for core in 0..<2 {
                let at = try #require(world.events[core].first).at
                #expect(at - start <= .milliseconds(1500), "seed \(seed)")
            }
        }
    }
}
