#if UDP
    internal import MeshBus
    public import MeshDiscovery
    internal import NIOPosix

    /// Announces and finds services by a multicast DNS responder of our own (RFC 6762, RFC 6763), on port 5353 beside
    /// whoever else shares it.
    ///
    /// `MulticastDNSCore` decides everything; this is its sockets, its clock and its list of interfaces, on one of NIO's
    /// event loops. Interfaces that come, go or change are noticed within two seconds. Of each socket at most 16 packets
    /// are read in one turn.
    ///
    /// Not for Apple systems, where port 5353 is not ours to take: see `SystemDiscovery`.
    public final class MulticastDNS: ServiceDiscovery {
        private struct State {
            var hasStopped = false
            var shell: MulticastDNSShell?
            var announcement: ServiceAnnouncement?
        }

        private let type: ServiceType
        private let options: MulticastDNSOptions
        private let state = Locked(State())

        public init(type: ServiceType = .sessionMesh, options: MulticastDNSOptions = MulticastDNSOptions()) {
            self.type = type
            self.options = options
        }

        deinit { state.withLock { $0.shell }?.stop(nil) }

        /// Without an interface that can be used it waits for one.
        /// - Throws: `DiscoveryError` with `noInterface` when one that the options name does not exist, `portTaken`,
        ///   `notPermitted`, `invalidName` when the type or the host's label is no name, `systemCallFailed` or
        ///   `alreadyStarted`.
        public func start(_ observer: any ServiceObserver) throws {
            try checkInterfaces()
            try checkPort()
            try state.withLock { state in
                guard state.shell == nil, !state.hasStopped else {
                    throw DiscoveryError(.alreadyStarted, "a discovery starts once")
                }
                let core = try MulticastDNSCore(
                    type: type, configuration: options.configuration, seed: .random(in: .min ... .max))
                let shell = MulticastDNSShell(
                    core, options, observer, on: MultiThreadedEventLoopGroup.singleton.next())
                state.shell = shell
                shell.start()
                if let announcement = state.announcement { shell.announce(announcement) }
            }
        }

        public func announce(_ announcement: ServiceAnnouncement?) {
            state.withLock { state in
                state.announcement = announcement
                state.shell?.announce(announcement)
            }
        }

        public func stop() async {
            let shell = state.withLock { state in
                state.hasStopped = true
                return state.shell
            }
            guard let shell else { return }
            await withCheckedContinuation { shell.stop($0) }
        }

        public var statistics: DiscoveryStatistics {
            state.withLock { $0.shell }?.statistics ?? DiscoveryStatistics()
        }

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

    /// What can be chosen about `MulticastDNS`.
    public struct MulticastDNSOptions: Hashable, Sendable {
        /// The names of the interfaces to use, and no others; nil for what `NetworkInterfaces.usable` chooses.
        public var interfaces: Set<String>?
        /// How often the list of interfaces is looked at.
        public var interfaceCheck = Duration.seconds(2)
        /// What the protocol leaves open.
        public var configuration = MulticastDNSConfiguration()
        /// Another one than 5353 meets nobody but who chose the same.
        package var port = MulticastSocket.port

        public init(interfaces: Set<String>? = nil) { self.interfaces = interfaces }
    }
#endif
