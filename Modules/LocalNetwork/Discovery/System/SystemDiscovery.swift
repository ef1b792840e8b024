#if SystemDiscovery || canImport(Darwin)
    import MeshBase

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Announces and finds services through the system's responder and its interface `dns_sd.h`: Bonjour on Apple
    /// systems, where port 5353 belongs to the system, and Avahi's compatibility library on Linux.
    ///
    /// It makes the responder's blocking calls on a thread of its own. If the responder stops later, the object reports
    /// all services as lost, and tries to reconnect after 1, 2, 4 … 30 s. If none is running at the start, the observer
    /// gets `failed` with `unavailable`. The order of attributes isn't kept.
    ///
    /// Bounds: 64 services and 16 addresses of each. A service on two interfaces counts twice. Further ones are dropped
    /// and counted. `statistics` counts only drops and conflicts, because the responder handles the packets.
    ///
    /// Avahi's library prints a warning to stderr unless the environment contains `AVAHI_COMPAT_NOWARN`. Set it before
    /// the program starts its first thread; later changes of the environment aren't safe.
    public final class SystemDiscovery: ServiceDiscovery {
        private let type: ServiceType
        private let interface: String?
        private let tally = Locked(DiscoveryStatistics())
        private let thread = DiscoveryThread()

        /// Creates a discovery that uses the system's responder.
        ///
        /// - Parameter interface: The name of the only network interface to use; nil for all that the responder uses.
        public init(type: ServiceType = .sessionMesh, interface: String? = nil) {
            self.type = type
            self.interface = interface
        }

        deinit { thread.stop(nil) }

        /// Starts announcing and looking for services.
        ///
        /// - Throws: `DiscoveryError` with `noInterface` if no interface has that name, `alreadyStarted`, or
        ///   `systemCallFailed` if no thread or pipe can be created.
        public func start(_ observer: any ServiceObserver) throws {
            let interfaceIndex = try interface.map(Self.index) ?? 0
            try thread.start { [type, tally] in
                ResponderLoop(type: type, interfaceIndex: interfaceIndex, observer: observer, tally: tally)
            }
        }

        /// Announces this service in place of the previous one; nil withdraws it with a goodbye. A label of more than
        /// 63 bytes is shortened and reported as renamed. Attributes that don't fit are left out. An empty label, which
        /// would stand for this machine's name, or one with a zero byte isn't announced and counts as dropped.
        public func announce(_ announcement: ServiceAnnouncement?) {
            if let label = announcement?.instance.utf8, label.isEmpty || label.contains(0) {
                tally.withLock { $0.dropped += 1 }
                return announce(nil)
            }
            thread.announce(announcement)
        }

        public func stop() async { await thread.stop() }

        public var statistics: DiscoveryStatistics { tally.withLock { $0 } }

        private static func index(of name: String) throws(DiscoveryError) -> UInt32 {
            let index = if_nametoindex(name)
            guard index > 0 else { throw DiscoveryError(.noInterface, "this machine has no interface '\(name)'") }
            return index
        }
    }
#endif
