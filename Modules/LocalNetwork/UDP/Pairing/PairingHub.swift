#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity
    import NIOCore
    import NIOPosix

    /// An open pairing window. Confined to its event loop unless stated otherwise.
    final class PairingHub: @unchecked Sendable {
        /// Maximum number of bytes that a connection may send in total. An exchange needs a fraction of it.
        static let bytesMax = 16 << 10
        static let instancesMax = 16
        /// The time for which the side with the higher start ID waits for the other to dial.
        private static let passiveDialDelay = Duration.seconds(1)
        /// The delay between two attempts to dial the same instance.
        private static let redialDelay = Duration.milliseconds(500)
        /// Maximum time for the last message to arrive.
        private static let closeTimeout = Duration.seconds(1)

        let configuration: UDPPairingConfiguration
        let loop: any EventLoop
        private let compare: @Sendable (PairingQuestion) async -> Bool
        private let policy: TLSPolicy
        private let startID = UInt64.random(in: 1 ... .max)
        private let label = PeerAdvertisement.randomLabel()
        private let outcome: EventLoopPromise<TrustedPeer>
        private var hasEnded = false
        private var listener: (any Channel)?
        private var connections: [Int: PairingConnection] = [:]
        private var lastNumber = 0
        private var admission = Admission(UDPLinkBounds())
        /// The endpoints of discovered pairing windows, by instance.
        private var endpointsByInstance: [String: [Endpoint]] = [:]
        /// The instances that are dialed repeatedly.
        private var dialed: Set<String> = []
        private var nearby = NearbyAddresses()
        /// The limit for dialing discovered instances. Dials to the manually configured peer aren't limited.
        private var allowance = TokenBucket(perSecond: 4, atOnce: 64)
        private var timers: [Scheduled<Void>] = []
        private var current: (connection: PairingConnection, exchange: PairingExchange)?

        init(
            _ configuration: UDPPairingConfiguration, loop: any EventLoop,
            compare: @escaping @Sendable (PairingQuestion) async -> Bool
        ) throws(UDPLinkError) {
            self.configuration = configuration
            self.loop = loop
            self.compare = compare
            policy = try TLSPolicy(configuration.identity, protocols: [TLSPolicy.pairing])
            outcome = loop.makePromise()
        }

        var port: UInt16? { listener?.localAddress?.port.flatMap { UInt16(exactly: $0) } }
        private var now: Duration { .nanoseconds(Int64(clamping: NIODeadline.now().uptimeNanoseconds)) }

        private func after(_ delay: Duration, _ body: @escaping () -> Void) -> Scheduled<Void> {
            loop.assumeIsolated().scheduleTask(in: TimeAmount(delay), body)
        }

        /// Opens the window. Blocks, so don't call it on the event loop.
        /// - Returns: A future with the outcome.
        /// - Throws: `UDPLinkError`, and the errors of the discovery.
        func open() throws -> EventLoopFuture<TrustedPeer> {
            do {
                listener = try Listener.bind(configuration.address, configuration.port, on: loop) { self.accept($0) }
                try configuration.discovery?.start(PairingBridge(self))
            } catch {
                listener?.close(promise: nil)
                outcome.fail(error)
                throw error
            }
            loop.execute { self.begin() }
            return outcome.futureResult
        }

        /// Cancels the pairing. May be called on any thread.
        func cancel() {
            loop.execute { self.finish(.failure(UDPPairingError(.cancelled, "the task was cancelled"))) }
        }

        private func begin() {
            guard !hasEnded else { return }
            timers.append(
                after(configuration.window) { [weak self] in
                    self?.finish(.failure(UDPPairingError(.timedOut, "no device was paired in time")))
                })
            if let port {
                configuration.discovery?.announce(
                    PeerAdvertisement.announcement(
                        of: configuration.identity.peerID, label: label, startID: startID, port: port, isPairing: true))
            }
            if configuration.manualPeer != nil { dial(nil) }
        }

        private func finish(_ result: Result<TrustedPeer, any Error>) {
            guard !hasEnded else { return }
            hasEnded = true
            for timer in timers { timer.cancel() }
            listener?.close(promise: nil)
            let last = current?.connection
            current = nil
            for connection in connections.values where connection !== last { connection.abort() }
            guard let last else { return outcome.completeWith(result) }
            last.finish()
            let timeout = after(Self.closeTimeout) { last.abort() }
            last.channel.closeFuture.assumeIsolated().whenComplete { _ in
                timeout.cancel()
                self.outcome.completeWith(result)
            }
        }
    }

    // MARK: - Connecting

    extension PairingHub {
        fileprivate func found(_ service: FoundService) {
            let service = nearby.filter(service, now)
            guard !hasEnded, let advertisement = PeerAdvertisement(service, isPairing: true),
                endpointsByInstance[service.instance] != nil || endpointsByInstance.count < Self.instancesMax
            else { return }
            let endpoints = service.addresses.prefix(DialPlan.endpointsMax).map {
                Endpoint(host: .address($0), port: service.port)
            }
            let instance = service.instance
            endpointsByInstance[instance] = endpoints
            // Wait if there are no addresses yet: they may arrive one by one.
            guard !endpoints.isEmpty, dialed.insert(instance).inserted else { return }
            timers.append(
                after(startID < advertisement.startID ? .zero : Self.passiveDialDelay) { [weak self] in
                    self?.dial(instance)
                })
        }

        fileprivate func lost(_ instance: String) { endpointsByInstance[instance] = nil }

        /// - Parameter instance: A discovered instance; nil for the manually configured peer.
        private func endpoints(of instance: String?) -> [Endpoint] {
            if let instance { return endpointsByInstance[instance] ?? [] }
            return configuration.manualPeer.map { [Endpoint(host: .name($0.host), port: $0.port)] } ?? []
        }

        /// Dials the current endpoints of an instance one after the other. Pauses while an exchange is running.
        private func dial(_ instance: String?, turn: Int = 0) {
            let endpoints = endpoints(of: instance)
            guard !hasEnded, !endpoints.isEmpty else {
                if let instance { dialed.remove(instance) }
                return
            }
            func later() {
                guard !hasEnded else { return }
                _ = after(Self.redialDelay) { [weak self] in self?.dial(instance, turn: turn + 1) }
            }
            guard current == nil else { return later() }
            if instance != nil {
                guard allowance.take(now) else { return later() }
            }
            let bootstrap = ClientBootstrap(group: loop)
                .connectTimeout(TimeAmount(configuration.handshake))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            let endpoint = endpoints[turn % endpoints.count]
            endpoint.connect(bootstrap, on: loop).assumeIsolated().whenComplete { [weak self] result in
                guard let self, case .success(let channel) = result else { return later() }
                guard !hasEnded, current == nil else {
                    channel.close(promise: nil)
                    return later()
                }
                channel.closeFuture.assumeIsolated().whenComplete { _ in later() }
                begin(channel, isDialedHere: true)
            }
        }

        private func accept(_ channel: any Channel) -> Bool {
            guard !hasEnded, let ip = channel.remoteAddress?.ip?.description, admission.enter(ip) else { return false }
            begin(channel, isDialedHere: false, admittedFrom: ip)
            return true
        }

        private func begin(_ channel: any Channel, isDialedHere: Bool, admittedFrom: String? = nil) {
            lastNumber += 1
            let connection = PairingConnection(channel, number: lastNumber, isDialedHere: isDialedHere, hub: self)
            connection.admittedFrom = admittedFrom
            connections[lastNumber] = connection
            connection.timer = after(configuration.handshake) { [weak connection] in connection?.abort() }
            do {
                try connection.prepare(policy)
            } catch {
                connection.abort()
                channel.close(promise: nil)
            }
        }

        /// Starts the exchange from the side that dialed. If both have dialed, the lower ID's connection has a head
        /// start of 300 ms.
        func didProvePeer(_ connection: PairingConnection) {
            guard connection.isDialedHere, let peer = connection.peer else { return }
            guard configuration.identity.peerID > peer else { return start(connection) }
            timers.append(after(.milliseconds(300)) { [weak self] in self?.start(connection) })
        }
    }

    // MARK: - The exchange

    extension PairingHub {
        private func start(_ connection: PairingConnection) {
            guard !hasEnded, let peer = connection.peer, connections[connection.number] != nil else { return }
            guard current == nil else { return connection.abort() }
            var exchange = PairingExchange(
                method: configuration.method, role: connection.isDialedHere ? .initiator : .responder,
                local: configuration.identity.peerID, remote: peer, localName: configuration.name, now: now)
            do throws(PairingError) {
                let steps = try exchange.begin()
                current = (connection, exchange)
                perform(steps, with: connection)
            } catch {
                finish(.failure(UDPPairingError(.failed, error.summary, cause: error)))
            }
        }

        func received(_ message: [UInt8], from connection: PairingConnection) {
            // The side that accepted the connection starts its exchange with the first message.
            if current == nil, !connection.isDialedHere { start(connection) }
            guard !hasEnded, let current, current.connection === connection else { return connection.abort() }
            // From its first message on, the connection has the time of the exchange.
            connection.timer?.cancel()
            connection.timer = after(max(current.exchange.deadline - now, .zero)) { [weak self] in
                self?.checkTime(of: connection)
            }
            proceed { exchange, now throws(PairingError) in try exchange.receive(message, now: now) }
        }

        private func checkTime(of connection: PairingConnection) {
            guard current?.connection === connection else { return }
            proceed { exchange, now throws(PairingError) in
                try exchange.tick(now: now)
                return []
            }
        }

        func malformed(_ connection: PairingConnection) {
            guard current?.connection === connection else { return connection.abort() }
            finish(
                .failure(
                    UDPPairingError(
                        .failed, "the other device sent something that isn't a pairing message", cause: .malformed)))
        }

        private func proceed(_ body: (inout PairingExchange, Duration) throws(PairingError) -> [PairingStep]) {
            guard let connection = current?.connection, var exchange = current?.exchange else { return }
            do throws(PairingError) {
                let steps = try body(&exchange, now)
                current = (connection, exchange)
                perform(steps, with: connection)
            } catch {
                let code: UDPPairingError.Code =
                    error == .declined ? .declined : error == .timedOut ? .timedOut : .failed
                finish(.failure(UDPPairingError(code, error.summary, cause: error)))
            }
        }

        private func perform(_ steps: [PairingStep], with connection: PairingConnection) {
            var peer: TrustedPeer?
            do {
                for step in steps {
                    switch step {
                    case .send(let message): connection.send(message)
                    case .compare(let code): ask(code, connection)
                    case .paired(let name): peer = try paired(name, connection)
                    }
                }
            } catch {
                return finish(.failure(error))
            }
            if let peer { finish(.success(peer)) }
        }

        private func ask(_ code: String, _ connection: PairingConnection) {
            guard let peer = connection.peer else { return }
            let question = PairingQuestion(code: code, peerID: peer)
            Task {
                let agrees = await compare(question)
                loop.execute { self.answered(agrees, connection) }
            }
        }

        private func answered(_ agrees: Bool, _ connection: PairingConnection) {
            guard current?.connection === connection else { return }
            proceed { exchange, now throws(PairingError) in try exchange.confirm(agrees, now: now) }
            if !agrees { finish(.failure(UDPPairingError(.declined, "the user declined: the codes differ"))) }
        }

        private func paired(_ name: String, _ connection: PairingConnection) throws(SecurityError) -> TrustedPeer? {
            guard let id = connection.peer else { return nil }
            let peer = TrustedPeer(
                id: id, name: name, isOwn: configuration.isOwn, isAdministrator: configuration.isAdministrator)
            try configuration.trustedPeers.trust(peer)
            return peer
        }

        /// Handles the end of a connection. If the other side has already sent a message over it, the pairing fails,
        /// because a window allows only one try.
        func ended(_ connection: PairingConnection, unexpectedly: Bool) {
            connections[connection.number] = nil
            if let address = connection.admittedFrom { admission.leave(address) }
            connection.admittedFrom = nil
            guard unexpectedly, current?.connection === connection else { return }
            guard connection.hasReceivedMessage else {
                current = nil
                return
            }
            current = nil
            finish(.failure(UDPPairingError(.disconnected, "the other device disconnected during the pairing")))
        }
    }

    /// Forwards the discovery's reports to the event loop.
    private final class PairingBridge: ServiceObserver, @unchecked Sendable {
        // Written only once.
        private weak var hub: PairingHub?

        init(_ hub: PairingHub) { self.hub = hub }

        func found(_ service: FoundService) { perform { $0.found(service) } }
        func lost(instance: String) { perform { $0.lost(instance) } }
        // Ignored: pairing doesn't use the hint, which depends on the label.
        func renamed(to instance: String) {}
        func failed(_ error: DiscoveryError) {}

        private func perform(_ body: @escaping @Sendable (PairingHub) -> Void) {
            guard let hub else { return }
            hub.loop.execute { body(hub) }
        }
    }
#endif
