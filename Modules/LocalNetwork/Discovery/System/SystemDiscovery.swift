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

    /// Announces and looks through the system's own responder, by the interface `dns_sd.h`: Bonjour on Apple systems, where
    /// port 5353 is not ours to take, and Avahi's compatibility library on Linux.
    ///
    /// One thread of its own talks to the responder, so that its blocking calls don't occupy another. When a responder
    /// that has answered goes away, every service is lost and the object asks again after 1, 2, 4 … 30 s; when there is
    /// none to begin with, the observer is told `failed` with `unavailable`. The order of attributes is not kept.
    ///
    /// Bounds: 64 services, one on two interfaces counting twice; 16 addresses of each; what exceeds that is dropped and
    /// counted. Packets are the responder's business: `statistics` counts what was dropped and conflicts only.
    ///
    /// Avahi's library complains on stderr about programs that use it, unless `AVAHI_COMPAT_NOWARN` is in the process's
    /// environment. Changing the environment is up to the program, since that is safe only before its first thread.
    public final class SystemDiscovery: ServiceDiscovery {
        private let type: ServiceType
        private let interface: String?
        private let tally = Locked(DiscoveryStatistics())
        private let thread = DiscoveryThread()

        /// Creates a discovery that uses the system's responder.
        ///
        /// - Parameter interface: the name of the only network interface to use; nil for all that the responder uses.
        public init(type: ServiceType = .sessionMesh, interface: String? = nil) {
            self.type = type
            self.interface = interface
        }

        deinit { thread.stop(nil) }

        /// Starts announcing and looking for services.
        ///
        /// - Throws: `DiscoveryError` with `noInterface` when there is none of that name, `alreadyStarted`, or
        ///   `systemCallFailed` when there is no thread or pipe to be had.
        public func start(_ observer: any ServiceObserver) throws {
            let interfaceIndex = try interface.map(Self.index) ?? 0
            try thread.start { [type, tally] in
                ResponderLoop(type: type, interfaceIndex: interfaceIndex, observer: observer, tally: tally)
            }
        }

        /// A label of more than 63 bytes is shortened and told as renamed; attributes that do not fit are left out. An empty
        /// label, which would stand for this machine's name, is not announced and counted as dropped.
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
            guard index > 0 else { throw DiscoveryError(.noInterface, "no interface is called \(name)") }
            return index
        }
    }
#endif
