import MeshBase

/// Multicast DNS service discovery, responder and browser, as a value: packets, interfaces and wishes go in, each with a
/// time; packets to send and what was found come out. No I/O and no clock; randomness comes from the seed.
///
/// Every call does what is due by then, so that what follows from it is in the next `takeDirectives()`, which is to be
/// called after each of them. Times are since any fixed moment and do not decrease.
///
/// - Records live on the interface on which they were sent or heard: an answer names the addresses of its interface, and
///   with an interface goes what was heard on it. Both families of an interface are served, each with its own timing.
/// - A name that somebody else has is given up for another: the instance gets a number, the host a new label.
/// - Bounds: `MulticastDNSConfiguration`, `RecordCache`, `AnswerQueue`, `EchoMemory`. A call costs O(bytes) and, when a
///   record is found, forgotten or refreshed, O(records of the interface).
///
/// Left out of RFC 6762: passive observation of failures (section 10.5) and reverse mapping of addresses, both optional.
///
/// Sources: RFC 6762 (multicast DNS), RFC 6763 (service discovery).
package struct MulticastDNSCore: Sendable {
    let names: ServiceNames
    let configuration: MulticastDNSConfiguration
    var random: SplitMix64
    var now = Duration.zero
    /// By index.
    var interfaces: [InterfaceState] = []
    /// As asked for; its instance may have got another name since.
    var announcement: ServiceAnnouncement?
    /// What is announced or about to be.
    var own: OwnRecords?
    var host: DNSName
    /// Names of this instance before: nobody is found under them for a while, in which others may still repeat them.
    var formerInstances: [(name: DNSName, until: Duration)] = []
    /// The last of those that slow down probing (RFC 6762 section 8.1).
    var conflictTimes: [Duration] = []
    var isBrowsing = false
    var isOver = false
    var echoes = EchoMemory()
    /// What has been told to whoever looks for services.
    var told: [DNSName: FoundService] = [:]
    /// Instances of which something has changed, in that order.
    var changed: [DNSName] = []
    var directives = MulticastDNSDirectives()
    /// What has happened so far.
    package internal(set) var statistics = DiscoveryStatistics()

    /// - Throws: `DiscoveryError` with `invalidName` when the type is no type of services, or the host no label.
    package init(
        type: ServiceType, configuration: MulticastDNSConfiguration = .init(), seed: UInt64
    ) throws(DiscoveryError) {
        self.names = try ServiceNames(type)
        self.configuration = configuration
        random = SplitMix64(seed: seed)
        let label = configuration.host.map { Array($0.utf8) } ?? Self.randomLabel(&random)
        guard let host = try? names.domain.prefixed(by: label) else {
            throw DiscoveryError(.invalidName, "\(configuration.host ?? "") is no label of a host")
        }
        self.host = host
    }

    /// What is to be done since the last time.
    package mutating func takeDirectives() -> MulticastDNSDirectives {
        defer { directives = MulticastDNSDirectives() }
        directives.wakeAt = interfaces.compactMap(\.nextDue).min()
        return directives
    }

    /// Does what is due.
    package mutating func tick(_ now: Duration) {
        self.now = max(self.now, now)
        for index in interfaces.indices {
            advanceClaim(index)
            sendAnswers(index)
            advanceCache(index)
            sendQuestions(index)
        }
        tellChanges()
    }

    static func randomLabel(_ random: inout SplitMix64) -> [UInt8] {
        Array(String(random.next() | 1 << 63, radix: 36).utf8)
    }
}

// MARK: - Interfaces

extension MulticastDNSCore {
    /// There is a new interface, or the addresses of one have changed. Names are probed for and services looked for on
    /// what is new; changed addresses are announced. An interface that shares no network with what it was is a new one.
    /// At most `interfaceLimit` of them, and 16 addresses on each, count.
    package mutating func interfaceUp(_ interface: NetworkInterface, _ now: Duration) {
        guard !isOver else { return }
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

    /// It is gone, and so is what was heard on it.
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
        // The new ones displace the old ones, if there are any of that family (RFC 6762 section 10.2).
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
    /// To the group, in each family of the interface or in one.
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

    /// Between these many milliseconds.
    mutating func randomDelay(_ range: ClosedRange<UInt64>) -> Duration {
        .microseconds(Int64(range.lowerBound * 1000 + random.upTo((range.upperBound - range.lowerBound) * 1000)))
    }
}
