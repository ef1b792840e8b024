#if UDP
    import MeshDiscovery

    /// A filter for announced addresses. It keeps those that may be on the network on which they were heard.
    ///
    /// Discovery is for one network only (RFC 6762 section 11). A host on it must not be able to make this peer dial
    /// elsewhere: its own loopback interface, a multicast group, or a host on the Internet.
    ///
    /// A value; reads the system's interfaces at most once a second.
    struct NearbyAddresses {
        private static let validity = Duration.seconds(1)

        private let list: () -> [NetworkInterface]
        private var interfaces: [NetworkInterface] = []
        private var readAt: Duration?

        init(_ list: @escaping () -> [NetworkInterface] = Self.systemInterfaces) { self.list = list }

        private static func systemInterfaces() -> [NetworkInterface] {
            ((try? NetworkInterfaces.all()) ?? []).filter(\.isUp).map(\.interface)
        }

        /// Returns the service with its nearby addresses only.
        mutating func filter(_ service: FoundService, _ now: Duration) -> FoundService {
            if readAt.map({ now - $0 >= Self.validity }) ?? true {
                (interfaces, readAt) = (list(), now)
            }
            var service = service
            service.addresses.removeAll { !isNearby($0) }
            return service
        }

        private func isNearby(_ address: ServiceAddress) -> Bool {
            // Treat an IPv4-mapped IPv6 address as the IPv4 address.
            let ip = address.ip.unmapped
            guard ip.isHost else { return false }
            let receiving = interfaces.filter { $0.index == address.interfaceIndex }
            // The loopback interface carries only packets of this machine, from any of its addresses.
            if receiving.contains(where: \.isLoopback) {
                return ip.isLoopback || interfaces.contains { $0.addresses.contains { $0.ip == ip } }
            }
            guard !ip.isLoopback else { return false }
            return receiving.contains { $0.isOnLink(ip) || $0.sharesSubnet(ip) }
        }
    }

    extension NetworkInterface {
        /// Returns true if an IPv6 address is in a 64-bit subnet (RFC 4291 section 2.5.4) of this interface. Where
        /// addresses are assigned one by one (RFC 8415), the prefix of our own address is only that address.
        fileprivate func sharesSubnet(_ ip: IPAddress) -> Bool {
            guard case .v6(let high, _) = ip else { return false }
            return addresses.contains { if case .v6(high, _) = $0.ip { true } else { false } }
        }
    }

    extension IPAddress {
        /// The IPv4 address in an IPv4-mapped one (RFC 4291 section 2.5.5.2), or the address itself.
        var unmapped: IPAddress {
            guard case .v6(0, let low) = self, low >> 32 == 0xFFFF else { return self }
            return .v4(UInt32(truncatingIfNeeded: low))
        }

        /// True if the address may belong to one host: not unspecified, multicast, reserved or broadcast (RFC 6890).
        fileprivate var isHost: Bool {
            switch self {
            case .v4(let value): value >> 24 != 0 && value >> 28 < 0xE
            case .v6(let high, let low): (high, low) != (0, 0) && high >> 56 != 0xFF
            }
        }
    }
#endif
