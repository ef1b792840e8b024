import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct BrowsingTests {
    private let ip = DiscoveryWorld.ip(0, 200)

    /// A core that browses for services and has sent its first question.
    private func browsing(
        change: (inout MulticastDNSConfiguration) -> Void = { _ in }
    ) throws -> DiscoveryWorld {
        var world = DiscoveryWorld()
        try world.join(0, change: change)
        world.browse(0)
        world.run(.milliseconds(200))
        return world
    }

    // MARK: Asking

    @Test
    func
        `the first question waits for 20 to 120 ms, the next come after 1 s, 2 s and so on up to an hour (RFC 6762 5.2)`()
        throws
    {
        var world = DiscoveryWorld()
        try world.join(0)
        let start = world.now
        world.browse(0)
        world.run(.seconds(5 * 3600))
        let times = world.sent.map(\.at)
        #expect(world.sent.allSatisfy { $0.message.questions == [DNSQuestion(typeName, .ptr)] })
        #expect(times[0] - start >= .milliseconds(20))
        #expect(times[0] - start <= .milliseconds(120))
        for (place, pair) in zip(times, times.dropFirst()).enumerated() {
            #expect(pair.1 - pair.0 == min(.seconds(1 << place), .seconds(3600)))
        }
        #expect(times.count == 1 + 12 + 3)
    }

    @Test func `a question lists known services until half of their lifetime is over (RFC 6762 7.1)`() throws {
        var world = try browsing()
        world.say(
            response([
                pointer("one"), service("one", host: "h.local", lifetime: 4500), text("one"),
                address("h.local", ip, lifetime: 4500),
            ]))
        _ = world.takeSent()
        world.run(.seconds(4000))
        let questions = world.sent.filter { $0.asks(.ptr) }
        for sent in questions {
            let age = sent.at - .seconds(1000) - .milliseconds(200)
            let known = sent.message.answers
            #expect(known.isEmpty == (age >= .seconds(2250)), "\(age)")
            #expect(known.allSatisfy { !$0.flushesCache && $0.data == .pointer(instanceName("one")) })
            if let left = known.first?.lifetime { #expect(abs(4500 - Int(left) - Int(age.components.seconds)) <= 1) }
        }
        #expect(questions.count > 8)
    }

    @Test func `known answers that do not fit follow in packets of their own (RFC 6762 7.2)`() throws {
        var world = try browsing()
        for number in 0..<100 {
            if number == 50 { world.run(.seconds(1)) }
            world.say(wholeService("a service with a rather long name \(number)", ip: ip))
        }
        _ = world.takeSent()
        world.run(.seconds(2))
        let packets = world.sent.prefix { $0.at == world.sent[0].at }
        #expect(packets.count > 2)
        #expect(packets.first?.message.questions.count == 1)
        #expect(packets.dropFirst().allSatisfy { $0.message.questions.isEmpty })
        #expect(packets.dropLast().allSatisfy { $0.message.flags == .truncated })
        #expect(packets.last?.message.flags == [])
        #expect(packets.flatMap(\.message.answers).count == 100)
        #expect(packets.allSatisfy { $0.packet.bytes.count <= 1400 })
    }

    @Test func `a question that another host has just asked is not repeated (RFC 6762 7.3)`() throws {
        let question = DNSQuestion(typeName, .ptr)
        var alone = question
        alone.wantsUnicast = true
        var truncated = query(question)
        truncated.flags = .truncated
        for (message, covers) in [
            (query(question), true), (query(question, known: [pointer("unknown")]), false), (query(alone), false),
            (truncated, false), (query(DNSQuestion(name("_http._tcp.local"), .ptr)), false),
        ] {
            var world = DiscoveryWorld()
            try world.join(0)
            world.browse(0)
            world.say(message)
            world.run(.milliseconds(500))
            #expect(world.sent.isEmpty == covers, "\(message)")
        }
    }

    // MARK: Finding

    @Test func `a service is found once it has a pointer, SRV, TXT and an address`() throws {
        let parts = [
            pointer("one"), service("one", port: 7, host: "h.local"), text("one", [ServiceAttribute("v", "1")]),
            address("h.local", ip),
        ]
        for missing in parts.indices {
            var world = try browsing()
            world.say(response(parts.indices.filter { $0 != missing }.map { parts[$0] }))
            #expect(world.names(found: 0).isEmpty)
            if missing > 0 {
                // Later records complete the service. An address counts once its host is known.
                world.say(response(missing == 1 ? [parts[1], parts[3]] : [parts[missing]]))
                #expect(world.names(found: 0) == ["one"])
            }
        }
        var world = try browsing()
        world.say(response(parts.reversed()))
        let found = FoundService(
            instance: "one", port: 7, addresses: [ServiceAddress(ip: ip, interfaceIndex: 1)],
            attributes: [ServiceAttribute("v", "1")])
        #expect(world.events[0].map(\.event) == [.found(found)])
        // A repetition causes no event.
        world.run(.seconds(2))
        world.say(response(parts))
        #expect(world.events[0].count == 1)
    }

    @Test func `a missing record is asked for three times`() throws {
        var world = try browsing()
        world.run(.seconds(300))
        _ = world.takeSent()
        world.say(response([pointer("one")]))
        world.run(.seconds(20))
        #expect(world.sent.count == 3)
        #expect(
            world.sent.allSatisfy { sent in
                sent.message.questions == [.srv, .txt].map { DNSQuestion(instanceName("one"), $0) }
            })
        _ = world.takeSent()
        world.say(response([pointer("one"), service("one", host: "h.local"), text("one")]))
        world.run(.seconds(20))
        #expect(world.sent.count == 3)
        #expect(
            world.sent.allSatisfy { sent in
                sent.message.questions == [.a, .aaaa].map { DNSQuestion(name("h.local"), $0) }
            })
        _ = world.takeSent()
        world.say(response([pointer("one"), address("h.local", ip)]))
        world.run(.seconds(20))
        #expect(world.sent.isEmpty)
        #expect(world.names(found: 0) == ["one"])
    }

    @Test func `an announced service is found with its attributes and address`() throws {
        for families in [[IPAddress.Family.v4], [.v6], [.v4, .v6]] {
            var world = DiscoveryWorld()
            let (first, second) = (try world.join(0, families: families), try world.join(0, families: families))
            world.browse(first)
            world.announce(second, "phone")
            world.run(.seconds(2))
            let found = try #require(world.found(by: first)["phone"])
            #expect(found.port == 4000)
            #expect(found["V"] == Array("1".utf8))
            // IPv6 first.
            #expect(found.addresses.map(\.ip.family) == families.sorted { $0.rawValue > $1.rawValue })
            #expect(Set(found.addresses.map(\.ip)) == Set(world.interface(second).addresses.map(\.ip)))
        }
    }

    @Test func `a service that was there before is found at the first question`() throws {
        var world = try AnnouncingTests.settled()
        let second = try world.join(0)
        world.browse(second)
        world.run(.milliseconds(250))
        #expect(world.names(found: second) == ["phone"])
    }

    @Test func `a changed port, text or address is reported`() throws {
        var world = try AnnouncingTests.settled()
        let second = try world.join(0)
        world.browse(second)
        world.run(.seconds(2))
        world.announce(0, "phone", port: 4001)
        world.run(.seconds(2))
        #expect(world.found(by: second)["phone"]?.port == 4001)
        world.announce(0, ServiceAnnouncement(instance: "phone", port: 4001, attributes: [ServiceAttribute("v", "2")]))
        world.run(.seconds(2))
        #expect(world.found(by: second)["phone"]?["v"] == Array("2".utf8))
        world.plug(0, 0, DiscoveryWorld.interface(1, network: 0, host: 99))
        world.run(.seconds(3))
        #expect(world.found(by: second)["phone"]?.addresses.map(\.ip) == [DiscoveryWorld.ip(0, 99)])
        #expect(!world.events[second].contains { $0.event == .lost(instance: "phone") })
    }

    @Test func `instances whose label isn't text aren't reported`() throws {
        var world = try browsing()
        for label in [[UInt8(0xFF)], [0x61, 0x0A], [0x7F]] {
            let instance = try typeName.prefixed(by: label)
            world.say(
                response([
                    DNSRecord(typeName, .pointer(instance), lifetime: 4500),
                    DNSRecord(instance, .service(port: 1, target: name("h.local")), lifetime: 120),
                    DNSRecord(instance, .text([0]), lifetime: 120), address("h.local", ip),
                ]))
        }
        let deeper = try instanceName("a").prefixed(by: Array("b".utf8))
        world.say(response([DNSRecord(typeName, .pointer(deeper), lifetime: 4500)]))
        #expect(world.events[0].isEmpty)
        #expect(world.cores[0].interfaces[0].cache.count == 0)
    }

    @Test func `known answers in others' questions aren't remembered (RFC 6762 7.1)`() throws {
        var world = try browsing()
        world.say(query(DNSQuestion(typeName, .ptr), known: [pointer("one")]))
        #expect(world.cores[0].interfaces[0].cache.count == 0)
    }

    @Test func `a core that does not browse caches nothing`() throws {
        var world = DiscoveryWorld()
        try world.join(0)
        world.say(wholeService("one", ip: ip))
        #expect(world.cores[0].interfaces[0].cache.count == 0)
        #expect(world.cores[0].takeDirectives().wakeAt == nil)
    }
}
