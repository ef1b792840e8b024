#if UDP
    public import MeshBase
    import MeshDiscovery
    import MeshSecurity
    public import MeshTransport
    import NIOCore
    import NIOPosix

    /// A link between paired peers on one network, which find each other and refuse all others.
    ///
    /// Lanes: `stream` over TLS 1.3 on TCP, `datagram` over sealed UDP. While a peer does not hear our datagrams, they take
    /// the stream, at most 64 waiting and the oldest making room. Of one peer there is at most one connection; its address
    /// begins with `udp:` and is that connection's alone, its `peerID` is proven by its key. Up to 256 KiB of stream and 512
    /// datagrams wait for the system; then `send` throws `full` until less than the half is left.
    ///
    /// Both ends know whether the other is there: something is said every 5 s, and after three times nothing the connection
    /// is dead. Who has lost a peer dials it again after 100 ms doubling to 30 s with jitter, or at once when discovery sees
    /// it anew. Before a connection has proven who is there it may send 8 KiB in 3 s, and there are at most 32 such
    /// connections, 4 from one address.
    ///
    /// The link has a thread, which calls the observer. Docs/Reference/Security.md lists each attacker and what the link promises.
    /// Safe to use from any thread.
    public final class UDPLink: GuestAdmittingLink {
        private struct Running {
            var hub: LinkHub
            var group: MultiThreadedEventLoopGroup
        }

        /// The configuration that the link was created with.
        public let configuration: UDPLinkConfiguration
        public let lanes: [LinkLane: PayloadLimit] = [.stream: .udpStream, .datagram: .udpSealed]
        public var traits: LinkTraits {
            LinkTraits(
                expectedLatency: .realtime, discoversPeers: configuration.discovery != nil, isSecured: true,
                provesPeers: true)
        }

        private let routes = Locked(Routes())
        private let guests = Locked<Set<PeerID>>([])
        private let report: LinkReport
        private let running = Locked<Running?>(nil)

        /// Creates a link, which listens once it is opened.
        ///
        /// - Parameter diagnostics: receives who was refused.
        public init(_ configuration: UDPLinkConfiguration, diagnostics: Topic<SessionDiagnosticEvent>? = nil) {
            self.configuration = configuration
            report = LinkReport(diagnostics)
        }

        /// The counters of the link so far.
        public var statistics: UDPLinkStatistics { report.statistics }

        /// Returns a stream of the peers that are refused, or that refuse this peer, from now on. Ends with `close`.
        /// 256 wait for a slow reader; then the oldest are dropped.
        public func refusals() -> AsyncStream<UDPRefusal> { report.refusals.subscribe() }

        /// The port at which others reach this peer; nil unless the link is open.
        public var port: UInt16? {
            running.withLock { $0?.hub.listener?.localAddress?.port }.flatMap { UInt16(exactly: $0) }
        }

        /// Binds its sockets, which takes no longer than that. Where it throws it may be tried again.
        /// - Throws: `LinkError.closed`; `UDPLinkError`; what the discovery throws.
        public func open(_ observer: any LinkObserver) throws {
            try routes.withLock { routes in
                switch routes.phase {
                case .closed: throw LinkError(.closed)
                case .open: throw UDPLinkError(.alreadyStarted, "a link opens once")
                case .idle: routes.phase = .open
                }
            }
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            do {
                let hub = try LinkHub(
                    configuration, loop: group.next(), observer: observer, routes: routes, report: report)
                try hub.open()
                running.withLock { $0 = Running(hub: hub, group: group) }
                tellGuests { _ in }
            } catch {
                group.shutdownGracefully { _ in }
                routes.withLock { if $0.phase == .open { $0.phase = .idle } }
                throw error
            }
        }

        /// Whether the peer was paired as the user's own (`TrustedPeer.isOwn`).
        public func isOwn(_ peerID: String) -> Bool { configuration.trustedPeers.isOwn(peerID) }

        /// The peers that were revoked and not paired again (`TrustedPeers.revoked`).
        public func revokedPeers() -> AsyncStream<Set<String>>? { configuration.trustedPeers.revokedPeers() }

        /// Guests are let in and looked for as trusted peers are, and live in memory only. Of more than 64 the highest ids are
        /// left out.
        public func admit(guests peerIDs: Set<String>) {
            let local = configuration.identity.peerID
            let ids = Set(peerIDs.compactMap { PeerID($0) }.filter { $0 != local }.sorted().prefix(Self.guestsMax))
            tellGuests { $0 = ids }
        }

        /// One after the other, so that what was said last holds.
        private func tellGuests(_ change: (inout Set<PeerID>) -> Void) {
            guests.withLock { guests in
                change(&guests)
                guard let hub = running.withLock({ $0?.hub }) else { return }
                let ids = guests
                hub.loop.execute { hub.admit(guests: ids) }
            }
        }

        private static let guestsMax = 64

        /// Nobody tells a loop of guests that is about to end.
        private func takeRunning() -> Running? {
            guests.withLock { _ in
                running.withLock { running in
                    defer { running = nil }
                    return running
                }
            }
        }

        /// Sends a packet to a connected peer on a lane.
        ///
        /// - Throws: `full`, `unreachable`, `oversized` or `closed`.
        public func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
            guard let limit = lanes[packet.lane] else {
                throw LinkError(.unreachable, "there is no lane '\(packet.lane)'")
            }
            let (phase, connection) = routes.withLock { ($0.phase, $0.connections[address]) }
            guard phase == .open else { throw LinkError(.closed) }
            guard packet.bytes.count <= limit.bytes else { throw LinkError(.oversized) }
            guard let connection else { throw LinkError(.unreachable) }
            try connection.send(packet.bytes, on: packet.lane)
        }

        public func disconnect(_ address: LinkAddress) {
            guard let connection = routes.withLock({ $0.connections[address] }) else { return }
            connection.hub.loop.execute {
                connection.end(nil, saying: Goodbye(code: .protocolError, detail: "what was sent makes no sense"))
            }
        }

        public func close() async {
            let isMine = routes.withLock { routes in
                defer { routes.phase = .closed }
                return routes.phase == .open
            }
            guard isMine, let running = takeRunning() else { return }
            await configuration.discovery?.stop()
            try? await running.hub.loop.flatSubmit { running.hub.close() }.get()
            try? await running.group.shutdownGracefully()
            report.refusals.finish()
        }
    }
#endif
