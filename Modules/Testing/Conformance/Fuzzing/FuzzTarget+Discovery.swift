import MeshDiscovery

extension FuzzTarget {
    /// A target for packets of multicast DNS. A decoded message must survive a round trip. A core that announces and
    /// browses receives the packet from two ports, and must stay within its bounds. Then it receives the packet from
    /// extreme addresses at extreme times, and must forget the packet's services after a long silence.
    static var dns: FuzzTarget {
        FuzzTarget("dns") { input in
            if let message = try? DNSMessage(input), let written = write(message) {
                try require((try? DNSMessage(written)) == message, "a message survives a round trip")
            }
            guard let settled else { return }
            var receiver = Receiver(core: settled, now: .seconds(60))
            for port: UInt16 in [5353, 5353, 40000] {
                try receiver.receive(
                    input, from: MulticastDNSSource(ip: .v4(0x0A00_0002), port: port, interfaceIndex: 1))
                try receiver.wait(.seconds(2))
            }
            try receiveAtExtremes(input, &receiver)
        }
    }

    /// Receives the packet from extreme addresses at extreme times, followed by hours of silence.
    private static func receiveAtExtremes(_ input: UnsafeRawBufferPointer, _ receiver: inout Receiver) throws {
        let sources: [(Duration, IPAddress, UInt16, UInt32)] = [
            (.zero, .v4(0), 0, 1), (.nanoseconds(1), .v4(.max), .max, .max), (.seconds(1), .v6(.max, .max), 5353, 1),
            (.seconds(1 << 31), .v6(0xFE80 << 48, 1), 1, 1), (.seconds(1 << 33), .v4(0x0A00_0002), 5353, 1),
        ]
        for (pause, ip, port, index) in sources {
            receiver.now += pause
            try receiver.receive(input, from: MulticastDNSSource(ip: ip, port: port, interfaceIndex: index))
        }
        for _ in 0..<16 { try receiver.wait(.seconds(1200)) }
        try require(receiver.known.isEmpty, "a service that isn't announced again is forgotten")
    }

    /// A core, and the services that it has reported.
    private struct Receiver {
        var core: MulticastDNSCore
        var now: Duration
        var known: Set<String> = []

        mutating func receive(_ packet: UnsafeRawBufferPointer, from source: MulticastDNSSource) throws {
            core.receive(packet, from: source, now)
            try check(core.takeDirectives())
        }

        mutating func wait(_ duration: Duration) throws {
            now += duration
            core.tick(now)
            let directives = core.takeDirectives()
            try require(directives.wakeAt.map { $0 > now } ?? true, "no due work is left")
            try check(directives)
        }

        private mutating func check(_ directives: MulticastDNSDirectives) throws {
            try require(directives.packets.count <= 64, "a packet or a tick causes few packets")
            try require(
                directives.packets.allSatisfy { (try? DNSMessage($0.bytes)) != nil }, "a sent packet can be decoded")
            try require(directives.wakeAt.map { $0 - now <= .seconds(4500) } ?? true, "no work is postponed for long")
            for event in directives.events {
                switch event {
                case .found(let service):
                    try require(service.addresses.count <= 32, "a service has few addresses")
                    known.insert(service.instance)
                case .lost(let instance): known.remove(instance)
                case .renamed: break
                }
            }
        }
    }

    /// A core that has announced "a" as `h.local` and is browsing.
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

    /// Encodes a message. Returns nil if it is too large, which compression pointers can cause.
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
