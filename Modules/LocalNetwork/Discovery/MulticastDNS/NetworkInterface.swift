/// A network that this machine is on, as multicast DNS needs to know it.
package struct NetworkInterface: Hashable, Sendable {
    /// The number by which the system knows it.
    package var index: UInt32
    /// As the system calls it, such as `eth0`.
    package var name: String
    /// Its own addresses.
    package var addresses: [InterfaceAddress]
    /// Whether it reaches this machine only.
    package var isLoopback: Bool

    /// An interface as the system tells of it.
    package init(index: UInt32, name: String, addresses: [InterfaceAddress], isLoopback: Bool = false) {
        self.index = index
        self.name = name
        self.addresses = addresses
        self.isLoopback = isLoopback
    }

    /// Whether a packet from there was sent by somebody on the link (RFC 6762 section 11): by a link-local address, or by
    /// one within a prefix of this interface that is not the prefix's broadcast address.
    package func isOnLink(_ source: IPAddress) -> Bool {
        source.isLinkLocal || addresses.contains { $0.holds(source) }
    }
}

/// An address of an interface and how much of it its network shares.
package struct InterfaceAddress: Hashable, Sendable {
    /// The address.
    package var ip: IPAddress
    /// In bits: 0 to 32, or 0 to 128.
    package let prefixLength: Int

    /// An address and its network; the prefix is moved into its range.
    package init(ip: IPAddress, prefixLength: Int) {
        self.ip = ip
        self.prefixLength = min(max(prefixLength, 0), ip.family == .v4 ? 32 : 128)
    }

    func holds(_ other: IPAddress) -> Bool {
        switch (ip, other) {
        case (.v4(let own), .v4(let other)):
            // A shift by the whole width gives zero.
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
    /// The two families of the Internet Protocol; each has a multicast group of its own.
    package enum Family: UInt8, Hashable, Sendable, CaseIterable {
        /// 32 bits, 224.0.0.251; 128 bits, ff02::fb.
        case v4, v6
    }

    /// Which of the two it belongs to.
    package var family: Family {
        switch self {
        case .v4: .v4
        case .v6: .v6
        }
    }
}

extension IPAddress: Comparable {
    /// IPv4 first, then by the bytes.
    public static func < (left: IPAddress, right: IPAddress) -> Bool {
        switch (left, right) {
        case (.v4(let left), .v4(let right)): left < right
        case (.v6(let high, let low), .v6(let otherHigh, let otherLow)): (high, low) < (otherHigh, otherLow)
        case (.v4, .v6): true
        case (.v6, .v4): false
        }
    }
}
