import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct ForgettingTests {
    private let ip = DiscoveryWorld.ip(0, 200)

    private func found(host: String = "h.local") throws -> DiscoveryWorld {
        var world = DiscoveryWorld()
        try world.join(0)
        world.browse(0)
        world.run(.seconds(3))
        world.say(wholeService("one", host: host, ip: ip))
        #expect(world.names(found: 0) == ["one"])
        _ = world.takeSent()
        return world
    }

    @Test func `a goodbye is reported a second later, unless revoked (RFC 6762 10.1)`() throws {
        for isRescued in [false, true] {
            var world = try found()
            let start = world.now
            world.say(response([pointer("one", lifetime: 0)]))
            world.run(.milliseconds(900))
            #expect(world.names(found: 0) == ["one"])
            if isRescued { world.say(response([pointer("one")])) }
            world.run(.seconds(5))
            #expect(world.names(found: 0) == (isRescued ? ["one"] : []))
            if !isRescued { #expect(world.events[0].last?.at == start + .seconds(1)) }
        }
    }

    @Test func `a goodbye of SRV, TXT or the only address also ends the service`() throws {
        for record in [
            service("one", host: "h.local", lifetime: 0), text("one", lifetime: 0),
            address("h.local", ip, lifetime: 0),
        ] {
            var world = try found()
            world.say(response([record]))
            world.run(.seconds(2))
            #expect(world.names(found: 0).isEmpty, "\(record)")
        }
    }

    @Test func `a goodbye for an unknown record changes nothing`() throws {
        var world = try found()
        world.say(response([pointer("two", lifetime: 0), service("one", port: 9, host: "x.local", lifetime: 0)]))
        world.run(.seconds(3))
        #expect(world.names(found: 0) == ["one"])
        #expect(world.events[0].count == 1)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `records are asked for at 80, 85, 90 and 95 percent of their lifetime, and up to 2 later (RFC 6762 5.2)`(
        seed: UInt64
    ) throws {
        var world = DiscoveryWorld(seed: seed)
        try world.join(0)
        world.browse(0)
        world.run(.seconds(3))
        world.say(wholeService("one", ip: ip))
        let start = world.now
        _ = world.takeSent()
        world.run(.seconds(130))
        for type in [DNSType.srv, .a] {
            let asked = world.sent.filter { $0.asks(type) && $0.at - start < .seconds(120) }.map {
                ($0.at - start) / .seconds(120)
            }
            #expect(asked.count == 4, "seed \(seed)")
            for (share, least) in zip(asked, [0.8, 0.85, 0.9, 0.95]) {
                #expect(share >= least - 0.0001 && share <= least + 0.0201, "seed \(seed)")
            }
        }
        // TXT hasn't expired, but without SRV there is no service.
        #expect(!world.sent.contains { $0.asks(.txt) })
        #expect(world.names(found: 0).isEmpty)
        // The core asks for it once more, and no longer lists it as a known answer.
        #expect(world.sent.filter { $0.message.questions == [DNSQuestion(instanceName("one"), .srv)] }.count >= 3 + 3)
        world.run(.seconds(600))
        #expect(
            world.sent.filter { $0.asks(.ptr) && $0.at > start + .seconds(120) }.allSatisfy {
                $0.message.answers.isEmpty
            })
        let lost = try #require(world.events[0].last)
        #expect(lost.event == .lost(instance: "one"))
        #expect(lost.at == start + .seconds(120))
    }

    @Test func `a service whose host answers stays for hours`() throws {
        var world = try AnnouncingTests.settled()
        let second = try world.join(0)
        world.browse(second)
        world.run(.seconds(3 * 3600))
        #expect(world.events[second].count == 1)
        #expect(world.names(found: second) == ["phone"])
        // Hours are cheap: one question at four fifths of two minutes, and its answer.
        let packets = world.takeSent().filter { $0.at > .seconds(3600) }
        #expect(packets.count < 2 * 3 * (3600 / 96 + 4) * 2)
    }

    @Test func `a service that vanishes without a goodbye is lost when SRV has expired, and not before`() throws {
        var world = try AnnouncingTests.settled()
        let second = try world.join(0)
        world.browse(second)
        world.run(.seconds(2))
        world.unplug(0, 0)
        world.run(.seconds(100))
        #expect(world.names(found: second) == ["phone"])
        world.run(.seconds(100))
        #expect(world.names(found: second).isEmpty)
    }

    @Test func `a refresh question of another host is not repeated (RFC 6762 7.3)`() throws {
        var world = try found()
        let cached = world.cores[0].interfaces[0].cache[instanceName("one")].first { $0.record.type == .srv }
        let planned = try #require(cached?.refreshAt)
        world.run(planned - .milliseconds(500) - world.now)
        #expect(!world.sent.contains { $0.asks(.srv) })
        world.say(query(DNSQuestion(instanceName("one"), .srv)))
        world.run(.seconds(3))
        #expect(!world.sent.contains { $0.asks(.srv) })
        world.run(.seconds(6))
        #expect(world.sent.contains { $0.asks(.srv) })
    }

    @Test func `the flush bit ends records older than a second, a second later (RFC 6762 10.2)`() throws {
        var world = try found()
        let other = DiscoveryWorld.ip(0, 201)
        world.run(.seconds(2))
        world.say(response([address("h.local", other)]))
        #expect(world.found(by: 0)["one"]?.addresses.count == 2)
        world.run(.milliseconds(999))
        #expect(world.found(by: 0)["one"]?.addresses.count == 2)
        world.run(.milliseconds(1))
        #expect(world.found(by: 0)["one"]?.addresses.map(\.ip) == [other])
        // Records that arrive together, or within a second, coexist.
        world.run(.milliseconds(500))
        world.say(response([address("h.local", ip)]))
        world.run(.milliseconds(900))
        world.say(response([address("h.local", other)]))
        world.run(.seconds(3))
        #expect(world.found(by: 0)["one"]?.addresses.count == 2)
    }

    @Test func `without the flush bit nothing is displaced`() throws {
        var world = try found()
        world.run(.seconds(2))
        var other = address("h.local", DiscoveryWorld.ip(0, 201))
        other.flushesCache = false
        world.say(response([other]))
        world.run(.seconds(3))
        #expect(world.found(by: 0)["one"]?.addresses.count == 2)
    }

    @Test func `the newest SRV and TXT count at once`() throws {
        var world = try found()
        world.run(.seconds(2))
        world.say(response([service("one", port: 5000, host: "h.local"), text("one", [ServiceAttribute("v", "9")])]))
        let service = try #require(world.found(by: 0)["one"])
        #expect(service.port == 5000)
        #expect(service["v"] == Array("9".utf8))
    }

    @Test func `a record is cached for at most 75 minutes`() throws {
        var world = try found()
        world.say(response([pointer("two", lifetime: 2_000_000_000)]))
        world.run(.seconds(4501))
        #expect(!world.cores[0].interfaces[0].cache.holdsPointer(to: instanceName("two")))
    }
}
