import Testing

@testable import MeshDiscovery

struct NetworkInterfacesTests {
    @Test("the loopback interface of this machine is listed with its address and prefix") func loopback() throws {
        let entry = try #require(NetworkInterfaces.all().first { $0.interface.name == DiscoveryBackend.loopback })
        #expect(entry.interface.isLoopback && entry.isUp && entry.interface.index > 0)
        #expect(entry.interface.addresses.contains(InterfaceAddress(ip: .v4(0x7F00_0001), prefixLength: 8)))
    }

    @Test("interfaces are listed once each, in order") func order() throws {
        let indexes = try NetworkInterfaces.all().map(\.interface.index)
        #expect(indexes == Set(indexes).sorted())
    }

    @Test("active multicast interfaces that aren't point-to-point are used; loopback only without them")
    func usable() {
        let lo = Self.entry("lo", isLoopback: true)
        let eth = Self.entry("eth0")
        let down = NetworkInterfaces.Entry(eth.interface, isUp: false)
        let mute = NetworkInterfaces.Entry(eth.interface, carriesMulticast: false)
        let tunnel = NetworkInterfaces.Entry(eth.interface, isPointToPoint: true)
        let bare = Self.entry("eth1", hasAddress: false)
        #expect(NetworkInterfaces.usable([lo, eth]) == [eth])
        for useless in [down, mute, tunnel, bare] { #expect(NetworkInterfaces.usable([lo, useless]) == [lo]) }
        #expect(NetworkInterfaces.usable([bare, down]) == [])
    }

    @Test("an interface named by the caller is used if it is up") func named() {
        let lo = Self.entry("lo", isLoopback: true)
        let tunnel = NetworkInterfaces.Entry(Self.entry("tun0").interface, isPointToPoint: true)
        #expect(NetworkInterfaces.usable([lo, tunnel], names: ["lo"]) == [lo])
        #expect(NetworkInterfaces.usable([lo, tunnel], names: ["lo", "tun0"]) == [lo, tunnel])
        #expect(NetworkInterfaces.usable([lo, tunnel], names: ["eth0"]) == [])
    }

    @Test("a discovery on a nonexistent interface doesn't start") func unknownName() {
        let discovery = MulticastDNS(options: MulticastDNSOptions(interfaces: ["nowhere0"]))
        #expect { try discovery.start(DiscoveryRecorder()) } throws: {
            ($0 as? DiscoveryError)?.code == .noInterface
        }
    }

    private static func entry(
        _ name: String, isLoopback: Bool = false, hasAddress: Bool = true
    ) -> NetworkInterfaces.Entry {
        let addresses = hasAddress ? [InterfaceAddress(ip: .v4(0x0A00_0001), prefixLength: 24)] : []
        return NetworkInterfaces.Entry(
            NetworkInterface(index: 1, name: name, addresses: addresses, isLoopback: isLoopback))
    }
}
