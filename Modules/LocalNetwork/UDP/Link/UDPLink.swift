#if UDP
    public import MeshBase
    import MeshDiscovery
    import MeshSecurity
    public import MeshTransport
    import NIOCore
    import NIOPosix

    /// A link between paired peers on one network. They find each other and refuse all others.
    ///
    /// Lanes: `stream` over TLS 1.3 on TCP, and `datagram` over sealed UDP. While a peer doesn't receive our datagrams,
    /// they take the stream. At most 64 of them wait there; further ones replace the oldest. Each peer has at most one
    /// connection, with an address of its own that begins with `udp:`. Its `peerID` is proven by its key. Up to 256 KiB
    /// of stream and 512 datagrams wait for the system. Beyond that `send` throws `full`, and the observer is notified
    /// once at most half of that still waits.
    ///
    /// Both ends notice when the other is gone. A side that has sent nothing on the stream for 25 s sends a ping. A
    /// side that has received nothing for 50 s ends the connection. With a peer of an earlier version, these times are
    /// 5 s and 15 s. The link dials a lost peer again after 100 ms, doubling to 30 s with jitter, or at once when
    /// discovery sees that it has restarted. A connection may send 8 KiB and take 3 s until it has proven its peer.
    /// There are at most 32 such connections, 4 from one address.
    ///
    /// The link has a thread, on which it calls the observer. Docs/Reference/Security.md lists the attackers and the
    /// guarantees against them. Safe to use from any thread.
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
        /// - Parameter diagnostics: Receives an event for each refused peer.
        public init(_ configuration: UDPLinkConfiguration, diagnostics: Topic<SessionDiagnosticEvent>? = nil) {
            self.configuration = configuration
            report = LinkReport(diagnostics)
        }

        /// The counters of the link so far.
        public var statistics: UDPLinkStatistics { report.statistics }

        /// Returns a stream of the refusals from now on: those by this peer, and those by other peers. It ends with
        /// `close`. It buffers 256 refusals for a slow reader and then drops the oldest.
        public func refusals() -> AsyncStream<UDPRefusal> { report.refusals.subscribe() }

        /// The port at which other peers reach this one; nil unless the link is open.
        public var port: UInt16? {
            running.withLock { $0?.hub.listener?.localAddress?.port }.flatMap { UInt16(exactly: $0) }
        }

        /// Binds the sockets, which blocks briefly. If it throws, it may be called again.
        /// - Throws: `LinkError.closed`, `UDPLinkError`, and the errors of the discovery.
        public func open(_ observer: any LinkObserver) throws {
            try routes.withLock { routes in
                switch routes.phase {
                case .closed: throw LinkError(.closed)
                case .open: throw UDPLinkError(.alreadyStarted, "`open` was already called on this link")
                case .idle: routes.phase = .open
                }
            }
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            do {
                let hub = try LinkHub(
                    configuration, loop: group.next(), observer: observer, routes: routes, report: report)
                try hub.open()
                running.withLock { $0 = Running(hub: hub, group: group) }
                updateGuests { _ in }
            } catch {
                group.shutdownGracefully { _ in }
                routes.withLock { if $0.phase == .open { $0.phase = .idle } }
                throw error
            }
            // `close` may have come meanwhile, and have found nothing to stop.
            guard routes.withLock({ $0.phase == .open }) else {
                if let running = takeRunning() { Task { await stop(running) } }
                throw LinkError(.closed)
            }
        }

        /// Returns true if the peer was paired as the user's own (`TrustedPeer.isOwn`).
        public func isOwn(_ peerID: String) -> Bool { configuration.trustedPeers.isOwn(peerID) }

        /// Returns a stream of the IDs of peers that were revoked and not paired again (`TrustedPeers.revoked`).
        public func revokedPeers() -> AsyncStream<Set<String>>? { configuration.trustedPeers.revokedPeers() }

        /// Replaces the guests of the link. The link admits them and looks for them as it does for trusted peers, but
        /// keeps them only in memory. If there are more than 64, it ignores those with the highest IDs.
        public func admit(guests peerIDs: Set<String>) {
            let local = configuration.identity.peerID
            let ids = Set(peerIDs.compactMap { PeerID($0) }.filter { $0 != local }.sorted().prefix(Self.guestsMax))
            updateGuests { $0 = ids }
        }

        /// Changes the guests under a lock, so that the hub gets the changes in order.
        private func updateGuests(_ change: (inout Set<PeerID>) -> Void) {
            guests.withLock { guests in
                change(&guests)
                guard let hub = running.withLock({ $0?.hub }) else { return }
                let ids = guests
                hub.loop.execute { hub.admit(guests: ids) }
            }
        }

        private static let guestsMax = 64

        /// Takes the running hub under the lock of the guests, so that no guests are sent to a loop that is ending.
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
                throw LinkError(.unreachable, "this link has no lane '\(packet.lane)'")
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
                connection.end(nil, saying: Goodbye(code: .protocolError, detail: "it received invalid data"))
            }
        }

        public func close() async {
            routes.withLock { $0.phase = .closed }
            if let running = takeRunning() { await stop(running) }
            report.refusals.finish()
        }

        private func stop(_ running: Running) async {
            await configuration.discovery?.stop()
            try? await running.hub.loop.flatSubmit { running.hub.close() }.get()
            try? await running.group.shutdownGracefully()
        }
    }
#endif
