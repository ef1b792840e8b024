/// Where a packet came from and how.
package struct MulticastDNSSource: Hashable, Sendable {
    /// The sender's address.
    package var ip: IPAddress
    /// The sender's port; 5353 of a responder.
    package var port: UInt16
    /// The interface on which it was received.
    package var interfaceIndex: UInt32
    /// It was sent to the group and not to this machine alone.
    package var wasMulticast: Bool

    /// Where one packet came from.
    package init(ip: IPAddress, port: UInt16, interfaceIndex: UInt32, wasMulticast: Bool = true) {
        self.ip = ip
        self.port = port
        self.interfaceIndex = interfaceIndex
        self.wasMulticast = wasMulticast
    }
}

/// What is to be done now and when to come back.
package struct MulticastDNSDirectives: Sendable {
    /// To be sent in this order, each with the time to live 255 (RFC 6762 section 11) and from port 5353.
    package internal(set) var packets: [MulticastDNSPacket] = []
    /// In the order in which they happened.
    package internal(set) var events: [MulticastDNSEvent] = []
    /// When to call `tick` at the latest; nil while nothing will be due without another call.
    package internal(set) var wakeAt: Duration?
}

/// A packet to send.
package struct MulticastDNSPacket: Hashable, Sendable {
    /// Where a packet goes.
    package enum Destination: Hashable, Sendable {
        /// 224.0.0.251 or ff02::fb, port 5353.
        case multicast(IPAddress.Family)
        /// To one machine that asked.
        case unicast(IPAddress, port: UInt16)
    }

    /// A whole DNS message.
    package var bytes: [UInt8]
    /// The interface on which to send it.
    package var interfaceIndex: UInt32
    /// Where it goes.
    package var destination: Destination
}

/// What an observer of the discovery is told.
package enum MulticastDNSEvent: Hashable, Sendable {
    /// A service is there, or what it says of itself has changed.
    case found(FoundService)
    /// A service has said goodbye, or has not been heard for the lifetime of its records.
    case lost(instance: String)
    /// The own service has another name now, because a neighbour holds the one that it had.
    case renamed(to: String)
}
