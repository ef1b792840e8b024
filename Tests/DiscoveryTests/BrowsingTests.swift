import MeshBus
import Testing

@testable import MeshDiscovery

@Suite struct BrowsingTests {
    private let ip = DiscoveryWorld.ip(0, 200)

    /// A core that looks for services; its first question has been sent.
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

    @Test func `known services are told with the question, until half of their life is over (RFC 6762 7.1)`() throws {
        var world = try browsing()
        world.say(wholeService("one", ip: ip))
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

    @Test func `what somebody else has just asked is not asked again (RFC 6762 7.3)`() throws {
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
                // What comes later completes it; an address counts once it is known whose it is.
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
        // The same again is no news.
        world.run(.seconds(2))
        world.say(response(parts))
        #expect(world.events[0].count == 1)
    }

    @Test func `what lacks is asked for, three times`() throws {
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

    @Test func `who announces is found by those who look, with attributes and address`() throws {
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

    @Test func `who is there before is found at the first question`() throws {
        var world = try AnnouncingTests.settled()
        let second = try world.join(0)
        world.browse(second)
        world.run(.milliseconds(250))
        #expect(world.names(found: second) == ["phone"])
    }

    @Test func `a changed port, text or address is told`() throws {
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

    @Test func `instances whose label is no text are not told`() throws {
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

    @Test func `known answers in questions of others are not remembered (RFC 6762 7.1)`() throws {
        var world = try browsing()
        world.say(query(DNSQuestion(typeName, .ptr), known: [pointer("one")]))
        #expect(world.cores[0].interfaces[0].cache.count == 0)
    }

    @Test func `who does not look remembers nothing`() throws {
        var world = DiscoveryWorld()
        try world.join(0)
        world.say(wholeService("one", ip: ip))
        #expect(world.cores[0].interfaces[0].cache.count == 0)
        #expect(world.cores[0].takeDirectives().wakeAt == nil)
    }
}

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

    @Test func `a goodbye is told a second later, unless it was taken back (RFC 6762 10.1)`() throws {
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

    @Test func `a goodbye of SRV, TXT or the only address ends it too`() throws {
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

    @Test func `a goodbye for what nobody knows changes nothing`() throws {
        var world = try found()
        world.say(response([pointer("two", lifetime: 0), service("one", port: 9, host: "x.local", lifetime: 0)]))
        world.run(.seconds(3))
        #expect(world.names(found: 0) == ["one"])
        #expect(world.events[0].count == 1)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `records are asked for at 80, 85, 90 and 95 percent of their life, and up to 2 later (RFC 6762 5.2)`(
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
            let asked = world.sent.filter { $0.asks(type) }.map { ($0.at - start) / .seconds(120) }
            #expect(asked.count == 4, "seed \(seed)")
            for (share, least) in zip(asked, [0.8, 0.85, 0.9, 0.95]) {
                #expect(share >= least - 0.0001 && share <= least + 0.0201, "seed \(seed)")
            }
        }
        // TXT lives on, but without SRV there is no service.
        #expect(!world.sent.contains { $0.asks(.txt) })
        #expect(world.names(found: 0).isEmpty)
        let lost = try #require(world.events[0].last)
        #expect(lost.event == .lost(instance: "one"))
        #expect(lost.at == start + .seconds(120))
    }

    @Test func `whoever answers stays, for hours`() throws {
        var world = try AnnouncingTests.settled()
        let second = try world.join(0)
        world.browse(second)
        world.run(.seconds(3 * 3600))
        #expect(world.events[second].count == 1)
        #expect(world.names(found: second) == ["phone"])
        // Hours are cheap: a question at four fifths of two minutes, and its answer.
        let packets = world.takeSent().filter { $0.at > .seconds(3600) }
        #expect(packets.count < 2 * 3 * (3600 / 96 + 4) * 2)
    }

    @Test func `who vanishes without a word is lost when SRV has expired, and not before`() throws {
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

    @Test func `what others ask to refresh is not asked again (RFC 6762 7.3)`() throws {
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

    @Test func `the flush bit ends what is older than a second, a second later (RFC 6762 10.2)`() throws {
        var world = try found()
        let other = DiscoveryWorld.ip(0, 201)
        world.run(.seconds(2))
        world.say(response([address("h.local", other)]))
        #expect(world.found(by: 0)["one"]?.addresses.count == 2)
        world.run(.milliseconds(999))
        #expect(world.found(by: 0)["one"]?.addresses.count == 2)
        world.run(.milliseconds(1))
        #expect(world.found(by: 0)["one"]?.addresses.map(\.ip) == [other])
        // Records that come together, or within a second, live together.
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

    @Test func `nobody has a record remembered for more than 75 minutes`() throws {
        var world = try found()
        world.say(response([pointer("two", lifetime: 2_000_000_000)]))
        world.run(.seconds(4501))
        #expect(!world.cores[0].interfaces[0].cache.holdsPointer(to: instanceName("two")))
    }
}
