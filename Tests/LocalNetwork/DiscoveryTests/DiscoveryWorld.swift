import MeshBase
import Testing

@testable import MeshDiscovery

/// Cores on networks that lose, delay, reorder and duplicate packets, on one thread and in virtual time, from one seed.
struct DiscoveryWorld {
    struct Conditions {
        var lossRate = 0.0
        var duplicationRate = 0.0
        /// Delay in microseconds. A wide range reorders packets.
        var delay: ClosedRange<UInt64> = 100...1000
        /// True if a sender also receives its own multicast packets.
        var loopsBack = true
    }

    struct Sent {
        let at: Duration
        let core: Int
        let packet: MulticastDNSPacket
        let message: DNSMessage

        var isToGroup: Bool { packet.destination == .multicast(.v4) || packet.destination == .multicast(.v6) }
        var isResponse: Bool { message.flags.contains(.response) }
        var isProbe: Bool { !isResponse && !message.authorities.isEmpty }
        var records: [DNSRecord] { message.answers + message.additionals }
        func says(_ type: DNSType) -> Bool { message.answers.contains { $0.type == type } }
        func asks(_ type: DNSType) -> Bool { message.questions.contains { $0.type == type } }
    }

    private struct Arrival {
        let at: Duration
        let core: Int
        let bytes: [UInt8]
        let source: MulticastDNSSource
    }

    let seed: UInt64
    var conditions: Conditions
    private(set) var random: SplitMix64
    private(set) var now = Duration.seconds(1000)
    var cores: [MulticastDNSCore] = []
    /// The interfaces of each core, and the network of each interface.
    private var interfaces: [[(network: Int, interface: NetworkInterface)]] = []
    private var arrivals: [Arrival] = []
    private var wakes: [Duration?] = []
    private(set) var sent: [Sent] = []
    private(set) var events: [[(at: Duration, event: MulticastDNSEvent)]] = []

    init(seed: UInt64 = 1, _ conditions: Conditions = Conditions()) {
        self.seed = seed
        self.conditions = conditions
        random = SplitMix64(seed: seed)
    }

    // MARK: Members

    /// Adds a core on the given networks, with a separate address on each.
    @discardableResult
    mutating func join(
        _ networks: Int..., families: [IPAddress.Family] = [.v4],
        change: (inout MulticastDNSConfiguration) -> Void = { _ in }
    ) throws -> Int {
        var configuration = MulticastDNSConfiguration()
        change(&configuration)
        let index = cores.count
        cores.append(try MulticastDNSCore(type: .sessionMesh, configuration: configuration, seed: random.next()))
        interfaces.append([])
        events.append([])
        wakes.append(nil)
        for network in networks { plug(index, network, families: families) }
        return index
    }

    /// Adds another process on the machine of that core.
    @discardableResult
    mutating func joinBeside(_ other: Int) throws -> Int {
        let index = try join()
        for (network, interface) in interfaces[other] { plug(index, network, interface) }
        return index
    }

    mutating func plug(_ core: Int, _ network: Int, families: [IPAddress.Family] = [.v4]) {
        let number = interfaces[core].count + 1
        let host = core * 8 + number
        plug(core, network, Self.interface(UInt32(number), network: network, host: host, families: families))
    }

    mutating func plug(_ core: Int, _ network: Int, _ interface: NetworkInterface) {
        interfaces[core].removeAll { $0.interface.index == interface.index }
        interfaces[core].append((network, interface))
        cores[core].interfaceUp(interface, now)
        collect(core)
    }

    mutating func unplug(_ core: Int, _ network: Int) {
        for (_, interface) in interfaces[core].filter({ $0.network == network }) {
            cores[core].interfaceDown(interface.index, now)
        }
        interfaces[core].removeAll { $0.network == network }
        collect(core)
    }

    func interface(_ core: Int, on network: Int = 0) -> NetworkInterface {
        interfaces[core].first { $0.network == network }!.interface
    }

    /// An interface with the addresses 10.0.NETWORK.HOST and fe80::HOST.
    static func interface(
        _ index: UInt32, network: Int, host: Int, families: [IPAddress.Family] = [.v4]
    ) -> NetworkInterface {
        var addresses: [InterfaceAddress] = []
        if families.contains(.v4) { addresses.append(InterfaceAddress(ip: ip(network, host), prefixLength: 24)) }
        if families.contains(.v6) {
            addresses.append(InterfaceAddress(ip: .v6(0xFE80 << 48, UInt64(host)), prefixLength: 64))
        }
        return NetworkInterface(index: index, name: "en\(index)", addresses: addresses)
    }

    static func ip(_ network: Int, _ host: Int) -> IPAddress { .v4(10 << 24 | UInt32(network) << 8 | UInt32(host)) }

    // MARK: Wishes

    mutating func announce(_ core: Int, _ announcement: ServiceAnnouncement?) {
        cores[core].announce(announcement, now)
        collect(core)
    }

    mutating func announce(_ core: Int, _ instance: String, port: UInt16 = 4000) {
        announce(core, ServiceAnnouncement(instance: instance, port: port, attributes: [ServiceAttribute("v", "1")]))
    }

