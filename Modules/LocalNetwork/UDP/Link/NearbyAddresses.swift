#if UDP
    import MeshDiscovery

    /// Which of the addresses that somebody has announced are worth a connection: those that may be on the network on which
    /// they were heard. Discovery answers to that link alone (RFC 6762 section 11), and whoever is on it must not be able to
    /// send this peer anywhere else: to its own loopback interface, to a group, or to a host of the Internet.
    ///
    /// A value; asks the system for its interfaces at most once a second.
    struct NearbyAddresses {
        private static let validity = Duration.seconds(1)

        private let list: () -> [NetworkInterface]
        private var interfaces: [NetworkInterface] = []
        private var readAt: Duration?

        init(_ list: @escaping () -> [NetworkInterface] = Self.systemInterfaces) { self.list = list }

        private static func systemInterfaces() -> [NetworkInterface] {
            ((try? NetworkInterfaces.all()) ?? []).filter(\.isUp).map(\.interface)
        }

        /// The service with such addresses only.
        mutating func filter(_ service: FoundService, _ now: Duration) -> FoundService {
            if readAt.map({ now - $0 >= Self.validity }) ?? true {
                (interfaces, readAt) = (list(), now)
            }
            var service = service
            service.addresses.removeAll { !isNearby($0) }
            return service
        }

        private func isNearby(_ address: ServiceAddress) -> Bool {
            // An IPv4 address in the clothes of IPv6 is where it says it is.
            let ip = address.ip.unmapped
            guard ip.isHost else { return false }
            let heard = interfaces.filter { $0.index == address.interfaceIndex }
            // The loopback interface carries what this machine says to itself, of any of its addresses.
            if heard.contains(where: \.isLoopback) {
                return ip.isLoopback || interfaces.contains { $0.addresses.contains { $0.ip == ip } }
            }
            guard !ip.isLoopback else { return false }
            return heard.contains { $0.isOnLink(ip) || $0.sharesSubnet(ip) }
        }
    }

    extension NetworkInterface {
        /// Whether the address is of IPv6 and in the subnet of one of this interface's: where addresses are given out one by
        /// one (RFC 8415) the prefix of an own address is the address itself, and a subnet has 64 bits (RFC 4291 section
        /// 2.5.4).
        fileprivate func sharesSubnet(_ ip: IPAddress) -> Bool {
            guard case .v6(let high, _) = ip else { return false }
            return addresses.contains { if case .v6(high, _) = $0.ip { true } else { false } }
        }
    }

    extension IPAddress {
        /// The IPv4 address of an IPv4-mapped one (RFC 4291 section 2.5.5.2).
        var unmapped: IPAddress {
            guard case .v6(0, let low) = self, low >> 32 == 0xFFFF else { return self }
            return .v4(UInt32(truncatingIfNeeded: low))
        }

        /// May be one host: neither unspecified nor a group, nor reserved or a broadcast (RFC 6890).
        fileprivate var isHost: Bool {
            switch self {
            case .v4(let value): value >> 24 != 0 && value >> 28 < 0xE
            case .v6(let high, let low): (high, low) != (0, 0) && high >> 56 != 0xFF
            }
        }
    }
#endif
