import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct InterfaceTests {
    @Test func `an answer names the addresses of its interface only (RFC 6762 14)`() throws {
        var world = DiscoveryWorld()
        try world.join(0, 1)
        world.announce(0, "phone")
        world.run(.seconds(5))
        for sent in world.sent {
            let addresses = (sent.records + sent.message.authorities).filter { $0.type == .a }.map(\.data)
            let own = world.interface(0, on: Int(sent.packet.interfaceIndex) - 1).addresses.map {
                DNSRecordData.address($0.ip)
            }
            #expect(addresses == own)
        }
        #expect(Set(world.sent.map(\.packet.interfaceIndex)) == [1, 2])
    }

    @Test func `a later interface is probed and searched`() throws {
        var world = DiscoveryWorld()
        try world.join()
        let peers = [try world.join(0), try world.join(1)]
        for peer in peers {
            world.browse(peer)
            world.announce(peer, "peer \(peer)")
        }
        world.announce(0, "phone")
        world.browse(0)
        world.run(.seconds(10))
        #expect(world.events[0].isEmpty)
        for network in [0, 1] {
            _ = world.takeSent()
            world.plug(0, network)
            world.run(.seconds(3))
            let own = world.sent.filter { $0.core == 0 && Int($0.packet.interfaceIndex) == network + 1 }
            #expect(own.filter(\.isProbe).count == 3)
            #expect(own.contains { $0.asks(.ptr) })
            #expect(world.names(found: peers[network]) == ["phone"])
        }
        #expect(world.names(found: 0) == ["peer 1", "peer 2"])
    }

    @Test func `records received on an interface are lost with it`() throws {
        var world = DiscoveryWorld()
        try world.join(0, 1)
        let peer = try world.join(0, 1)
        let other = try world.join(1)
        world.browse(0)
        for core in [peer, other] { world.announce(core, "peer \(core)") }
        world.run(.seconds(5))
        #expect(world.found(by: 0)["peer 1"]?.addresses.map(\.interfaceIndex) == [1, 2])
        world.unplug(0, 1)
        #expect(world.found(by: 0)["peer 1"]?.addresses.map(\.interfaceIndex) == [1])
        #expect(world.names(found: 0) == ["peer 1"])
        world.unplug(0, 0)
        #expect(world.names(found: 0).isEmpty)
        world.run(.seconds(100))
        world.plug(0, 1, DiscoveryWorld.interface(2, network: 1, host: 2))
        world.run(.seconds(3))
        #expect(world.names(found: 0) == ["peer 1", "peer 2"])
    }

    @Test func `a changed address is announced, and a family's last one says goodbye (RFC 6762 8.4)`() throws {
        var world = try AnnouncingTests.settled(families: [.v4, .v6])
        let both = world.interface(0)
        var one = both
        one.addresses.removeAll { $0.ip.family == .v6 }
        world.plug(0, 0, one)
        let goodbye = try #require(world.sent.first)
        #expect(goodbye.message.answers.map(\.data) == [.address(both.addresses[1].ip)])
        #expect(goodbye.message.answers.map(\.lifetime) == [0])
        world.run(.seconds(1))
        #expect(world.sent.dropFirst(2).contains { $0.says(.a) && !$0.says(.aaaa) })
        #expect(!world.sent.contains { $0.isProbe })
        _ = world.takeSent()
        world.plug(0, 0, one)
        world.run(.milliseconds(100))
        #expect(world.sent.isEmpty)
    }

    @Test func `an interface that changed its network counts as new`() throws {
        var world = DiscoveryWorld()
        try world.join(0)
        let peers = [try world.join(0), try world.join(1)]
        for peer in peers { world.announce(peer, "peer \(peer)") }
        world.browse(0)
        world.announce(0, "phone")
        world.run(.seconds(5))
        #expect(world.names(found: 0) == ["peer 1"])
        _ = world.takeSent()
        world.plug(0, 1, DiscoveryWorld.interface(1, network: 1, host: 1))
        #expect(world.names(found: 0).isEmpty)
        world.run(.seconds(3))
        #expect(world.names(found: 0) == ["peer 2"])
        #expect(world.sent.filter { $0.core == 0 && $0.isProbe }.count == 3)
    }

    @Test func `a service heard on two interfaces is one with the addresses of both`() throws {
        var world = DiscoveryWorld()
        try world.join(0, 1)
        let peer = try world.join(0, 1)
        world.browse(0)
        world.announce(peer, "phone")
        world.run(.seconds(5))
        let found = try #require(world.found(by: 0)["phone"])
        #expect(found.addresses.count == 2)
        #expect(found.addresses.map(\.interfaceIndex) == [1, 2])
    }

    @Test func `addresses of the loopback come last`() throws {
        var world = DiscoveryWorld()
        try world.join()
        var loopback = NetworkInterface(
            index: 1, name: "lo", addresses: [InterfaceAddress(ip: .v4(0x7F00_0001), prefixLength: 8)])
        loopback.isLoopback = true
        world.plug(0, 0, loopback)
        world.plug(0, 1, DiscoveryWorld.interface(2, network: 1, host: 1))
        let beside = try world.joinBeside(0)
        world.browse(0)
        world.announce(beside, "phone")
        world.run(.seconds(5))
        #expect(world.found(by: 0)["phone"]?.addresses.map(\.interfaceIndex) == [2, 1])
    }

    @Test func `interfaces past the bound are left alone`() throws {
        var world = DiscoveryWorld()
        try world.join { $0.interfaceLimit = 2 }
        world.announce(0, "phone")
        for network in 0..<5 { world.plug(0, network) }
        world.run(.seconds(5))
        #expect(Set(world.sent.map(\.packet.interfaceIndex)) == [1, 2])
    }

    // MARK: Sources

    @Test func `only packets from the link are accepted (RFC 6762 11)`() throws {
        let onLink: [IPAddress] = [DiscoveryWorld.ip(0, 200), .v4(0xA9FE_0102), .v6(0xFE80 << 48, 9)]
        let beyond: [IPAddress] = [
            .v4(0x0808_0808), DiscoveryWorld.ip(1, 200), DiscoveryWorld.ip(0, 255), .v4(0), .v4(0x7F00_0001),
            .v6(0x2001_0DB8 << 32, 1),
        ]
        for (sources, isHeard) in [(onLink, true), (beyond, false)] {
            for source in sources {
                var world = try AnnouncingTests.settled(families: [.v4, .v6])
                world.say(query(DNSQuestion(instanceName("phone"), .srv)), from: source)
                #expect(world.sent.isEmpty != isHeard, "\(source)")
                #expect(world.cores[0].statistics.foreign == (isHeard ? 0 : 1))
                world.browse(0)
                world.say(wholeService("one", ip: source), from: source)
                #expect(world.names(found: 0).isEmpty != isHeard)
            }
        }
    }

    @Test func `answers come from port 5353 (RFC 6762 6), questions from any but 0`() throws {
        var world = try AnnouncingTests.settled()
        world.browse(0)
        world.say(wholeService("one", ip: DiscoveryWorld.ip(0, 200)), port: 5354)
        world.say(query(DNSQuestion(typeName, .ptr)), port: 0)
        #expect(world.names(found: 0).isEmpty)
        #expect(world.cores[0].statistics.foreign == 2)
    }

    @Test func `other operations and response codes are ignored (RFC 6762 18.3, 18.11)`() throws {
        var world = try AnnouncingTests.settled()
        world.browse(0)
        for bits: UInt16 in [0x0800, 0x7800, 0x0001, 0x000F] {
            var asked = query(DNSQuestion(instanceName("phone"), .srv))
            asked.flags = DNSFlags(rawValue: bits)
            world.say(asked)
            var answered = wholeService("one", ip: DiscoveryWorld.ip(0, 200))
            answered.flags.formUnion(DNSFlags(rawValue: bits))
            world.say(answered)
        }
        #expect(world.sent.isEmpty)
        #expect(world.names(found: 0).isEmpty)
        #expect(world.cores[0].statistics.foreign == 8)
    }

    @Test func `prefixes are compared to the bit`() {
        for length in 0...32 {
            let address = InterfaceAddress(ip: .v4(0xC0A8_0150), prefixLength: length)
            let interface = NetworkInterface(index: 1, name: "e", addresses: [address])
            #expect(interface.isOnLink(.v4(0xC0A8_0150)))
            if length > 0 { #expect(!interface.isOnLink(.v4(0xC0A8_0150 ^ 1 << UInt32(32 - length)))) }
            if length < 31 { #expect(interface.isOnLink(.v4(0xC0A8_0150 ^ 1 << UInt32(31 - length)))) }
        }
        for length in 0...128 {
            let address = InterfaceAddress(ip: .v6(0x2001_0DB8_0000_0000, 0x1234), prefixLength: length)
            let interface = NetworkInterface(index: 1, name: "e", addresses: [address])
            #expect(interface.isOnLink(address.ip))
            func flipped(_ bit: Int) -> IPAddress {
                bit < 64
                    ? .v6(0x2001_0DB8_0000_0000 ^ 1 << UInt64(63 - bit), 0x1234)
                    : .v6(0x2001_0DB8_0000_0000, 0x1234 ^ 1 << UInt64(127 - bit))
            }
            if length > 0 { #expect(!interface.isOnLink(flipped(length - 1))) }
            if length < 128 { #expect(interface.isOnLink(flipped(length))) }
        }
        #expect(InterfaceAddress(ip: .v4(0), prefixLength: .max).prefixLength == 32)
        #expect(InterfaceAddress(ip: .v4(0), prefixLength: .min).prefixLength == 0)
    }
}
