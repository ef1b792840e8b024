import MeshBase

/// Announces and finds services by a multicast DNS responder of our own (RFC 6762, RFC 6763), on port 5353, which it
/// shares with other responders.
///
/// `MulticastDNSCore` decides everything; this is its sockets, its clock and its list of interfaces, on one thread of its
/// own, which ends with `stop`. Interfaces that come, go or change are noticed within two seconds. Of each socket at most
/// 16 packets are read in one turn.
///
/// Not for Apple systems, where port 5353 is not ours to take: see `SystemDiscovery`.
public final class MulticastDNS: ServiceDiscovery {
    private let type: ServiceType
    private let options: MulticastDNSOptions
    private let tally = Locked(DiscoveryStatistics())
    private let thread = DiscoveryThread()

    /// Looks at no network before it is started.
    public init(type: ServiceType = .sessionMesh, options: MulticastDNSOptions = MulticastDNSOptions()) {
        self.type = type
        self.options = options
    }

    deinit { thread.stop(nil) }

    /// Without an interface that can be used it waits for one.
    /// - Throws: `DiscoveryError` with `noInterface` when one that the options name does not exist, `portTaken`,
    ///   `notPermitted`, `invalidName` when the type or the host's label is no name, `systemCallFailed` or
    ///   `alreadyStarted`.
    public func start(_ observer: any ServiceObserver) throws {
        try checkInterfaces()
        try checkPort()
        let core = try MulticastDNSCore(
            type: type, configuration: options.configuration, seed: .random(in: .min ... .max))
        try thread.start { [options, tally] in MulticastDNSLoop(core, options, observer, tally) }
    }

    public func announce(_ announcement: ServiceAnnouncement?) { thread.announce(announcement) }

    public func stop() async { await thread.stop() }

    public var statistics: DiscoveryStatistics { tally.withLock { $0 } }

    /// A name that is spelled wrong would otherwise be waited for.
    private func checkInterfaces() throws(DiscoveryError) {
        guard let names = options.interfaces else { return }
        let known = Set(try NetworkInterfaces.all().map(\.interface.name))
        if let unknown = names.subtracting(known).min() {
            throw DiscoveryError(.noInterface, "no interface is called \(unknown)")
        }
    }

    /// Fails where no socket could be opened later. A machine may lack either version of IP.
    private func checkPort() throws(DiscoveryError) {
        do throws(DiscoveryError) {
            _ = try MulticastSocket(boundTo: options.port, .v4)
        } catch  where error.code == .systemCallFailed {
            _ = try MulticastSocket(boundTo: options.port, .v6)
        }
    }
}

/// The options of `MulticastDNS`.
public struct MulticastDNSOptions: Hashable, Sendable {
    /// The names of the interfaces to use, and no others; nil for what `NetworkInterfaces.usable` chooses.
    public var interfaces: Set<String>?
    /// The time between two looks at the list of network interfaces.
    public var interfaceCheck = Duration.seconds(2)
    /// The options that the protocol leaves open.
    public var configuration = MulticastDNSConfiguration()
    /// Another one than 5353 meets nobody but who chose the same.
    package var port = MulticastSocket.port

    /// The defaults, on the interfaces of these names.
    public init(interfaces: Set<String>? = nil) { self.interfaces = interfaces }
}
