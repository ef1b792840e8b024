import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct LegacyTests {
    private func ask(_ message: DNSMessage, port: UInt16 = 40000) throws -> DiscoveryWorld {
        var world = try AnnouncingTests.settled()
        world.say(message, port: port)
        return world
    }

    @Test func `a legacy querier gets a conventional answer: id, question, short lifetimes (RFC 6762 6.7)`() throws {
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
        // Written in full once, as the target. The owner of the address may point to it.
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
