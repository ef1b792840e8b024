import MeshBus

/// Multicast DNS service discovery, responder and browser, as a value: packets, interfaces and wishes go in, each with a
/// time; packets to send and what was found come out. No I/O and no clock; randomness comes from the seed.
///
/// Every call does what is due by then, so that what follows from it is in the next `takeDirectives()`. Times are since
/// any fixed moment and do not decrease.
///
/// Sources: RFC 6762 (multicast DNS), RFC 6763 (service discovery).
public struct MulticastDNSCore: Sendable {
    /// - Throws: `DiscoveryError` with `invalidName` when the type or the host is no name.
    public init(type: ServiceType, configuration: MulticastDNSConfiguration = .init(), seed: UInt64)
        throws(DiscoveryError)
    {
        self.type = type
    }

    private let type: ServiceType

    /// There is a new interface, or the addresses of one have changed.
    public mutating func interfaceUp(_ interface: NetworkInterface, _ now: Duration) {}
    /// It is gone, and so is what was heard on it.
    public mutating func interfaceDown(_ index: UInt32, _ now: Duration) {}
    /// A packet has arrived. It may hold anything.
    public mutating func receive(_ bytes: UnsafeRawBufferPointer, from source: MulticastDNSSource, _ now: Duration) {}
    /// Announces this service in the place of the one before it; nil takes it back with a goodbye.
    public mutating func announce(_ announcement: ServiceAnnouncement?, _ now: Duration) {}
    /// Looks for services from now on.
    public mutating func browse(_ now: Duration) {}
    /// Says goodbye, forgets everything and stays silent for good.
    public mutating func farewell(_ now: Duration) {}
    /// Does what is due.
    public mutating func tick(_ now: Duration) {}
    /// What is to be done since the last time.
    public mutating func takeDirectives() -> MulticastDNSDirectives { MulticastDNSDirectives() }
    public private(set) var statistics = DiscoveryStatistics()
}
