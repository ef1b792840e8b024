import MeshDiscovery

extension FuzzTarget {
    /// A packet of multicast DNS. Read as a message, what is understood must survive being written and read again; heard
    /// by a core that announces and looks for services, twice and from two ports, it must cost no more than its bounds.
    static var dns: FuzzTarget {
        FuzzTarget("dns") { input in
            if let message = try? DNSMessage(input), let written = write(message) {
                try require((try? DNSMessage(written)) == message, "a message survives a round trip")
            }
            guard var core = settled else { return }
            var now = Duration.seconds(60)
            for port: UInt16 in [5353, 5353, 40000] {
                let source = MulticastDNSSource(ip: .v4(0x0A00_0002), port: port, interfaceIndex: 1)
                core.receive(input, from: source, now)
                try require(core.takeDirectives().packets.count <= 64, "one packet makes few")
                now += .seconds(2)
                core.tick(now)
                let directives = core.takeDirectives()
                try require(directives.packets.count <= 64, "time makes few packets")
                try require(
                    directives.packets.allSatisfy { (try? DNSMessage($0.bytes)) != nil }, "what is sent can be read")
                try require(directives.wakeAt.map { $0 > now } ?? true, "what was due is done")
            }
        }
    }

    /// Has announced "a" as `h.local` and looks for services.
    private static let settled: MulticastDNSCore? = {
        var configuration = MulticastDNSConfiguration()
        configuration.host = "h"
        guard var core = try? MulticastDNSCore(type: .sessionMesh, configuration: configuration, seed: 1) else {
            return nil
        }
        let address = InterfaceAddress(ip: .v4(0x0A00_0001), prefixLength: 24)
        core.interfaceUp(NetworkInterface(index: 1, name: "en1", addresses: [address]), .zero)
        core.announce(ServiceAnnouncement(instance: "a", port: 4000), .zero)
        core.browse(.zero)
        while let wake = core.takeDirectives().wakeAt, wake < .seconds(30) { core.tick(wake) }
        return core
    }()

    /// Nil when it does not fit, as clever pointers make it.
    private static func write(_ message: DNSMessage) -> [UInt8]? {
        var writer = DNSWriter()
        for question in message.questions where !writer.append(question) { return nil }
        let sections: [(DNSWriter.Section, [DNSRecord])] = [
            (.answers, message.answers), (.authorities, message.authorities), (.additionals, message.additionals),
        ]
        for (section, records) in sections {
            for record in records where !writer.append(record, to: section) { return nil }
        }
        return writer.message(id: message.id, flags: message.flags)
    }
}
