/// The options of multicast DNS. The defaults are those of RFC 6762.
public struct MulticastDNSConfiguration: Hashable, Sendable {
    /// The host label under which this machine announces its addresses, at most 63 bytes; nil for a random one. It is
    /// visible to everyone on the network, so don't use the machine's name.
    public var host: String?
    /// True if other processes on this machine may also listen on port 5353. Unicast answers would reach only one of
    /// them, so none are requested (RFC 6762 section 15.1).
    package var sharesPort = true
    /// Maximum number of bytes per packet. A single larger record gets a larger packet.
    package var packetBytesMax = 1400
    /// The time for which other hosts may cache records that contain a host name: A, AAAA and SRV. At least 2 s.
    public var hostLifetime: Duration = .seconds(120)
    /// The time for which other hosts may cache all other records. At least 2 s.
    public var serviceLifetime: Duration = .seconds(4500)
    /// The number of announcements of a new or changed service, 2 to 8. They are sent at once, after a second, and then
    /// at doubling intervals.
    package var announcementCount = 3
    /// Maximum number of interfaces in use. Later ones are ignored.
    package var interfaceLimit = 32
    /// Maximum number of services cached per interface. Beyond it, the host that has announced the most loses its
    /// oldest one.
    public var serviceLimit = 256
    /// Maximum number of records cached per interface. Beyond it, the host that has sent the most loses its oldest one.
    public var recordLimit = 1024
    /// Maximum number of new records cached per interface and second, and the largest burst. Further ones are dropped.
    let newRecordsPerSecond = 256
    /// Maximum number of unicast answers per interface and second, and the largest burst. Further ones are dropped.
    let unicastRepliesPerSecond = 32

    /// Creates a configuration with the defaults of RFC 6762.
    public init() {}
}
