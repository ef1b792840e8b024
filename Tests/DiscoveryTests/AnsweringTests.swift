import MeshBus
import Testing

@testable import MeshDiscovery

@Suite struct AnsweringTests {
    private func settled(families: [IPAddress.Family] = [.v4]) throws -> DiscoveryWorld {
        try AnnouncingTests.settled(families: families)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `an answer that others may give too waits for 20 to 120 ms (RFC 6762 6)`(seed: UInt64) throws {
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

    @Test func `an answer that only we can give is given at once (RFC 6762 6)`() throws {
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

    @Test func `with a shared answer in it the whole answer waits (RFC 6762 6.3)`() throws {
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

    @Test func `what a name of ours does not have is denied (RFC 6762 6.1)`() throws {
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
        // Others have records of this name; nobody can deny any.
        world.say(query(DNSQuestion(typeName, .srv)))
        world.run(.seconds(1))
        #expect(world.sent.isEmpty)
    }

    @Test func `the address of one family comes with the word that there is none of the other (RFC 6762 6.1)`() throws {
        var world = try settled()
        world.say(query(DNSQuestion(world.cores[0].host, .a)))
        #expect(world.sent[0].message.additionals.map(\.type) == [.nsec])
    }

    @Test func `which types there are can be asked (RFC 6763 9)`() throws {
        var world = try settled()
        world.say(query(DNSQuestion(name("_services._dns-sd._udp.local"), .ptr)))
        world.run(.seconds(1))
        #expect(world.sent.first?.message.answers.map(\.data) == [.pointer(typeName)])
    }

    @Test func `what is not ours or of another class is not answered`() throws {
        var world = try settled()
        world.say(query(DNSQuestion(name("_http._tcp.local"), .ptr)))
        world.say(query(DNSQuestion(instanceName("other"), .srv)))
        world.say(query(DNSQuestion(name("phone.local"), .a)))
        world.say(query(DNSQuestion(typeName, .ptr, recordClass: DNSClass(rawValue: 3))))
        world.run(.seconds(2))
        #expect(world.sent.isEmpty)
    }

    @Test func `answers to several askers are one (RFC 6762 6.4)`() throws {
        var world = try settled()
        for host in 100..<110 { world.say(query(DNSQuestion(typeName, .ptr)), from: DiscoveryWorld.ip(0, host)) }
        world.run(.seconds(3))
        #expect(world.sent.count == 1)
    }

    // MARK: Known answers

    @Test func `what the asker knows is not told (RFC 6762 7.1)`() throws {
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

    @Test func `of a unique set all is told or nothing (RFC 6762 10.2)`() throws {
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

    @Test func `known answers may come in more packets, and are waited for (RFC 6762 7.2)`() throws {
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
            // The packet in between has put it off.
            world.say(query(known: [pointer(knows ? "phone" : "three")]))
            world.run(.seconds(2))
            #expect(world.sent.isEmpty == knows)
            if let answer = world.sent.first {
                #expect(answer.at - start >= .milliseconds(500))
                #expect(answer.at - start <= .milliseconds(600))
            }
        }
    }

    @Test func `known answers of somebody else take nothing away`() throws {
        var world = try settled()
        var first = query(DNSQuestion(typeName, .ptr))
        first.flags = .truncated
        world.say(first)
        world.say(query(known: [pointer("phone")]), from: DiscoveryWorld.ip(0, 201))
        world.run(.seconds(2))
        #expect(world.sent.count == 1)
    }

    @Test func `who says again and again that more follows is answered after two seconds all the same`() throws {
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

    @Test func `what somebody else has just told is not told again (RFC 6762 7.4)`() throws {
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

    @Test func `what somebody else takes back though it is ours is told anew (RFC 6762 6.6)`() throws {
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
        // A mere question has to wait for longer.
        world.say(query(DNSQuestion(instanceName("phone"), .any)))
        world.run(.milliseconds(999))
        #expect(world.sent.count == 2)
        world.run(.milliseconds(1))
        #expect(world.sent.count == 3)
    }

    // MARK: Single askers

    @Test func `who wants it alone gets it alone if all have it from lately (RFC 6762 5.4)`() throws {
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

    @Test func `a question sent to us alone is answered alone (RFC 6762 5.5)`() throws {
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

@Suite struct LegacyTests {
    private func ask(_ message: DNSMessage, port: UInt16 = 40000) throws -> DiscoveryWorld {
        var world = try AnnouncingTests.settled()
        world.say(message, port: port)
        return world
    }

    @Test func `who asks from another port gets the usual answer: id, question, short lives (RFC 6762 6.7)`() throws {
        var question = query(DNSQuestion(typeName, .ptr), DNSQuestion(name("x.local"), .a))
        question.id = 0x1234
        let world = try ask(question)
        #expect(world.sent.count == 1)
        let answer = try #require(world.sent.first)
        #expect(answer.packet.destination == .unicast(DiscoveryWorld.ip(0, 200), port: 40000))
        #expect(answer.message.id == 0x1234)
        #expect(answer.message.questions == question.questions)
        #expect(answer.message.flags == [.response, .authoritative])
        #expect(answer.records.allSatisfy { $0.lifetime <= 10 && !$0.flushesCache })
        #expect(Set(answer.records.map(\.type)) == [.ptr, .srv, .txt, .a, .nsec])
    }

    @Test func `the target of SRV is written out (RFC 6762 18.14)`() throws {
        let world = try ask(query(DNSQuestion(instanceName("phone"), .srv)))
        let host = world.cores[0].host.wire
        let bytes = try #require(world.sent.first).packet.bytes
        // Once in full as the target; the owner of the address may point to it.
        #expect(bytes.indices.contains { bytes[$0...].starts(with: host) })
    }

    @Test func `no question for us, no answer`() throws {
        #expect(try ask(query(DNSQuestion(name("x.local"), .a))).sent.isEmpty)
        #expect(try ask(query()).sent.isEmpty)
    }

    @Test func `a flood of such questions is answered within bounds`() throws {
        var world = try AnnouncingTests.settled()
        for port in 0..<5000 { world.say(query(DNSQuestion(typeName, .ptr)), port: 10000 + UInt16(port)) }
        #expect(world.sent.count == 32)
        #expect(world.cores[0].statistics.dropped == 5000 - 32)
        world.run(.seconds(1))
        world.say(query(DNSQuestion(typeName, .ptr)), port: 10000)
        #expect(world.sent.count == 33)
    }
}
