import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct SuppressionTests {
    private func settled(families: [IPAddress.Family] = [.v4]) throws -> DiscoveryWorld {
        try AnnouncingTests.settled(families: families)
    }

    // MARK: Known answers

    @Test func `a record that the querier knows is not sent (RFC 6762 7.1)`() throws {
        for (lifetime, isTold) in [(UInt32(4500), false), (2250, false), (2249, true), (1, true)] {
            var world = try settled()
            world.say(query(DNSQuestion(typeName, .ptr), known: [pointer("PHONE", lifetime: lifetime)]))
            world.run(.seconds(2))
            #expect(world.sent.isEmpty != isTold, "\(lifetime)")
        }
        var world = try settled()
        world.say(query(DNSQuestion(typeName, .ptr), known: [pointer("other")]))
        world.run(.seconds(2))
        #expect(world.sent.count == 1)
    }

    @Test func `a unique set is sent completely or not at all (RFC 6762 10.2)`() throws {
        var world = DiscoveryWorld()
        try world.join()
        var interface = DiscoveryWorld.interface(1, network: 0, host: 1)
        interface.addresses.append(InterfaceAddress(ip: DiscoveryWorld.ip(0, 2), prefixLength: 24))
        world.plug(0, 0, interface)
        world.announce(0, "phone")
        world.run(.seconds(20))
        _ = world.takeSent()
        let host = world.cores[0].host
        let known = (1...2).map { address(host.description, DiscoveryWorld.ip(0, $0)) }
        world.say(query(DNSQuestion(host, .a), known: known))
        #expect(world.sent.isEmpty)
        world.say(query(DNSQuestion(host, .a), known: [known[0]]))
        #expect(world.sent.first?.message.answers.count == 2)
    }

    @Test func `known answers may arrive in later packets, and are waited for (RFC 6762 7.2)`() throws {
        for knows in [true, false] {
            var world = try settled()
            var first = query(DNSQuestion(typeName, .ptr), known: [pointer("one")])
            first.flags = .truncated
            let start = world.now
            world.say(first)
            world.run(.milliseconds(100))
            var more = query(known: [pointer("two")])
            more.flags = .truncated
            world.say(more)
            world.run(.milliseconds(350))
            #expect(world.sent.isEmpty)
            // The packet in between has postponed the answer.
            world.say(query(known: [pointer(knows ? "phone" : "three")]))
            world.run(.seconds(2))
            #expect(world.sent.isEmpty == knows)
            if let answer = world.sent.first {
                #expect(answer.at - start >= .milliseconds(500))
                #expect(answer.at - start <= .milliseconds(600))
            }
        }
    }

    @Test func `another querier's known answers suppress nothing`() throws {
        var world = try settled()
        var first = query(DNSQuestion(typeName, .ptr))
        first.flags = .truncated
        world.say(first)
        world.say(query(known: [pointer("phone")]), from: DiscoveryWorld.ip(0, 201))
        world.run(.seconds(2))
        #expect(world.sent.count == 1)
    }

    @Test func `a querier that keeps announcing more known answers is answered after two seconds`() throws {
        var world = try settled()
        var first = query(DNSQuestion(typeName, .ptr))
        first.flags = .truncated
        world.say(first)
        var more = query(known: [pointer("other")])
        more.flags = .truncated
        let start = world.now
        for _ in 0..<20 {
            world.run(.milliseconds(200))
            world.say(more)
        }
        #expect(world.sent.count == 1)
        #expect(world.sent[0].at - start <= .seconds(2))
    }

    // MARK: Others' answers

    @Test func `a record that another host has just sent is not repeated (RFC 6762 7.4)`() throws {
        let meta = name("_services._dns-sd._udp.local")
        for (lifetime, isTold) in [(UInt32(4500), false), (5000, false), (4499, true)] {
            var world = try settled()
            world.say(query(DNSQuestion(meta, .ptr)))
            world.say(
                response([DNSRecord(meta, .pointer(typeName), lifetime: lifetime)]), from: DiscoveryWorld.ip(0, 201))
            world.run(.seconds(2))
            #expect(world.sent.isEmpty != isTold, "\(lifetime)")
        }
    }

    @Test func `an own record that another host withdraws is sent again (RFC 6762 6.6)`() throws {
        for lifetime in [UInt32(0), 100, 2249] {
            var world = try settled()
            world.say(response([pointer("phone", lifetime: lifetime)]))
            world.run(.seconds(1))
            #expect(world.sent.count == 1, "\(lifetime)")
            #expect(world.sent.first?.message.answers.map(\.data) == [.pointer(instanceName("phone"))])
        }
        var world = try settled()
        world.say(response([pointer("phone", lifetime: 2250)]))
        world.run(.seconds(1))
        #expect(world.sent.isEmpty)
    }
}
