import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct ConflictTests {
    @Test func `a name in use is defended, and the newcomer gets another (RFC 6762 8.1)`() throws {
        for seed in 0..<20 as Range<UInt64> {
            var world = DiscoveryWorld(seed: seed)
            let (first, second) = (try world.join(0), try world.join(0))
            world.announce(first, "phone")
            world.run(.seconds(5))
            world.announce(second, "phone", port: 5000)
            world.run(.seconds(5))
            #expect(world.instance(first) == "phone")
            #expect(world.instance(second) == "phone (2)", "seed \(seed)")
            #expect(world.renames(first).isEmpty)
            #expect(world.renames(second) == ["phone (2)"])
            #expect(world.cores[first].statistics.conflicts == 0)
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `when two networks join, one of two equal names changes, once (RFC 6762 9)`(seed: UInt64) throws {
        var world = DiscoveryWorld(seed: seed)
        let (first, second) = (try world.join(0), try world.join(1))
        world.announce(first, "phone", port: 4000)
        world.announce(second, "phone", port: 5000)
        world.run(.seconds(20))
        #expect([first, second].map { world.instance($0) } == ["phone", "phone"])
        // The second machine joins the first network without noticing, so it still announces on its old interface.
        world.plug(second, 0, DiscoveryWorld.interface(1, network: 0, host: 77))
        world.run(.seconds(20))
        #expect(Set([first, second].map { world.instance($0) }) == ["phone", "phone (2)"], "seed \(seed)")
        #expect([first, second].map { world.renames($0).count }.reduce(0, +) == 1, "seed \(seed)")
    }

    @Test func `a held name is probed again before it is given up (RFC 6762 9)`() throws {
        var world = try AnnouncingTests.settled()
        world.say(response([service("phone", port: 1, host: "other.local")]))
        world.run(.seconds(3))
        #expect(world.sent.filter(\.isProbe).count == 3)
        #expect(world.renames(0).isEmpty)
        #expect(world.instance(0) == "phone")
        #expect(world.sent.last?.isResponse == true)
    }

    @Test func `equal records aren't a conflict (RFC 6762 9)`() throws {
        var world = try AnnouncingTests.settled()
        let host = world.cores[0].host.description
        let same = [
            service("PHONE", host: host), text("phone", [ServiceAttribute("v", "1")]),
            address(host, world.interface(0).addresses[0].ip),
        ]
        world.say(response(same))
        world.run(.seconds(3))
        #expect(world.sent.isEmpty)
        // They also don't count while the core probes for the name.
        world.announce(0, "tablet")
        world.run(.milliseconds(300))
        world.say(response([service("tablet", host: host)]))
        world.run(.seconds(3))
        #expect(world.renames(0).isEmpty)
    }

    @Test func `a record that ends, denies or has another class isn't a conflict`() throws {
        var world = try AnnouncingTests.settled()
        var foreign = service("phone", port: 1, host: "other.local")
        foreign.recordClass = DNSClass(rawValue: 3)
        world.say(
            response([
                service("phone", port: 1, host: "other.local", lifetime: 0), foreign,
                DNSRecord(instanceName("phone"), .negative(next: instanceName("phone"), types: []), lifetime: 120),
            ]))
        world.run(.seconds(3))
        #expect(world.sent.isEmpty)
    }

    @Test func `own records received on another own interface aren't a conflict`() throws {
        for families in [[IPAddress.Family.v4], [.v4, .v6]] {
            var world = DiscoveryWorld()
            try world.join(families: families)
            // Both interfaces are on one network.
            world.plug(0, 0, DiscoveryWorld.interface(1, network: 0, host: 1, families: families))
            world.plug(0, 0, DiscoveryWorld.interface(2, network: 0, host: 2, families: families))
            world.announce(0, "phone")
            world.browse(0)
            world.run(.seconds(60))
            #expect(world.renames(0).isEmpty)
            #expect(world.names(found: 0).isEmpty)
            #expect(world.cores[0].statistics.conflicts == 0)
            for core in world.cores { #expect(core.interfaces.allSatisfy { $0.claim == .established }) }
            // Each interface sent three probes and no more.
            #expect(world.sent.filter(\.isProbe).count == 3 * 2 * families.count)
        }
    }

    @Test func `own packets received late, after a change, aren't a conflict`() throws {
        var world = DiscoveryWorld(DiscoveryWorld.Conditions(delay: 300_000...300_000))
        try world.join(0)
        world.announce(0, "phone")
        for port in UInt16(4001)..<4020 {
            world.run(.milliseconds(950))
            world.announce(0, "phone", port: port)
        }
        world.run(.seconds(20))
        #expect(world.cores[0].statistics.conflicts == 0)
        #expect(world.sent.filter(\.isProbe).count == 3)
    }

    @Test func `a host name that another host has is changed without a report, and SRV follows (RFC 6762 9)`() throws {
        for chosen in [nil, "desk"] {
            var world = DiscoveryWorld()
            try world.join(0) { $0.host = chosen }
            world.announce(0, "phone")
            world.run(.milliseconds(300))
            let before = world.cores[0].host
            world.say(response([address(before.description, DiscoveryWorld.ip(0, 9))]))
            world.run(.seconds(10))
            let after = world.cores[0].host
            #expect(after != before)
            #expect(chosen == nil || after == name("desk-2.local"))
            #expect(world.renames(0).isEmpty)
            #expect(world.instance(0) == "phone")
            #expect(world.cores[0].statistics.conflicts == 1)
            let announced = try #require(world.sent.last { $0.isResponse })
            #expect(announced.message.answers.contains { $0.data == .service(port: 4000, target: after) })
            #expect(announced.message.answers.contains { $0.name == after && $0.type == .a })
        }
    }

    @Test func `two processes on one machine get distinct names and find each other`() throws {
        for seed in 0..<10 as Range<UInt64> {
            var world = DiscoveryWorld(seed: seed)
            let first = try world.join(0)
            let second = try world.joinBeside(first)
            for core in [first, second] {
                world.browse(core)
                world.announce(core, "phone", port: 4000 + UInt16(core))
            }
            world.run(.seconds(30))
            let names = [first, second].map { world.instance($0) ?? "" }
            #expect(Set(names) == ["phone", "phone (2)"], "seed \(seed)")
            #expect(world.names(found: first) == [names[1]], "seed \(seed)")
            #expect(world.names(found: second) == [names[0]], "seed \(seed)")
        }
    }

    @Test func `a service with an own former name is found`() throws {
        var world = try AnnouncingTests.settled()
        world.browse(0)
        world.announce(0, nil)
        world.run(.seconds(10))
        let other = try world.join(0)
        world.announce(other, "phone", port: 7000)
        world.run(.seconds(10))
        // Taken back while another host already had the name: that host is found at once.
        world.announce(0, "phone")
        world.run(.seconds(5))
        #expect(world.instance(0) == "phone (2)")
        #expect(world.found(by: 0)["phone"]?.port == 7000)
        // Without such a conflict, the new owner of a name is found after a while.
        world.announce(other, nil)
        world.announce(0, "tablet")
        world.run(.seconds(10))
        world.announce(other, "phone (2)", port: 7001)
        world.run(.seconds(300))
        #expect(world.found(by: 0)["phone (2)"]?.port == 7001)
    }
}
