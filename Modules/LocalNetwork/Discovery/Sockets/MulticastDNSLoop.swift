import MeshBase

/// Runs a `MulticastDNSCore`: passes it packets, interfaces and the time, and carries out its directives.
final class MulticastDNSLoop: DiscoveryLoop {
    private struct SocketKey: Hashable {
        var interfaceIndex: UInt32
        var family: IPAddress.Family
    }

    /// Maximum number of packets read from one socket in one turn.
    private static let packetsMax = 16
    private static let packetBytesMax = 9000

    private let options: MulticastDNSOptions
    private let observer: any ServiceObserver
    private let tally: Locked<DiscoveryStatistics>
    private let began = SuspendingClock.now

    private var core: MulticastDNSCore
    private var interfaces: [UInt32: NetworkInterface] = [:]
    private var sockets: [SocketKey: MulticastSocket] = [:]
    private var buffer = [UInt8](repeating: 0, count: packetBytesMax)
    private var checkAt = Duration.zero
    private var wakeAt: Duration?

    init(
        _ core: MulticastDNSCore, _ options: MulticastDNSOptions, _ observer: any ServiceObserver,
        _ tally: Locked<DiscoveryStatistics>
    ) {
        self.core = core
        self.options = options
        self.observer = observer
        self.tally = tally
        self.core.browse(.zero)
    }

    func announce(_ announcement: ServiceAnnouncement?) { core.announce(announcement, now) }

    func advance() -> Bool {
        if checkAt <= now {
            checkInterfaces()
            checkAt = now + options.interfaceCheck
        }
        core.tick(now)
        perform()
        return true
    }

    var sources: [DiscoverySource] {
        sockets.map { key, socket in
            DiscoverySource(descriptor: socket.descriptor) { [self] in receive(from: socket, key) }
        }
    }

    var nextDue: SuspendingClock.Instant? { began + min(checkAt, wakeAt ?? checkAt) }

    func end() {
        core.shutDown(now)
        perform()
        sockets = [:]
    }

    private var now: Duration { began.duration(to: .now) }

    private func perform() {
        let directives = core.takeDirectives()
        for packet in directives.packets { send(packet) }
        tally.withLock { $0 = core.statistics }
        wakeAt = directives.wakeAt
        for event in directives.events {
            switch event {
            case .found(let service): observer.found(service)
            case .lost(let instance): observer.lost(instance: instance)
            case .renamed(let instance): observer.renamed(to: instance)
            }
        }
    }
}

// MARK: - Packets

extension MulticastDNSLoop {
    private func send(_ packet: MulticastDNSPacket) {
        let family: IPAddress.Family
        let (ip, port): (IPAddress, UInt16)
        switch packet.destination {
        case .multicast(let group): (family, ip, port) = (group, MulticastSocket.group(group), options.port)
        case .unicast(let to, let toPort): (family, ip, port) = (to.family, to, toPort)
        }
        // Ignore errors: packets can be lost on any network. If an IP version doesn't work on an interface, such as
        // IPv6 on Linux's loopback interface, other responders don't use it there either.
        try? sockets[SocketKey(interfaceIndex: packet.interfaceIndex, family: family)]?
            .send(packet.bytes, to: ip, port: port, scope: packet.interfaceIndex)
    }

    private func receive(from socket: MulticastSocket, _ key: SocketKey) {
        for _ in 0..<Self.packetsMax {
            do throws(DiscoveryError) {
                guard let packet = try socket.receive(into: &buffer) else { return }
                handle(packet, receivedOn: key.interfaceIndex)
            } catch {
                // The next check of the interfaces opens a new socket.
                sockets[key] = nil
                return
            }
        }
    }

    private func handle(_ packet: MulticastSocket.Packet, receivedOn socketIndex: UInt32) {
        let interfaceIndex = packet.arrival?.interfaceIndex ?? socketIndex
        let wasMulticast = packet.arrival?.destination.isGroup ?? true
        // An IPv6 socket also gets group packets from other interfaces, which have their own sockets.
        if wasMulticast, interfaceIndex != socketIndex { return }
        let source = MulticastDNSSource(
            ip: packet.source, port: packet.port, interfaceIndex: interfaceIndex, wasMulticast: wasMulticast)
        buffer.withUnsafeBytes {
            core.receive(UnsafeRawBufferPointer(rebasing: $0.prefix(packet.count)), from: source, now)
        }
    }
}

// MARK: - Interfaces

extension MulticastDNSLoop {
    private func checkInterfaces() {
        // If the interfaces can't be listed now, the next check tries again.
        guard let all = try? NetworkInterfaces.all() else { return }
        let usable = NetworkInterfaces.usable(all, names: options.interfaces)
        for index in interfaces.keys.sorted() where !usable.contains(where: { $0.interface.index == index }) {
            drop(index)
        }
        for entry in usable {
            let isNew = interfaces[entry.interface.index] == nil
            if isNew, interfaces.count >= options.configuration.interfaceLimit { continue }
            openMissingSockets(entry)
            adopt(entry.interface)
        }
    }

    /// Passes the interface to the core, if a socket for it is open.
    private func adopt(_ interface: NetworkInterface) {
        let hasSocket = sockets.keys.contains { $0.interfaceIndex == interface.index }
        guard hasSocket, interfaces[interface.index] != interface else { return }
        interfaces[interface.index] = interface
        core.interfaceUp(interface, now)
    }

    private func drop(_ index: UInt32) {
        interfaces[index] = nil
        for family in IPAddress.Family.allCases { sockets[SocketKey(interfaceIndex: index, family: family)] = nil }
        core.interfaceDown(index, now)
    }

    private func openMissingSockets(_ entry: NetworkInterfaces.Entry) {
        let interface = entry.interface
        for family in Set(interface.addresses.map(\.ip.family)) {
            let key = SocketKey(interfaceIndex: interface.index, family: family)
            // IPv6 has no multicast route on an interface that isn't marked as carrying multicast.
            guard sockets[key] == nil, family == .v4 || entry.carriesMulticast else { continue }
            // If this fails, the next check tries again.
            sockets[key] = try? MulticastSocket(on: interface, family, port: options.port)
        }
    }
}
