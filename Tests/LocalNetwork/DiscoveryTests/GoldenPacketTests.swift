import MeshBase
import Testing

@testable import MeshDiscovery

/// Packets byte by byte, as other implementations build them.
@Suite struct GoldenPacketTests {
    /// A label after its length byte.
    private static func label(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    /// `_sessionmesh._tcp.local`, which occupies bytes 12 to 36 of a packet that begins with it.
    private static let type = label("_sessionmesh") + label("_tcp") + label("local") + [0]

    /// The first question of python-zeroconf's browser: one question that requests a unicast answer, no known answers.
    private static let zeroconfQuestion: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] + type + [0, 12, 0x80, 1]

    /// A later question with known answers. Names are compressed, and the lifetime is the remaining one.
    private static let zeroconfKnown: [UInt8] =
        [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0] + type + [0, 12, 0, 1]
        + [0xC0, 12, 0, 12, 0, 1, 0, 0, 0x11, 0x90, 0, 8] + label("phone") + [0xC0, 12]

    /// python-zeroconf's announcement: PTR, SRV, TXT and A as answers, the flush bit on all but PTR.
    private static let zeroconfAnnouncement: [UInt8] =
        [0, 0, 0x84, 0, 0, 0, 0, 4, 0, 0, 0, 0]
        // At 12 the type. Its PTR has the instance at 47, which points to 12.
        + type + [0, 12, 0, 1, 0, 0, 0x11, 0x94, 0, 7] + label("desk") + [0xC0, 12]
        // SRV: priority 0, weight 0, port 7000. The host at 72 ends with `local` at 30.
        + [0xC0, 47, 0, 33, 0x80, 1, 0, 0, 0, 120, 0, 14, 0, 0, 0, 0, 0x1B, 0x58] + label("deskt") + [
            0xC0, 30,
        ]
        + [0xC0, 47, 0, 16, 0x80, 1, 0, 0, 0x11, 0x94, 0, 4] + label("v=1")
        + [0xC0, 72, 0, 1, 0x80, 1, 0, 0, 0, 120, 0, 4, 10, 0, 0, 200]

    @Test func `python-zeroconf's question is answered, to the group if it hasn't been recently`() throws {
        var world = try AnnouncingTests.settled()
        world.say(query(DNSQuestion(typeName, .ptr)))
        world.run(.seconds(2))
        _ = world.takeSent()
        world.say(Self.zeroconfQuestion)
        world.run(.seconds(1))
        #expect(world.sent.map(\.packet.destination) == [.unicast(DiscoveryWorld.ip(0, 200), port: 5353)])
        #expect(world.sent[0].message.answers.map(\.data) == [.pointer(instanceName("phone"))])
        world.run(.seconds(1200))
        _ = world.takeSent()
        world.say(Self.zeroconfQuestion)
        world.run(.seconds(1))
        #expect(world.sent.map(\.packet.destination) == [.multicast(.v4)])
    }

    @Test func `a record that python-zeroconf lists as known is not sent`() throws {
        var world = try AnnouncingTests.settled()
        world.say(Self.zeroconfKnown)
        world.run(.seconds(1))
        #expect(world.sent.isEmpty)
        #expect(try DNSMessage(Self.zeroconfKnown).answers == [pointer("phone", lifetime: 4496)])
    }

    /// Apple's responder probes for SRV with the flush bit clear. It adds an OPT record with the owner (type 41, class 0x05A0
    /// as payload size, option 4).
    private static let appleProbe: [UInt8] =
        [0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1]
        + label("phone") + type + [0, 255, 0x80, 1]
        + [0xC0, 12, 0, 33, 0, 1, 0, 0, 0, 120, 0, 12, 0, 0, 0, 0, 0x1F, 0x90] + label("mac") + [0xC0, 36]
        + [0, 0, 41, 0x05, 0xA0, 0, 0, 0x11, 0x94, 0, 12, 0, 4, 0, 8, 0, 0, 1, 2, 3, 4, 5, 6]

    @Test func `a probe of Apple's responder is read and answered`() throws {
        let message = try DNSMessage(Self.appleProbe)
        #expect(message.questions == [DNSQuestion(instanceName("phone"), .any, wantsUnicast: true)])
        #expect(message.authorities.map(\.data) == [.service(port: 8080, target: name("mac.local"))])
        #expect(message.additionals.map(\.type) == [DNSType(rawValue: 41)])
        var world = try AnnouncingTests.settled()
        world.say(Self.appleProbe)
        #expect(Set(world.sent.flatMap(\.message.answers).map(\.type)) == [.srv, .txt])
    }

