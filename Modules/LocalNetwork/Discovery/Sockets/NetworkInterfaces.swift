#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The networks that this machine is on.
package enum NetworkInterfaces {
    /// One of them and what it is good for.
    package struct Entry: Hashable, Sendable {
        /// Its number, name and addresses.
        package var interface: NetworkInterface
        /// Switched on, and connected.
        package var isUp: Bool
        /// Whether it takes packets to a group.
        package var carriesMulticast: Bool
        /// There is one other side only, as with a tunnel.
        package var isPointToPoint: Bool

        /// An interface that is up and carries multicast, unless told otherwise.
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

    /// All that the system knows, in the order of their numbers. Asks the kernel and does not wait.
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

    /// Which of them multicast DNS should use: those that are up, have an address and are asked for by name; without
    /// names those that carry multicast and lead to more than one other side; and where there is none, the loopback
    /// interface, which does not claim to carry multicast on Linux but does.
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
    /// nil for what is no address of the Internet Protocol.
    fileprivate init?(_ record: ifaddrs) {
        guard let address = record.ifa_addr, let ip = IPAddress(address) else { return nil }
        // Some tunnels have no mask.
        let mask = record.ifa_netmask.flatMap { IPAddress($0, family: address.pointee.sa_family) }
        let prefixLength = mask.map { $0.bytes.reduce(0) { $0 + $1.nonzeroBitCount } }
        self.init(ip: ip, prefixLength: prefixLength ?? ip.bytes.count * 8)
    }
}

extension IPAddress {
    /// - Parameter family: the one to read it as; a mask does not always say. nil takes what is there.
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
