#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A socket that has joined the group of multicast DNS on one interface and sends there (RFC 6762 section 3).
///
/// There is one socket per interface and IP version, because the outgoing interface is a property of the socket. Other
/// responders on this machine can use the same port, if they share it too.
final class MulticastSocket {
    static let port: UInt16 = 5353
    static let group4 = IPAddress.v4(0xE000_00FB)
    static let group6 = IPAddress.v6(0xFF02_0000_0000_0000, 0xFB)

    static func group(_ family: IPAddress.Family) -> IPAddress { family == .v4 ? group4 : group6 }

    let descriptor: Int32

    /// - Throws: `DiscoveryError` with `portTaken`, `notPermitted`, `noInterface` or `systemCallFailed`.
    convenience init(
        on interface: NetworkInterface, _ family: IPAddress.Family, port: UInt16 = port
    ) throws(DiscoveryError) {
        try self.init(boundTo: port, family)
        switch family {
        case .v4: try join4(interface)
        case .v6: try join6(interface)
        }
    }

    /// Creates a socket that is bound to the port and hasn't joined a group.
    /// - Parameter shares: True to let other sockets use the port too.
    init(boundTo port: UInt16, _ family: IPAddress.Family, shares: Bool = true) throws(DiscoveryError) {
        descriptor = systemSocket(family == .v4 ? AF_INET : AF_INET6)
        guard descriptor >= 0 else { throw DiscoveryError(call: "socket", errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        if shares {
            try set(SOL_SOCKET, SO_REUSEADDR, Int32(1), "SO_REUSEADDR")
            try set(SOL_SOCKET, SO_REUSEPORT, Int32(1), "SO_REUSEPORT")
        }
        if family == .v6 { try set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, Int32(1), "IPV6_V6ONLY") }
        let any = IPAddress(bytes: [UInt8](repeating: 0, count: family == .v4 ? 4 : 16)) ?? .v4(0)
        let status = any.withSocketAddress(port: port) { bind(descriptor, $0, $1) }
        guard status == 0 else { throw DiscoveryError(call: "bind to port \(port)", errno) }
    }

    deinit { if descriptor >= 0 { systemClose(descriptor) } }

    private func join4(_ interface: NetworkInterface) throws(DiscoveryError) {
        let level = Int32(IPPROTO_IP)
        var request = ip_mreqn()
        request.imr_multiaddr = in_addr(Self.group4)
        request.imr_ifindex = Int32(truncatingIfNeeded: interface.index)
        try set(level, IP_ADD_MEMBERSHIP, request, "IP_ADD_MEMBERSHIP on \(interface.name)")
        // On a loopback interface the kernel chooses no source address by itself.
        if let own = interface.addresses.first(where: { $0.ip.family == .v4 }) {
            request.imr_address = in_addr(own.ip)
        }
        try set(level, IP_MULTICAST_IF, request, "IP_MULTICAST_IF on \(interface.name)")
        try set(level, IP_MULTICAST_TTL, UInt8(255), "IP_MULTICAST_TTL")
        try set(level, IP_MULTICAST_LOOP, UInt8(1), "IP_MULTICAST_LOOP")
        try set(level, IP_TTL, Int32(255), "IP_TTL")
        try set(level, IP_PKTINFO, Int32(1), "IP_PKTINFO")
    }

    private func join6(_ interface: NetworkInterface) throws(DiscoveryError) {
        let level = Int32(IPPROTO_IPV6)
        var request = ipv6_mreq()
        request.ipv6mr_multiaddr = in6_addr(Self.group6)
        request.ipv6mr_interface = numericCast(interface.index)
        try set(level, IPV6_JOIN_GROUP, request, "IPV6_JOIN_GROUP on \(interface.name)")
        try set(level, IPV6_MULTICAST_IF, interface.index, "IPV6_MULTICAST_IF on \(interface.name)")
        try set(level, IPV6_MULTICAST_HOPS, Int32(255), "IPV6_MULTICAST_HOPS")
        try set(level, IPV6_MULTICAST_LOOP, Int32(1), "IPV6_MULTICAST_LOOP")
        try set(level, IPV6_UNICAST_HOPS, Int32(255), "IPV6_UNICAST_HOPS")
        try set(level, PacketInfo.request6, Int32(1), "IPV6_RECVPKTINFO")
    }

    private func set<Value>(
        _ level: Int32, _ option: Int32, _ value: Value, _ name: String
    ) throws(DiscoveryError) {
        let status = withUnsafeBytes(of: value) {
            setsockopt(descriptor, level, option, $0.baseAddress, socklen_t($0.count))
        }
        guard status == 0 else { throw DiscoveryError(call: name, errno) }
    }
}

extension IPAddress {
    /// - Parameter scope: The number of the interface to which a link-local address belongs.
    func withSocketAddress<Result>(
        port: UInt16, scope: UInt32 = 0, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        func rebound<Address>(_ address: Address) -> Result {
            withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
        return switch family {
        case .v4: rebound(sockaddr_in(self, port: port))
        case .v6: rebound(sockaddr_in6(self, port: port, scope: scope))
        }
    }
}

extension in_addr {
    init(_ ip: IPAddress) {
        self.init()
        withUnsafeMutableBytes(of: &self) { $0.copyBytes(from: ip.bytes.prefix($0.count)) }
    }
}

extension in6_addr {
    init(_ ip: IPAddress) {
        self.init()
        withUnsafeMutableBytes(of: &self) { $0.copyBytes(from: ip.bytes.prefix($0.count)) }
    }
}

extension sockaddr_in {
    init(_ ip: IPAddress, port: UInt16) {
        self.init()
        #if canImport(Darwin)
            sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
        #endif
        sin_family = sa_family_t(AF_INET)
        sin_port = port.bigEndian
        sin_addr = in_addr(ip)
    }
}

extension sockaddr_in6 {
    init(_ ip: IPAddress, port: UInt16, scope: UInt32) {
        self.init()
        #if canImport(Darwin)
            sin6_len = UInt8(MemoryLayout<sockaddr_in6>.size)
        #endif
        sin6_family = sa_family_t(AF_INET6)
        sin6_port = port.bigEndian
        sin6_addr = in6_addr(ip)
        sin6_scope_id = scope
    }
}

private func systemSocket(_ family: Int32) -> Int32 {
    #if canImport(Glibc)
        socket(family, Int32(SOCK_DGRAM.rawValue), 0)
    #else
        socket(family, Int32(SOCK_DGRAM), 0)
    #endif
}

private func systemClose(_ descriptor: Int32) { close(descriptor) }
