/// The origin of a packet.
package struct MulticastDNSSource: Hashable, Sendable {
    /// The sender's address.
    package var ip: IPAddress
    /// The sender's port. A multicast DNS responder uses 5353.
    package var port: UInt16
    /// The interface on which it was received.
    package var interfaceIndex: UInt32
    /// True if the packet was sent to the multicast group, false if to this machine alone.
    package var wasMulticast: Bool

    package init(ip: IPAddress, port: UInt16, interfaceIndex: UInt32, wasMulticast: Bool = true) {
        self.ip = ip
        self.port = port
        self.interfaceIndex = interfaceIndex
        self.wasMulticast = wasMulticast
    }
}

/// The packets to send now, the events to report, and the time of the next `tick`.
package struct MulticastDNSDirectives: Sendable {
    /// The packets to send, in this order, from port 5353 and with a time to live of 255 (RFC 6762 section 11).
    package internal(set) var packets: [MulticastDNSPacket] = []
    /// The events, oldest first.
    package internal(set) var events: [MulticastDNSEvent] = []
    /// The latest time for the next `tick`; nil if only another call can make something due.
    package internal(set) var wakeAt: Duration?
}

/// A packet to send.
package struct MulticastDNSPacket: Hashable, Sendable {
    /// The destination of a packet.
    package enum Destination: Hashable, Sendable {
        /// The multicast group: 224.0.0.251 or ff02::fb, port 5353.
        case multicast(IPAddress.Family)
        /// To one querier only.
        case unicast(IPAddress, port: UInt16)
    }

    /// A complete DNS message.
    package var bytes: [UInt8]
    /// The interface on which to send it.
    package var interfaceIndex: UInt32
    package var destination: Destination
}

/// An event for the observer of a discovery.
package enum MulticastDNSEvent: Hashable, Sendable {
    /// A service appeared, or its records have changed.
    case found(FoundService)
    /// A service said goodbye, or its records expired.
    case lost(instance: String)
    /// Our service has a new name, because another host holds the previous one.
    case renamed(to: String)
}
