import MeshBase

// Multicast DNS (RFC 6762) with service discovery (RFC 6763). Terms in this folder:
// - record set: all records of one name and type. A responder sends them together or not at all.
// - claim: the progress of our names on one interface: probing, announcing, established.
// - probe: a question for a name that we want. It is sent three times before we use the name.
// - goodbye: a record with lifetime zero. It tells other hosts to forget the record.
// - known answer: a record that a querier lists with its question, so that responders don't repeat it.
// - legacy querier: a conventional DNS resolver. It asks from a port other than 5353.
// - echo: a packet of ours that came back.
// Not implemented: passive observation of failures (section 10.5) and reverse mapping of addresses, both optional.

/// A multicast DNS responder and browser, as a value without I/O, clock or threads.
///
/// Packets, interfaces and requests go in, each with a time. Every call also does what is due by that time. After every
/// call, the caller gets packets to send and events from `takeDirectives()`. Times count from any fixed moment and
/// never decrease. Randomness comes from the seed.
///
/// - Records belong to the interface on which they were sent or heard. An answer lists the addresses of its interface.
///   When an interface goes away, so do the records heard on it. IPv4 and IPv6 have separate timing.
/// - If another host has one of our names, we choose another: the instance gets a number, the host a new label.
/// - Bounds: `MulticastDNSConfiguration`, `RecordCache`, `AnswerQueue`, `EchoMemory`. A call costs O(bytes). If it
///   finds, forgets or refreshes a record, it also costs O(records of the interface).
package struct MulticastDNSCore: Sendable {
    let names: ServiceNames
    let configuration: MulticastDNSConfiguration
    var random: SplitMix64
    var now = Duration.zero
    /// The interfaces in use, sorted by index.
    var interfaces: [InterfaceState] = []
    /// The requested announcement. A conflict may have renamed the instance since; `own` has its current name.
    var announcement: ServiceAnnouncement?
    /// The records that we announce, or probe for.
    var own: OwnRecords?
    var host: DNSName
    /// Earlier names of our instance, each with a time until which it isn't reported: caches may still repeat it.
    var retiredInstances: [(name: DNSName, until: Duration)] = []
    /// The times of the latest conflicts. 15 of them within 10 s slow down probing (RFC 6762 section 8.1).
    var conflictTimes: [Duration] = []
    var isBrowsing = false
    var hasEnded = false
    var echoes = EchoMemory()
    /// The services that the observer knows of, by instance.
    var reportedServices: [DNSName: FoundService] = [:]
    /// Instances whose records have changed since the last `reportChanges`, oldest first.
    var changed: [DNSName] = []
    var directives = MulticastDNSDirectives()
    /// The counters so far.
    package internal(set) var statistics = DiscoveryStatistics()

    /// - Throws: `DiscoveryError` with `invalidName` if the type isn't a service type, or the host isn't a DNS label.
    package init(
        type: ServiceType, configuration: MulticastDNSConfiguration = .init(), seed: UInt64
    ) throws(DiscoveryError) {
        self.names = try ServiceNames(type)
        self.configuration = configuration
        random = SplitMix64(seed: seed)
        let label = configuration.host.map { Array($0.utf8) } ?? Self.randomLabel(&random)
        guard let host = try? names.domain.prefixed(by: label) else {
            throw DiscoveryError(.invalidName, "'\(configuration.host ?? "")' isn't a valid host label")
        }
        self.host = host
    }

    /// Returns the packets and events since the last call, and the time of the next `tick`.
    package mutating func takeDirectives() -> MulticastDNSDirectives {
        defer { directives = MulticastDNSDirectives() }
        directives.wakeAt = interfaces.compactMap(\.nextDue).min()
        return directives
    }

    /// Does everything that is due.
    package mutating func tick(_ now: Duration) {
        self.now = max(self.now, now)
        for index in interfaces.indices {
            advanceClaim(index)
            sendAnswers(index)
            advanceCache(index)
            sendQuestions(index)
        }
        reportChanges()
    }

    static func randomLabel(_ random: inout SplitMix64) -> [UInt8] {
        Array(String(random.next() | 1 << 63, radix: 36).utf8)
    }
}