    mutating func browse(_ core: Int) {
        cores[core].browse(now)
        collect(core)
    }

    mutating func shutDown(_ core: Int) {
        cores[core].shutDown(now)
        collect(core)
    }

    // MARK: Time

    /// Runs everything that happens within `duration`.
    mutating func run(_ duration: Duration) {
        let end = now + duration
        while let next = nextTime(), next <= end {
            now = max(now, next)
            for index in cores.indices {
                if let wake = wakes[index], wake <= now {
                    cores[index].tick(now)
                    collect(index)
                    #expect(
                        wakes[index].map { $0 > now } ?? true, "a ticked core still has work due; seed \(seed)")
                }
            }
            while let first = arrivals.first, first.at <= now {
                arrivals.removeFirst()
                deliver(first.bytes, to: first.core, from: first.source)
            }
        }
        now = end
    }

    private func nextTime() -> Duration? { (wakes.compactMap { $0 } + arrivals.prefix(1).map(\.at)).min() }

    // MARK: Packets

    mutating func deliver(_ bytes: [UInt8], to core: Int, from source: MulticastDNSSource) {
        bytes.withUnsafeBytes { cores[core].receive($0, from: source, now) }
        collect(core)
    }

    /// Multicasts a packet on the network now, by default from 10.0.NETWORK.200.
    mutating func say(_ bytes: [UInt8], network: Int = 0, from ip: IPAddress? = nil, port: UInt16 = 5353) {
        let ip = ip ?? Self.ip(network, 200)
        for core in cores.indices {
            for (place, interface) in interfaces[core] where place == network {
                deliver(bytes, to: core, from: MulticastDNSSource(ip: ip, port: port, interfaceIndex: interface.index))
            }
        }
    }

    mutating func say(_ message: DNSMessage, network: Int = 0, from ip: IPAddress? = nil, port: UInt16 = 5353) {
        say(bytes(of: message), network: network, from: ip, port: port)
    }

    /// Returns the packets sent since the last call, and clears them.
    mutating func takeSent() -> [Sent] {
        defer { sent = [] }
        return sent
    }

    private mutating func collect(_ core: Int) {
        let directives = cores[core].takeDirectives()
        wakes[core] = directives.wakeAt
        events[core] += directives.events.map { (now, $0) }
        for packet in directives.packets {
            guard let message = try? DNSMessage(packet.bytes) else {
                Issue.record("a sent packet can't be read; seed \(seed)")
                continue
            }
            sent.append(Sent(at: now, core: core, packet: packet, message: message))
            transmit(packet, from: core)
        }
    }

    private mutating func transmit(_ packet: MulticastDNSPacket, from core: Int) {
        guard let (network, interface) = interfaces[core].first(where: { $0.interface.index == packet.interfaceIndex })
        else { return }
        for other in cores.indices {
            for (place, receiver) in interfaces[other] where place == network {
                var source = MulticastDNSSource(ip: Self.ip(0, 0), port: 5353, interfaceIndex: receiver.index)
                let family: IPAddress.Family
                switch packet.destination {
                case .multicast(let group): family = group
                case .unicast(let ip, _):
                    guard receiver.addresses.contains(where: { $0.ip == ip }) else { continue }
                    (family, source.wasMulticast) = (ip.family, false)
                }
                guard let ip = interface.addresses.first(where: { $0.ip.family == family })?.ip,
                    receiver.addresses.contains(where: { $0.ip.family == family })
                else { continue }
                source.ip = ip
                if core == other, interface.index == receiver.index, !conditions.loopsBack { continue }
                enter(packet.bytes, to: other, source, isOwn: core == other)
            }
        }
    }

    private mutating func enter(_ bytes: [UInt8], to core: Int, _ source: MulticastDNSSource, isOwn: Bool) {
        if !isOwn, random.happens(rate: conditions.lossRate) { return }
        let copies = random.happens(rate: conditions.duplicationRate) && !isOwn ? 2 : 1
        for _ in 0..<copies {
            let range = conditions.delay
            let delay = range.lowerBound + random.upTo(range.upperBound - range.lowerBound)
            let at = now + .microseconds(Int64(isOwn ? range.lowerBound : delay))
            let place = arrivals.firstIndex { $0.at > at } ?? arrivals.count
            arrivals.insert(Arrival(at: at, core: core, bytes: bytes, source: source), at: place)
        }
    }

    // MARK: Reading

    /// The services that a core has found and not lost.
    func found(by core: Int) -> [String: FoundService] {
        var found: [String: FoundService] = [:]
        for (_, event) in events[core] {
            switch event {
            case .found(let service): found[service.instance] = service
            case .lost(let instance): found[instance] = nil
            case .renamed: break
            }
        }
        return found
    }

    func names(found core: Int) -> [String] { found(by: core).keys.sorted() }

    func renames(_ core: Int) -> [String] {
        events[core].compactMap { if case .renamed(let name) = $0.event { name } else { nil } }
    }

    func instance(_ core: Int) -> String? {
        cores[core].own.map { String(decoding: $0.instance.firstLabel, as: UTF8.self) }
    }
}
