/// The options of multicast DNS. The defaults are those of RFC 6762.
public struct MulticastDNSConfiguration: Hashable, Sendable {
    /// The label under which this machine's addresses are announced, at most 63 bytes; nil for a random one. Everybody
    /// on the network reads it, so it should not be the machine's name.
    public var host: String?
    /// Somebody else on this machine may listen to port 5353 too. Unicast answers would reach only one of them, so that
    /// none are asked for (RFC 6762 section 15.1).
    package var sharesPort = true
    /// How much a packet holds unless one record alone is larger.
    package var packetBytesMax = 1400
    /// The time for which others may cache records that name a host: A, AAAA and SRV. From 2 s up.
    public var hostLifetime: Duration = .seconds(120)
    /// The time for which others may cache the other records.
    public var serviceLifetime: Duration = .seconds(4500)
    /// How often what is new is announced: at once, a second later, then after twice the time each. 2 to 8.
    package var announcementCount = 3
    /// Interfaces in use; those that come later are left alone.
    package var interfaceLimit = 32
    /// Maximum number of services remembered on an interface. Beyond it, the host that has announced the most loses its
    /// oldest one.
    public var serviceLimit = 256
    /// Records remembered on an interface, which fare alike.
    public var recordLimit = 1024
    /// Records remembered anew on an interface in a second, with as many in reserve; more are dropped.
    let newRecordsPerSecond = 256
    /// Answers to single askers on an interface in a second, with as many in reserve; more are dropped.
    let unicastRepliesPerSecond = 32

    /// Creates a configuration with the defaults of RFC 6762.
    public init() {}
}
