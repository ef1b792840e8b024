#if UDP
    import MeshDiscovery
    import MeshSecurity
    import NIOCore
    import NIOPosix

    extension LinkHub {
        // MARK: Beginning, on the caller's thread

        /// Binds the sockets and starts looking for peers. Blocks, so don't call it on the event loop.
        /// - Throws: `UDPLinkError`, and the errors of the discovery.
        func open() throws {
            let listener = try Listener.bind(configuration.address, configuration.port, on: loop) { self.accept($0) }
            do {
                let port = listener.localAddress?.port ?? 0
                let datagrams = try bindDatagrams(at: listener.localAddress, port)
                try loop.submit {
                    self.listener = listener
                    self.datagramChannel = datagrams
                    let handler = DatagramPort(datagrams, self)
                    try datagrams.pipeline.syncOperations.addHandler(handler)
                    self.datagrams = handler
                }.wait()
                let changes = configuration.trustedPeers.changes()
                trustTask = Task { [weak self] in
                    var isFirst = true
                    for await _ in changes {
                        guard let self else { return }
                        loop.execute { [isFirst] in self.trustChanged(isFirst: isFirst) }
                        isFirst = false
                    }
                }
                try configuration.discovery?.start(DiscoveryBridge(self))
                loop.execute { self.begin() }
            } catch {
                trustTask?.cancel()
                listener.close(promise: nil)
                datagramChannel?.close(promise: nil)
                throw error
            }
        }

        /// Binds the listener's port, so that a firewall needs only one rule. If it is taken, binds any free port.
        private func bindDatagrams(at local: SocketAddress?, _ port: Int) throws(UDPLinkError) -> any Channel {
            guard let local else { throw UDPLinkError(.systemCallFailed, "the listener has no address") }
            let bootstrap = DatagramBootstrap(group: loop)
                .channelOption(.datagramVectorReadMessageCount, value: DatagramPort.vectorCount)
                .channelOption(
                    .recvAllocator,
                    value: FixedSizeRecvByteBufferAllocator(
                        capacity: DatagramPort.vectorCount * DatagramPort.packetBytesMax))
            if let channel = try? bootstrap.bind(to: local.with(port: UInt16(clamping: port))).wait() { return channel }
            do {
                return try bootstrap.bind(to: local.with(port: 0)).wait()
            } catch {
                throw UDPLinkError(binding: "\(local)", error)
            }
        }

        // MARK: On the event loop

        private func begin() {
            plan.trust(updateAdmittedPeers(), now)
            announce()
            planDials()
        }

        private func announce() {
            guard !isClosing, configuration.discovery != nil, let port = listener?.localAddress?.port else { return }
            configuration.discovery?.announce(
                PeerAdvertisement.announcement(
                    of: configuration.identity.peerID, label: label, startID: startID, port: UInt16(clamping: port)))
            labelTimer?.cancel()
            labelTimer = after(configuration.times.label) { [weak self] in
                self?.label = PeerAdvertisement.randomLabel()
                self?.announce()
            }
        }

        func found(_ service: FoundService) {
            guard !isClosing else { return }
            var service = nearby.filter(service, now)
            if let interface { service.addresses.removeAll { $0.interfaceIndex != interface.index } }
            plan.found(service, now)
            planDials()
        }

        func lost(_ instance: String) { plan.lost(instance) }

        /// Reports that discovery has ended. Peers that are known, configured manually or dial this one still connect.
        func discoveryFailed(_ error: DiscoveryError) { report.failed("discovery failed: \(error)") }

        /// Announces this peer again after its label was replaced, because the hint depends on the label.
        func renamed(to instance: String) {
            label = instance
            announce()
        }

        /// - Returns: True if the connection is admitted. It is closed otherwise.
        private func accept(_ channel: any Channel) -> Bool {
            guard !isClosing, let remote = channel.remoteAddress, let ip = remote.ip else { return false }
            let place = UDPManualPeer(host: ip.description, port: UInt16(clamping: remote.port ?? 0)).description
            func refuse(_ code: UDPRefusal.Code, _ message: String) -> Bool {
                refused(UDPRefusal(code: code, remote: place, peerID: nil, isDialedHere: false, message: message))
                return false
            }
            if let interface, !interface.has(channel.localAddress) {
                return refuse(.wrongInterface, "it arrived over another network")
            }
            guard admission.enter(ip.description) else {
                return refuse(.tooManyConnections, "too many connections haven't proven their identity yet")
            }
            lastNumber += 1
            let connection = PeerConnection(
                channel, number: lastNumber, isDialedHere: false, expected: nil, remoteAddress: remote,
                remote: place, hub: self)
            connection.admittedFrom = ip.description
            begin(connection)
            return true
        }

        func leaveAdmission(_ connection: PeerConnection) {
            guard let address = connection.admittedFrom else { return }
            connection.admittedFrom = nil
            admission.leave(address)
        }

        // MARK: Ending

        /// Sends goodbyes and closes the sockets.
        /// - Returns: A future that completes once no connection is left.
        func close() -> EventLoopFuture<Void> {
            isClosing = true
            trustTask?.cancel()
            dialTimer?.cancel()
            labelTimer?.cancel()
            for round in rounds.values { round.timer?.cancel() }
            rounds.removeAll()
            listener?.close(promise: nil)
            let all = connections.values.sorted { $0.number < $1.number }
            let over = EventLoopFuture.andAllComplete(all.map(\.channel.closeFuture), on: loop)
            for connection in all {
                connection.end(nil, saying: connection.phase == .connected ? Goodbye(code: .closing) : nil)
            }
            return over.flatMap { self.closeDatagrams() }
        }

        private func closeDatagrams() -> EventLoopFuture<Void> {
            releaseObserver()
            guard let datagramChannel else { return loop.makeSucceededVoidFuture() }
            return datagramChannel.close().flatMapErrorThrowing { _ in }
        }
    }

    /// Forwards the discovery's reports to the event loop.
    final class DiscoveryBridge: ServiceObserver {
        private let hub: WeakHub

        init(_ hub: LinkHub) { self.hub = WeakHub(hub) }

        func found(_ service: FoundService) { hub.perform { $0.found(service) } }
        func lost(instance: String) { hub.perform { $0.lost(instance) } }
        func renamed(to instance: String) { hub.perform { $0.renamed(to: instance) } }
        func failed(_ error: DiscoveryError) { hub.perform { $0.discoveryFailed(error) } }
    }

    private final class WeakHub: @unchecked Sendable {
        // Written only once.
        private weak var hub: LinkHub?

        init(_ hub: LinkHub) { self.hub = hub }

        func perform(_ body: @escaping @Sendable (LinkHub) -> Void) {
            guard let hub else { return }
            hub.loop.execute { body(hub) }
        }
    }
#endif
