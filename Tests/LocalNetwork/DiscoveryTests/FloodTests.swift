import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct FloodTests {
    private func browsing() throws -> DiscoveryWorld {
        var world = DiscoveryWorld()
        try world.join(0)
        world.browse(0)
        world.announce(0, "phone")
        world.run(.seconds(5))
        _ = world.takeSent()
        return world
    }

    @Test func `a flood of services displaces its own, not earlier services`() throws {
        var world = try browsing()
        let honest = try world.join(0)
        world.announce(honest, "honest")
        world.run(.seconds(5))
        #expect(world.names(found: 0) == ["honest"])
        for second in 0..<8 {
            for number in 0..<100 {
                let label = "flood \(second) \(number)"
                world.say(wholeService(label, host: "\(label).local", ip: DiscoveryWorld.ip(0, 200)))
            }
            world.run(.seconds(1))
            let cache = world.cores[0].interfaces[0].cache
            #expect(cache.pointerCount <= 256)
            #expect(cache.count <= 1024)
            #expect(cache.pointerCount == cache.pointers.count)
            #expect(world.cores[0].reportedServices.count <= 256)
            #expect(world.cores[0].interfaces[0].resolutions.count <= 256)
        }
        #expect(world.names(found: 0).contains("honest"))
        #expect(world.cores[0].statistics.dropped > 0)
    }

    @Test func `a flood from many addresses stays within its bounds`() throws {
        var world = try browsing()
        for second in 0..<5 {
            for number in 0..<200 {
                let label = "flood \(second) \(number)"
                world.say(
                    wholeService(label, host: "\(label).local", ip: DiscoveryWorld.ip(0, number + 1)),
                    from: DiscoveryWorld.ip(0, number + 20))
            }
            world.run(.seconds(1))
            #expect(world.cores[0].interfaces[0].cache.pointerCount <= 256)
            #expect(world.cores[0].interfaces[0].cache.count <= 1024)
        }
    }

    @Test func `many records of one name are bounded`() throws {
        var world = try browsing()
        world.say(wholeService("one", ip: DiscoveryWorld.ip(0, 200)))
        for number in 0..<1000 {
            world.run(.milliseconds(10))
            var record = address("h.local", .v4(UInt32(number)))
            record.flushesCache = false
            world.say(response([record]))
            world.say(response([service("one", port: UInt16(number), host: "h\(number).local")]))
        }
        #expect(world.cores[0].interfaces[0].cache[name("h.local")].count <= 32)
        #expect(world.cores[0].interfaces[0].cache[instanceName("one")].count <= 32)
    }

    @Test func `a record that was not asked for is not cached`() throws {
        var world = try browsing()
        world.say(
            response([
                address("x.local", DiscoveryWorld.ip(0, 9)), service("unknown", host: "x.local"), text("unknown"),
                DNSRecord(name("_http._tcp.local"), .pointer(name("a._http._tcp.local")), lifetime: 4500),
                DNSRecord(typeName, .opaque(DNSType(rawValue: 99), [1]), lifetime: 4500),
                DNSRecord(typeName, .pointer(name("elsewhere.local")), lifetime: 4500),
            ]))
        #expect(world.cores[0].interfaces[0].cache.count == 0)
    }

    @Test func `lifetimes of one second cause no flood of questions`() throws {
        var world = try browsing()
        for number in 0..<50 {
            world.say(
                response([
                    pointer("s\(number)", lifetime: 1), service("s\(number)", host: "h.local", lifetime: 1),
                    text("s\(number)", lifetime: 1), address("h.local", DiscoveryWorld.ip(0, 1), lifetime: 1),
                ]))
        }
        world.run(.seconds(10))
        #expect(world.sent.count < 10)
        #expect(world.names(found: 0).isEmpty)
    }

    @Test func `a flood of questions is answered once a second`() throws {
        var world = try browsing()
        for number in 0..<1000 {
            world.say(
                query(DNSQuestion(typeName, .ptr), DNSQuestion(instanceName("phone"), .any)),
                from: DiscoveryWorld.ip(0, number % 200 + 1))
            world.run(.milliseconds(5))
        }
        #expect((4...6).contains(world.sent.filter(\.isResponse).count))
        #expect(world.cores[0].interfaces[0].answers[0].replies.count <= 32)
    }

    @Test func `a flood that asks for unicast is answered within bounds`() throws {
        var world = try browsing()
        world.say(query(DNSQuestion(instanceName("phone"), .srv)))
        _ = world.takeSent()
        for number in 0..<1000 {
            world.say(
                query(DNSQuestion(instanceName("phone"), .srv, wantsUnicast: true)),
                from: DiscoveryWorld.ip(0, number % 200 + 1))
        }
        #expect(world.sent.count == 32)
        #expect(world.cores[0].statistics.dropped >= 1000 - 32)
    }

    @Test func `truncated questions that never go on are bounded`() throws {
        var world = try browsing()
        for number in 0..<1000 {
            var message = query(DNSQuestion(typeName, .ptr, wantsUnicast: number % 2 == 0))
            message.flags = .truncated
            world.say(message, from: DiscoveryWorld.ip(0, number % 250 + 1))
        }
        #expect(world.cores[0].interfaces[0].answers[0].replies.count <= 32)
        world.run(.seconds(5))
        #expect(world.cores[0].interfaces[0].answers[0].replies.isEmpty)
    }

    @Test func `a name's defense in a full queue keeps its time and its shorter interval`() {
        var queue = AnswerQueue()
        for host in 1...40 as ClosedRange<UInt32> {
            let reply = AnswerQueue.Reply(
                sets: .pointer, due: .seconds(2), querier: .v4(host), waitsUntil: .seconds(3))
            let isQueued = queue.enqueue(reply)
            #expect(isQueued)
        }
        // An ordinary reply would wait until a second after this one.
        queue.noteSent(.service, .milliseconds(700))
        let isQueued = queue.enqueue(AnswerQueue.Reply(sets: .service, due: .seconds(1), isDefence: true))
        #expect(isQueued)
        #expect(queue.replies.count == 32)
        let sent = queue.takeDueForGroup(.seconds(1))
        #expect(sent.contains(.service))
    }

    @Test func `conflicts without end slow down, and the label stays within its bound`() throws {
        var world = try browsing()
        for _ in 0..<1000 {
            world.run(.milliseconds(300))
            let label = try #require(world.instance(0))
            #expect(label.utf8.count <= 63)
            world.say(response([service(label, port: 1, host: "other.local")]))
        }
        #expect(world.sent.count < 1000)
        #expect(world.sent.filter(\.isProbe).count < 3 * 20 + 2 * 300 / 5)
    }

    @Test func `a packet that cannot be read changes nothing and is counted`() throws {
        var world = try browsing()
        let before = world.cores[0].statistics
        var random = SplitMix64(seed: 5)
        let whole = bytes(of: wholeService("one", ip: DiscoveryWorld.ip(0, 200)))
        for count in 0..<whole.count { world.say(Array(whole.prefix(count))) }
        world.say([UInt8](repeating: 0xC0, count: 65536))
        world.say([UInt8](repeating: 0, count: 65536))
        world.say((0..<65536).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        let statistics = world.cores[0].statistics
        #expect(statistics.malformed - before.malformed == UInt64(whole.count + 3))
        #expect(statistics.packetsReceived - before.packetsReceived == UInt64(whole.count + 3))
        #expect(world.cores[0].interfaces[0].cache.count == 0)
        #expect(world.sent.isEmpty)
        #expect(world.events[0].isEmpty)
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `damaged packets of every kind trap nothing, and the core keeps going`(seed: UInt64) throws {
        var world = DiscoveryWorld(seed: seed)
        let cores = [try world.join(0, families: [.v4, .v6]), try world.join(0, families: [.v4, .v6])]
        for core in cores {
            world.browse(core)
            world.announce(core, "phone")
        }
        world.run(.seconds(10))
        var random = SplitMix64(seed: seed)
        let packets = world.takeSent().map(\.packet.bytes)
        for _ in 0..<300 {
            var packet = packets[Int(random.upTo(UInt64(packets.count - 1)))]
            for _ in 0...random.upTo(4) {
                let place = Int(random.upTo(UInt64(packet.count - 1)))
                packet[place] = UInt8(truncatingIfNeeded: random.next())
            }
            world.say(packet, port: random.happens(rate: 0.9) ? 5353 : 4000)
            world.run(.milliseconds(20))
        }
        world.run(.seconds(120))
        // Both are found under their current names.
        for (core, other) in [(0, 1), (1, 0)] {
            #expect(world.names(found: core).contains(try #require(world.instance(other))), "seed \(seed)")
        }
    }
}
