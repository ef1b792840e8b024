/// A network interface of this machine, with the properties that multicast DNS needs.
package struct NetworkInterface: Hashable, Sendable {
    /// The system's number of the interface.
    package var index: UInt32
    /// The system's name of the interface, such as `eth0`.
    package var name: String
    /// The interface's own addresses.
    package var addresses: [InterfaceAddress]
    /// True if the interface reaches only this machine.
    package var isLoopback: Bool

    /// Creates an interface from the system's data.
    package init(index: UInt32, name: String, addresses: [InterfaceAddress], isLoopback: Bool = false) {
        self.index = index
        self.name = name
        self.addresses = addresses
        self.isLoopback = isLoopback
    }

    /// Returns true if the source is on this link (RFC 6762 section 11): a link-local address, or one within a prefix
    /// of this interface, except the prefix's broadcast address.
    package func isOnLink(_ source: IPAddress) -> Bool {
        source.isLinkLocal || addresses.contains { $0.holds(source) }
    }
}

/// An address of an interface, with the length of its network prefix.
package struct InterfaceAddress: Hashable, Sendable {
    package var ip: IPAddress
    /// The number of prefix bits: 0 to 32 for IPv4, 0 to 128 for IPv6.
    package let prefixLength: Int

    /// Creates an address. A prefix length out of range is clamped.
    package init(ip: IPAddress, prefixLength: Int) {
        self.ip = ip
        self.prefixLength = min(max(prefixLength, 0), ip.family == .v4 ? 32 : 128)
    }

    func holds(_ other: IPAddress) -> Bool {
        switch (ip, other) {
        case (.v4(let own), .v4(let other)):
            // Swift's smart shift by the full width gives zero.
            let mask = ~UInt32(0) << UInt32(32 - prefixLength)
            let isBroadcast = prefixLength < 31 && other | mask == .max
            return own & mask == other & mask && !isBroadcast
        case (.v6(let high, let low), .v6(let otherHigh, let otherLow)):
            let highMask = ~UInt64(0) << UInt64(max(64 - prefixLength, 0))
            let lowMask = ~UInt64(0) << UInt64(min(128 - prefixLength, 64))
            return high & highMask == otherHigh & highMask && low & lowMask == otherLow & lowMask
        default: return false
        }
    }
}

extension IPAddress {
    /// The two versions of the Internet Protocol. Each has its own multicast group.
    package enum Family: UInt8, Hashable, Sendable, CaseIterable {
        /// IPv4, with the multicast group 224.0.0.251, and IPv6, with ff02::fb.
        case v4, v6
    }

    package var family: Family {
        switch self {
        case .v4: .v4
        case .v6: .v6
        }
    }
}

extension IPAddress: Comparable {
    /// Orders IPv4 before IPv6, then by the bytes.
    public static func < (left: IPAddress, right: IPAddress) -> Bool {
        switch (left, right) {
        case (.v4(let left), .v4(let right)): left < right
        case (.v6(let high, let low), .v6(let otherHigh, let otherLow)): (high, low) < (otherHigh, otherLow)
        case (.v4, .v6): true
        case (.v6, .v4): false
        }
    }
}