    /// Apple's responder answers with PTR and adds SRV, TXT, AAAA, A, and NSEC for both names. The host's bit map has A and
    /// AAAA (40 00 00 08), the instance's TXT and SRV (00 00 80 00 40).
    private static let appleAnswer: [UInt8] = {
        var bytes: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 6]
        bytes += type + [0, 12, 0, 1, 0, 0, 0x11, 0x94, 0, 6] + label("mac") + [0xC0, 12]
        let instance: [UInt8] = [0xC0, 47]
        let host = UInt8(bytes.count + 12 + 6)
        bytes += instance + [0, 33, 0x80, 1, 0, 0, 0, 120, 0, 12, 0, 0, 0, 0, 0x1F, 0x90] + label("mac") + [0xC0, 30]
        bytes += instance + [0, 16, 0x80, 1, 0, 0, 0x11, 0x94, 0, 1, 0]
        bytes += [0xC0, host, 0, 28, 0x80, 1, 0, 0, 0, 120, 0, 16, 0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [5]
        bytes += [0xC0, host, 0, 1, 0x80, 1, 0, 0, 0, 120, 0, 4, 10, 0, 0, 200]
        bytes += instance + [0, 47, 0x80, 1, 0, 0, 0x11, 0x94, 0, 9] + instance + [0, 5, 0, 0, 0x80, 0, 0x40]
        bytes += [0xC0, host, 0, 47, 0x80, 1, 0, 0, 0, 120, 0, 8, 0xC0, host, 0, 4, 0x40, 0, 0, 8]
        return bytes
    }()

    @Test func `an answer of Apple's responder is found`() throws {
        let message = try DNSMessage(Self.appleAnswer)
        #expect(
            message.additionals.suffix(2).map(\.data) == [
                .negative(next: instanceName("mac"), types: [.txt, .srv]),
                .negative(next: name("mac.local"), types: [.a, .aaaa]),
            ])
        var world = DiscoveryWorld()
        try world.join(0)
        world.browse(0)
        world.say(Self.appleAnswer)
        let expected = FoundService(
            instance: "mac", port: 8080,
            addresses: [.v6(0xFE80 << 48, 5), DiscoveryWorld.ip(0, 200)].map {
                ServiceAddress(ip: $0, interfaceIndex: 1)
            },
            attributes: [])
        #expect(world.found(by: 0)["mac"] == expected)
    }

    @Test func `an announcement of python-zeroconf is found`() throws {
        let message = try DNSMessage(Self.zeroconfAnnouncement)
        #expect(message.answers.map(\.type) == [.ptr, .srv, .txt, .a])
        var world = DiscoveryWorld()
        try world.join(0)
        world.browse(0)
        world.say(Self.zeroconfAnnouncement)
        let found = try #require(world.found(by: 0)["desk"])
        #expect(found.port == 7000)
        #expect(found["v"] == Array("1".utf8))
        #expect(found.addresses == [ServiceAddress(ip: DiscoveryWorld.ip(0, 200), interfaceIndex: 1)])
    }

    /// `dig -p 5353 @224.0.0.251 _sessionmesh._tcp.local ptr`: an id, recursion desired, an OPT record.
    private static let digQuestion: [UInt8] =
        [0xBE, 0xEF, 0x01, 0x20, 0, 1, 0, 0, 0, 0, 0, 1] + type + [0, 12, 0, 1]
        + [0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0]

    @Test func `dig gets its answer`() throws {
        var world = try AnnouncingTests.settled()
        world.say(Self.digQuestion, port: 51234)
        let answer = try #require(world.sent.first)
        #expect(answer.packet.bytes.prefix(8) == [0xBE, 0xEF, 0x84, 0, 0, 1, 0, 1])
        #expect(answer.packet.bytes[12..<12 + Self.type.count + 4] == (Self.type + [0, 12, 0, 1])[...])
        #expect(answer.packet.destination == .unicast(DiscoveryWorld.ip(0, 200), port: 51234))
    }

    @Test func `our question equals other responders'`() throws {
        var world = DiscoveryWorld()
        try world.join(0)
        world.browse(0)
        world.run(.milliseconds(200))
        #expect(world.sent.first?.packet.bytes == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] + Self.type + [0, 12, 0, 1])
    }

    @Test func `our announcement follows RFC 6762 and 6763 byte by byte`() throws {
        var world = DiscoveryWorld()
        try world.join(0) { $0.host = "h" }
        world.announce(0, "a", port: 0x1234)
        world.run(.seconds(1))
        let announced = try #require(world.sent.first { $0.isResponse }).packet.bytes
        var expected: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 5, 0, 0, 0, 1]
        // _services._dns-sd._udp.local at 12, `local` at 35, the type at 52.
        expected += Self.label("_services") + Self.label("_dns-sd") + Self.label("_udp") + Self.label("local") + [0]
        expected +=
            [0, 12, 0, 1, 0, 0, 0x11, 0x94, 0, 20] + Self.label("_sessionmesh") + Self.label("_tcp") + [0xC0, 35]
        // The instance at 84.
        expected += [0xC0, 52, 0, 12, 0, 1, 0, 0, 0x11, 0x94, 0, 4, 1, 0x61, 0xC0, 52]
        expected += [0xC0, 84, 0, 33, 0x80, 1, 0, 0, 0, 120, 0, 10, 0, 0, 0, 0, 0x12, 0x34, 1, 0x68, 0xC0, 35]
        expected += [0xC0, 84, 0, 16, 0x80, 1, 0, 0, 0x11, 0x94, 0, 4, 3, 0x76, 0x3D, 0x31]
        // The host at 106.
        expected += [0xC0, 106, 0, 1, 0x80, 1, 0, 0, 0, 120, 0, 4, 10, 0, 0, 1]
        expected += [0xC0, 106, 0, 47, 0x80, 1, 0, 0, 0, 120, 0, 5, 0xC0, 106, 0, 1, 0x40]
        #expect(announced == expected)
    }
}
