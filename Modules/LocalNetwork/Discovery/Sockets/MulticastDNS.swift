import MeshBase

/// Announces and finds services with its own multicast DNS responder (RFC 6762, RFC 6763), on port 5353, which it
/// shares with other responders.
///
/// It runs on a thread of its own until `stop`. It notices new, removed and changed interfaces within two seconds. It
/// reads at most 16 packets per socket before it handles timers and requests again, so a flood can't delay them.
///
/// Don't use it on Apple systems, where port 5353 belongs to the system. Use `SystemDiscovery` there.
public final class MulticastDNS: ServiceDiscovery {
    private let type: ServiceType
    private let options: MulticastDNSOptions
    private let tally = Locked(DiscoveryStatistics())
    private let thread = DiscoveryThread()

    /// Creates a discovery for one service type. It doesn't use the network before `start`.
    public init(type: ServiceType = .sessionMesh, options: MulticastDNSOptions = MulticastDNSOptions()) {
        self.type = type
        self.options = options
    }

    deinit { thread.stop(nil) }

    /// Starts announcing and looking for services. If no interface is usable, it waits for one.
    /// - Throws: `DiscoveryError` with `noInterface` if an interface in the options doesn't exist, `portTaken`,
    ///   `notPermitted`, `invalidName` if the type or host label is invalid, `systemCallFailed` or `alreadyStarted`.
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

    /// Rejects an unknown interface name: it is probably misspelled, and the discovery would wait for it forever.
    private func checkInterfaces() throws(DiscoveryError) {
        guard let names = options.interfaces else { return }
        let known = Set(try NetworkInterfaces.all().map(\.interface.name))
        if let unknown = names.subtracting(known).min() {
            throw DiscoveryError(.noInterface, "this machine has no interface '\(unknown)'")
        }
    }

    /// Throws if the port can't be used. Tries IPv6 too, because a machine may lack IPv4.
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
    /// The names of the interfaces to use. nil uses those that are up, carry multicast and aren't point-to-point; if
    /// there are none, the loopback interface.
    public var interfaces: Set<String>?
    /// The interval between two checks of the network interfaces.
    public var interfaceCheck = Duration.seconds(2)
    /// The options that the protocol leaves open.
    public var configuration = MulticastDNSConfiguration()
    /// The UDP port. A port other than 5353 reaches only responders that use the same port.
    package var port = MulticastSocket.port

    /// Creates the default options.
    ///
    /// - Parameter interfaces: The names of the interfaces to use; nil to choose them automatically.
    public init(interfaces: Set<String>? = nil) { self.interfaces = interfaces }
}
