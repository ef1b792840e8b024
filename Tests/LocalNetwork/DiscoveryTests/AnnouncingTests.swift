import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct AnnouncingTests {
    /// A core that announced "phone" 20 seconds ago. Its sent packets have been cleared.
    static func settled(
        families: [IPAddress.Family] = [.v4], change: (inout MulticastDNSConfiguration) -> Void = { _ in }
    ) throws -> DiscoveryWorld {
        var world = DiscoveryWorld()
        try world.join(0, families: families, change: change)
        world.announce(0, "phone")
        world.run(.seconds(20))
        _ = world.takeSent()
        return world
    }

    @Test func `announcements are sent at once, a second later and two seconds after that (RFC 6762 8.3)`() throws {
        for count in 2...8 {
            var world = DiscoveryWorld()
            try world.join(0) { $0.announcementCount = count }
            world.announce(0, "phone")
            world.run(.seconds(300))
            let responses = world.sent.filter(\.isResponse)
            #expect(responses.count == count)
            let probed = try #require(world.sent.last { $0.isProbe }).at
            #expect(responses[0].at - probed == .milliseconds(250))
            for (place, pair) in zip(responses, responses.dropFirst()).enumerated() {
                #expect(pair.1.at - pair.0.at == .seconds(1 << place))
            }
        }
    }

    @Test func `an announcement has every record as an answer (RFC 6762 8.3)`() throws {
        var world = DiscoveryWorld()
        try world.join(0, families: [.v4, .v6])
        world.announce(0, "phone")
        world.run(.seconds(2))
        let announcement = try #require(world.sent.first { $0.isResponse })
        #expect(Set(announcement.message.answers.map(\.type)) == [.ptr, .srv, .txt, .a, .aaaa])
        #expect(announcement.message.answers.filter { $0.type == .ptr }.count == 2)
        #expect(announcement.message.questions.isEmpty)
        #expect(announcement.message.id == 0)
        #expect(announcement.message.flags == [.response, .authoritative])
        #expect(Set(world.sent.filter(\.isResponse).map(\.packet.destination)) == [.multicast(.v4), .multicast(.v6)])
    }

    @Test func `the flush bit is on unique records only (RFC 6762 10.2)`() throws {
        var world = DiscoveryWorld()
        try world.join(0, families: [.v4, .v6])
        world.announce(0, "phone")
        world.run(.seconds(20))
        world.say(query(DNSQuestion(typeName, .ptr), DNSQuestion(world.cores[0].host, DNSType(rawValue: 13))))
        world.run(.seconds(2))
        let records = world.sent.filter(\.isResponse).flatMap(\.records)
        #expect(Set(records.map(\.type)) == [.ptr, .srv, .txt, .a, .aaaa, .nsec])
        for record in records { #expect(record.flushesCache == (record.type != .ptr), "\(record)") }
        for probe in world.sent.filter(\.isProbe) {
            #expect(probe.message.authorities.allSatisfy { !$0.flushesCache })
        }
    }

    @Test func `records that name a host live for 120 s, the others for 75 minutes (RFC 6762 10)`() throws {
        var world = DiscoveryWorld()
        try world.join(0)
        world.announce(0, "phone")
        world.run(.seconds(2))
        for record in world.sent.filter(\.isResponse).flatMap(\.records) {
            #expect(record.lifetime == ([.srv, .a, .nsec].contains(record.type) ? 120 : 4500))
        }
    }

    @Test func `a goodbye takes back everything but the type (RFC 6762 10.1)`() throws {
        for shutDown in [false, true] {
            var world = try Self.settled()
            if shutDown { world.shutDown(0) } else { world.announce(0, nil) }
            let goodbye = try #require(world.sent.first)
            #expect(world.sent.count == 1)
            #expect(goodbye.message.answers.map(\.type) == [.ptr, .srv, .txt, .a])
            #expect(
                goodbye.message.answers.allSatisfy {
                    $0.lifetime == 0 && $0.name != name("_services._dns-sd._udp.local")
                })
            _ = world.takeSent()
            world.say(query(DNSQuestion(typeName, .ptr)))
            world.run(.seconds(10))
            #expect(world.sent.isEmpty)
        }
    }

    @Test func `a service that was not announced yet says no goodbye`() throws {
        var world = DiscoveryWorld()
        try world.join(0)
        world.announce(0, "phone")
        world.run(.milliseconds(400))
        world.announce(0, nil)
        world.run(.seconds(10))
        #expect(world.sent.allSatisfy { $0.isProbe })
    }

    @Test func `after the goodbye nothing is sent`() throws {
        var world = try Self.settled()
        world.shutDown(0)
        _ = world.takeSent()
        world.announce(0, "again")
        world.browse(0)
        world.plug(0, 1)
        world.say(query(DNSQuestion(typeName, .ptr)))
        world.run(.seconds(100))
        #expect(world.sent.isEmpty)
        #expect(world.events[0].isEmpty)
    }

    @Test func `a changed port or text is announced without a probe (RFC 6762 8.4)`() throws {
        var world = try Self.settled()
        world.announce(0, "phone", port: 5000)
        world.run(.seconds(10))
        #expect(!world.sent.contains { $0.isProbe })
        #expect(world.sent.count == 3)
        #expect(
            world.sent.allSatisfy { sent in
                sent.message.answers.contains {
                    if case .service(_, _, 5000, _) = $0.data { $0.flushesCache } else { false }
                }
            })
        _ = world.takeSent()
        world.announce(0, "phone", port: 5000)
        world.run(.seconds(10))
        #expect(world.sent.isEmpty)
    }

    @Test func `a changed instance name is probed, and the former one says goodbye`() throws {
        var world = try Self.settled()
        world.announce(0, "tablet")
        #expect(world.sent.count == 1)
        #expect(world.sent[0].message.answers.map(\.lifetime) == [0, 0, 0])
        #expect(world.sent[0].message.answers.map(\.type) == [.ptr, .srv, .txt])
        world.run(.seconds(10))
        #expect(world.sent.filter(\.isProbe).count == 3)
        #expect(world.sent.last?.message.answers.contains { $0.data == .pointer(instanceName("tablet")) } == true)
    }

    @Test func `a renamed service keeps its new name when its attributes change`() throws {
        var world = DiscoveryWorld()
        try world.join(0)
        world.announce(0, "phone")
        world.run(.milliseconds(300))
        world.say(response([service("phone", port: 1, host: "other.local")]))
        world.run(.seconds(10))
        _ = world.takeSent()
        world.announce(0, "phone", port: 5000)
        world.run(.seconds(10))
        #expect(world.instance(0) == "phone (2)")
        #expect(!world.sent.contains { $0.isProbe })
        #expect(world.renames(0) == ["phone (2)"])
    }

    @Test func `no record is sent to the group twice within a second (RFC 6762 6)`() throws {
        for seed in 0..<20 as Range<UInt64> {
            var world = DiscoveryWorld(seed: seed)
            try world.join(0, families: [.v4, .v6])
            world.announce(0, "phone")
            for number in 0..<200 {
                world.run(.milliseconds(50))
                let question = DNSQuestion(
                    number % 2 == 0 ? typeName : instanceName("phone"), number % 2 == 0 ? .ptr : .any)
                world.say(query(question), from: DiscoveryWorld.ip(0, 100 + number % 100))
            }
            var last: [String: Duration] = [:]
            for sent in world.sent where sent.isResponse && sent.isToGroup {
                for record in sent.records where record.lifetime > 0 {
                    let key = "\(sent.packet.destination) \(record.name) \(record.data)"
                    if let last = last[key] { #expect(sent.at - last >= .seconds(1), "\(key), seed \(seed)") }
                    last[key] = sent.at
                }
            }
            #expect(last.count == 2 * 6, "seed \(seed)")
        }
    }
}
