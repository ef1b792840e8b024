#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The network interfaces of this machine.
package enum NetworkInterfaces {
    /// An interface and its capabilities.
    package struct Entry: Hashable, Sendable {
        /// The interface's number, name and addresses.
        package var interface: NetworkInterface
        /// True if the interface is switched on and connected.
        package var isUp: Bool
        /// True if the interface accepts multicast packets.
        package var carriesMulticast: Bool
        /// True if the interface leads to a single other host, as a tunnel does.
        package var isPointToPoint: Bool

        /// Creates an entry. By default the interface is up and carries multicast.
        package init(
            _ interface: NetworkInterface, isUp: Bool = true, carriesMulticast: Bool = true,
            isPointToPoint: Bool = false
        ) {
            self.interface = interface
            self.isUp = isUp
            self.carriesMulticast = carriesMulticast
            self.isPointToPoint = isPointToPoint
        }
    }

    /// Returns all interfaces that the system lists, sorted by number. Asks the kernel and doesn't block.
    /// - Throws: `DiscoveryError` with `systemCallFailed`.
    package static func all() throws(DiscoveryError) -> [Entry] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { throw DiscoveryError(call: "getifaddrs", errno) }
        defer { freeifaddrs(first) }
        var entries: [String: Entry] = [:]
        var next = first
        while let record = next?.pointee {
            next = record.ifa_next
            guard let cName = record.ifa_name else { continue }
            let name = String(cString: cName)
            var entry = entries[name] ?? makeEntry(name, flags: Int(record.ifa_flags))
            if let address = InterfaceAddress(record) { entry.interface.addresses.append(address) }
            entries[name] = entry
        }
        return entries.values.filter { $0.interface.index > 0 }.sorted { $0.interface.index < $1.interface.index }
    }

    /// Returns the interfaces for multicast DNS: those that are up, have an address and are among `names`. Without
    /// names it returns those that carry multicast and aren't point-to-point. If there are none, it returns the
    /// loopback interface: on Linux that carries multicast, although its flags don't say so.
    package static func usable(_ entries: [Entry], names: Set<String>? = nil) -> [Entry] {
        let alive = entries.filter { $0.isUp && !$0.interface.addresses.isEmpty }
        if let names { return alive.filter { names.contains($0.interface.name) } }
        let outward = alive.filter { $0.carriesMulticast && !$0.isPointToPoint && !$0.interface.isLoopback }
        return outward.isEmpty ? alive.filter(\.interface.isLoopback) : outward
    }

    private static func makeEntry(_ name: String, flags: Int) -> Entry {
        func has(_ flag: some BinaryInteger) -> Bool { flags & Int(flag) != 0 }
        let interface = NetworkInterface(
            index: if_nametoindex(name), name: name, addresses: [], isLoopback: has(IFF_LOOPBACK))
        return Entry(
            interface, isUp: has(IFF_UP) && has(IFF_RUNNING), carriesMulticast: has(IFF_MULTICAST),
            isPointToPoint: has(IFF_POINTOPOINT))
    }
}

extension InterfaceAddress {
    /// Returns nil if the address isn't IPv4 or IPv6.
    fileprivate init?(_ record: ifaddrs) {
        guard let address = record.ifa_addr, let ip = IPAddress(address) else { return nil }
        // Some tunnels have no mask.
        let mask = record.ifa_netmask.flatMap { IPAddress($0, family: address.pointee.sa_family) }
        let prefixLength = mask.map { $0.bytes.reduce(0) { $0 + $1.nonzeroBitCount } }
        self.init(ip: ip, prefixLength: prefixLength ?? ip.bytes.count * 8)
    }
}

extension IPAddress {
    /// - Parameter family: The family to read the address as, because a mask may not contain it; nil to use the
    ///   address's own.
    init?(_ address: UnsafePointer<sockaddr>, family: sa_family_t? = nil) {
        let start = UnsafeRawPointer(address)
        switch Int32(family ?? address.pointee.sa_family) {
        case AF_INET:
            let field = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 0
            self.init(bytes: UnsafeRawBufferPointer(start: start + field, count: 4))
        case AF_INET6:
            let field = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 0
            self.init(bytes: UnsafeRawBufferPointer(start: start + field, count: 16))
        default: return nil
        }
    }
}