// MARK: - Interfaces

extension MulticastDNSCore {
    /// Adds an interface, or changes the addresses of one.
    ///
    /// A new interface starts probing and browsing. On a known one the new addresses are announced. An interface that
    /// shares no network with its earlier addresses is treated as new. At most `interfaceLimit` interfaces are used,
    /// and 16 addresses of each.
    package mutating func interfaceUp(_ interface: NetworkInterface, _ now: Duration) {
        guard !hasEnded else { return }
        self.now = max(self.now, now)
        var interface = interface
        interface.addresses = Array(interface.addresses.prefix(Self.addressLimit))
        if let index = place(of: interface.index) {
            let before = interfaces[index].interface
            guard before != interface else { return }
            if interface.addresses.contains(where: { before.isOnLink($0.ip) && !$0.ip.isLinkLocal })
                || before.addresses.allSatisfy(\.ip.isLinkLocal)
            {
                changeAddresses(index, interface)
            } else {
                forgetInterface(index)
                addInterface(interface)
            }
        } else {
            addInterface(interface)
        }
        tick(now)
    }

    /// Removes an interface and the records heard on it.
    package mutating func interfaceDown(_ index: UInt32, _ now: Duration) {
        self.now = max(self.now, now)
        if let place = place(of: index) { forgetInterface(place) }
        tick(now)
    }

    private static let addressLimit = 16

    func place(of index: UInt32) -> Int? { interfaces.firstIndex { $0.interface.index == index } }

    private mutating func addInterface(_ interface: NetworkInterface) {
        guard interfaces.count < configuration.interfaceLimit else { return }
        let place = interfaces.firstIndex { $0.interface.index > interface.index } ?? interfaces.count
        interfaces.insert(InterfaceState(interface, configuration), at: place)
        if own != nil { startProbing(place) }
        if isBrowsing { startBrowsing(place) }
    }

    private mutating func changeAddresses(_ index: Int, _ interface: NetworkInterface) {
        var gone = interfaces[index].interface
        gone.addresses.removeAll { interface.addresses.contains($0) }
        // In caches, new addresses replace old ones of the same family (RFC 6762 section 10.2): no goodbye needed.
        gone.addresses.removeAll { old in interface.addresses.contains { $0.ip.family == old.ip.family } }
        if interfaces[index].claim.isHeld, let own { sendGoodbye(own, .addresses, index, on: gone) }
        interfaces[index].interface = interface
        if interfaces[index].claim.isHeld { startAnnouncing(index) }
    }

    private mutating func forgetInterface(_ index: Int) {
        let pointers = interfaces[index].cache.pointers
        interfaces.remove(at: index)
        for cached in pointers { noteChanged(cached.record) }
    }
}

// MARK: - Sending

extension MulticastDNSCore {
    /// Sends packets to the multicast group, in one family or in each that the interface has.
    mutating func multicast(_ packets: [[UInt8]], _ index: Int, family: IPAddress.Family? = nil) {
        for family in interfaces[index].families.filter({ family == nil || family == $0 }) {
            for packet in packets {
                echoes.note(packet, from: interfaces[index].interface.index, family: family, now)
                send(packet, index, .multicast(family))
            }
        }
    }

    mutating func send(_ bytes: [UInt8], _ index: Int, _ destination: MulticastDNSPacket.Destination) {
        statistics.packetsSent += 1
        directives.packets.append(
            MulticastDNSPacket(
                bytes: bytes, interfaceIndex: interfaces[index].interface.index, destination: destination))
    }

    var builder: PacketBuilder { PacketBuilder(bytesMax: configuration.packetBytesMax) }

    /// Returns a random delay within the range, in milliseconds.
    mutating func randomDelay(_ range: ClosedRange<UInt64>) -> Duration {
        .microseconds(Int64(range.lowerBound * 1000 + random.upTo((range.upperBound - range.lowerBound) * 1000)))
    }
}
