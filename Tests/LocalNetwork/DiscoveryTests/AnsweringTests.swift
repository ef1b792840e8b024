import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct AnsweringTests {
    private func settled(families: [IPAddress.Family] = [.v4]) throws -> DiscoveryWorld {
        try AnnouncingTests.settled(families: families)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a shared answer waits for 20 to 120 ms (RFC 6762 6)`(seed: UInt64) throws {
        var world = try settled()
        world.run(.milliseconds(Int64(seed) * 1700))
        let start = world.now
        world.say(query(DNSQuestion(typeName, .ptr)))
        world.run(.seconds(1))
        let answer = try #require(world.sent.first)
        #expect(answer.at - start >= .milliseconds(20))
        #expect(answer.at - start <= .milliseconds(120))
        #expect(world.sent.count == 1)
    }

    @Test func `a unique answer is sent at once (RFC 6762 6)`() throws {
        var world = try settled()
        let host = world.cores[0].host
        for question in [
            DNSQuestion(instanceName("PHONE"), .srv), DNSQuestion(instanceName("phone"), .txt), DNSQuestion(host, .a),
            DNSQuestion(host, .aaaa), DNSQuestion(instanceName("phone"), .any),
            DNSQuestion(instanceName("phone"), .srv, recordClass: .any),
        ] {
            world.run(.seconds(5))
            _ = world.takeSent()
            world.say(query(question))
            #expect(world.sent.count == 1, "\(question)")
            #expect(world.sent.first?.isToGroup == true)
        }
    }

    @Test func `a message with a shared answer waits (RFC 6762 6.3)`() throws {
        var world = try settled()
        world.say(query(DNSQuestion(instanceName("phone"), .srv), DNSQuestion(typeName, .ptr)))
        #expect(world.sent.isEmpty)
        world.run(.milliseconds(120))
        #expect(world.sent.count == 1)
        #expect(Set(world.sent[0].message.answers.map(\.type)) == [.ptr, .srv])
    }

    @Test func `SRV, TXT and addresses come with the pointer (RFC 6763 12.1)`() throws {
        var world = try settled(families: [.v4, .v6])
        world.say(query(DNSQuestion(typeName, .ptr)))
        world.run(.seconds(1))
        let answer = try #require(world.sent.first).message
        #expect(answer.answers.map(\.data) == [.pointer(instanceName("phone"))])
        #expect(Set(answer.additionals.map(\.type)) == [.srv, .txt, .a, .aaaa])
    }

    @Test func `addresses come with SRV, and those of the other family with an address (RFC 6763 12.2, 6762 6.2)`()
        throws
    {
        var world = try settled(families: [.v4, .v6])
        world.say(query(DNSQuestion(instanceName("phone"), .srv)))
        #expect(Set(world.sent[0].message.additionals.map(\.type)) == [.a, .aaaa])
        world.run(.seconds(5))
        _ = world.takeSent()
        world.say(query(DNSQuestion(world.cores[0].host, .a)))
        #expect(world.sent[0].message.answers.map(\.type) == [.a])
        #expect(world.sent[0].message.additionals.map(\.type) == [.aaaa])
    }

    @Test func `a record that an own name lacks is denied (RFC 6762 6.1)`() throws {
        var world = try settled()
        let host = world.cores[0].host
        world.say(query(DNSQuestion(host, .aaaa)))
        #expect(world.sent[0].message.answers.map(\.data) == [.negative(next: host, types: [.a])])
        world.run(.seconds(5))
        _ = world.takeSent()
        world.say(query(DNSQuestion(instanceName("phone"), .a)))
        let denial = try #require(world.sent.first?.message.answers)
        #expect(denial.map(\.data) == [.negative(next: instanceName("phone"), types: [.txt, .srv])])
        #expect(denial[0].flushesCache)
        world.run(.seconds(5))
        _ = world.takeSent()
        // Other hosts have records of this name, so no host can deny that they exist.
        world.say(query(DNSQuestion(typeName, .srv)))
        world.run(.seconds(1))
        #expect(world.sent.isEmpty)
    }

    @Test func `an address of one family comes with the denial of the other (RFC 6762 6.1)`() throws {
        var world = try settled()
        world.say(query(DNSQuestion(world.cores[0].host, .a)))
        #expect(world.sent[0].message.additionals.map(\.type) == [.nsec])
    }

    @Test func `the list of types can be asked for (RFC 6763 9)`() throws {
        var world = try settled()
        world.say(query(DNSQuestion(name("_services._dns-sd._udp.local"), .ptr)))
        world.run(.seconds(1))
        #expect(world.sent.first?.message.answers.map(\.data) == [.pointer(typeName)])
    }

    @Test func `a question about another name or class is not answered`() throws {
        var world = try settled()
        world.say(query(DNSQuestion(name("_http._tcp.local"), .ptr)))
        world.say(query(DNSQuestion(instanceName("other"), .srv)))
        world.say(query(DNSQuestion(name("phone.local"), .a)))
        world.say(query(DNSQuestion(typeName, .ptr, recordClass: DNSClass(rawValue: 3))))
        world.run(.seconds(2))
        #expect(world.sent.isEmpty)
    }

    @Test func `answers to several askers are combined (RFC 6762 6.4)`() throws {
        var world = try settled()
        for host in 100..<110 { world.say(query(DNSQuestion(typeName, .ptr)), from: DiscoveryWorld.ip(0, host)) }
        world.run(.seconds(3))
        #expect(world.sent.count == 1)
    }

    // MARK: Probes of others

    @Test func `a probe for our name is answered at once, and no later than 250 ms after the last (RFC 6762 6)`() throws
    {
        var world = try settled()
        let probe = query(
            DNSQuestion(instanceName("phone"), .any), authorities: [service("phone", port: 1, host: "other.local")])
        world.say(probe)
        #expect(world.sent.count == 1)
        #expect(Set(world.sent[0].message.answers.map(\.type)) == [.srv, .txt])
        world.run(.milliseconds(100))
        world.say(probe)
        world.run(.milliseconds(149))
        #expect(world.sent.count == 1)
        world.run(.milliseconds(1))
        #expect(world.sent.count == 2)
        // A plain question has to wait longer.
        world.say(query(DNSQuestion(instanceName("phone"), .any)))
        world.run(.milliseconds(999))
        #expect(world.sent.count == 2)
        world.run(.milliseconds(1))
        #expect(world.sent.count == 3)
    }

    // MARK: Single askers

    @Test func `a unicast answer is sent only if the group got the record recently (RFC 6762 5.4)`() throws {
        for (age, isAlone) in [(Duration.seconds(1), true), (.seconds(29), true), (.seconds(31), false)] {
            var world = try settled()
            world.say(query(DNSQuestion(instanceName("phone"), .srv)))
            world.run(age)
            _ = world.takeSent()
            world.say(query(DNSQuestion(instanceName("phone"), .srv, wantsUnicast: true)))
            let answer = try #require(world.sent.first)
            let asker = MulticastDNSPacket.Destination.unicast(DiscoveryWorld.ip(0, 200), port: 5353)
            #expect((answer.packet.destination == asker) == isAlone, "\(age)")
            #expect(answer.message.id == 0)
            #expect(answer.message.questions.isEmpty)
            #expect(answer.message.answers.first?.flushesCache == true)
        }
    }

    @Test func `a unicast question gets a unicast answer (RFC 6762 5.5)`() throws {
        var world = try settled()
        let source = MulticastDNSSource(
            ip: DiscoveryWorld.ip(0, 200), port: 5353, interfaceIndex: 1, wasMulticast: false)
        world.deliver(bytes(of: query(DNSQuestion(instanceName("phone"), .srv))), to: 0, from: source)
        #expect(world.sent.map(\.packet.destination) == [.unicast(DiscoveryWorld.ip(0, 200), port: 5353)])
    }

    @Test func `an answer above the size of a packet is spread over several`() throws {
        var world = DiscoveryWorld()
        try world.join(0, families: [.v4, .v6]) { $0.packetBytesMax = 120 }
        world.announce(0, "phone")
        world.run(.seconds(2))
        let responses = world.sent.filter { $0.isResponse && $0.packet.destination == .multicast(.v4) }
        #expect(responses.allSatisfy { $0.packet.bytes.count <= 120 })
        let announced = responses.prefix { $0.at == responses[0].at }
        #expect(announced.count > 1)
        #expect(Set(announced.flatMap(\.message.answers).map(\.type)) == [.ptr, .srv, .txt, .a, .aaaa])
        _ = world.takeSent()
        world.run(.seconds(10))
        _ = world.takeSent()
        world.say(query(DNSQuestion(typeName, .ptr)))
        world.run(.seconds(1))
        #expect(world.sent.count > 1)
        #expect(Set(world.sent.flatMap(\.records).map(\.type)) == [.ptr, .srv, .txt, .a, .aaaa])
    }
}
