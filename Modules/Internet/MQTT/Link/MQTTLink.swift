#if MQTT
    public import MeshBus
    import MeshSecurity
    public import MeshTransport

    /// Paired peers that reach each other through an MQTT 5 broker, which they do not trust: every message is sealed.
    ///
    /// Safe to use from any thread. Two threads work for it: the client's, which calls the observer, and a task that lets
    /// time pass for the core every quarter of a second.
    public final class MQTTLink: TransportLink {
        public let lanes: [LinkLane: PayloadLimit] = [
            .datagram: .mqttDatagram, .queue: .mqttMessage, .latest: .mqttMessage,
        ]
        public let traits = LinkTraits(expectedLatency: .realtime, discoversPeers: false)

        private struct State {
            var core: MQTTLinkCore
            var observer: (any LinkObserver)?
            var tasks: [Task<Void, Never>] = []
        }

        public let configuration: MQTTLinkConfiguration
        private let client: any MQTTClient
        private let state: Locked<State>
        private let diagnostics: Topic<SessionDiagnosticEvent>?
        private let start = ContinuousClock.now

        /// - Throws: `MQTTError` with `invalidArgument`, and what `makeClient` throws.
        public init(
            _ configuration: MQTTLinkConfiguration, diagnostics: Topic<SessionDiagnosticEvent>? = nil
        ) throws {
            self.configuration = configuration
            self.diagnostics = diagnostics
            client =
                try configuration.makeClient?()
                ?? MosquittoClient(
                    broker: configuration.broker, clientID: configuration.clientID,
                    sessionExpiry: configuration.sessionExpiry)
            state = Locked(
                State(
                    core: MQTTLinkCore(
                        own: try OwnKey(configuration.identity), limits: lanes.mapValues(\.bytes),
                        answerTime: configuration.answerTime)))
        }

        public var statistics: MQTTLinkStatistics { state.withLock { $0.core.statistics } }

        private var now: Duration { start.duration(to: .now) }

        public func open(_ observer: any LinkObserver) throws {
            let trusted = configuration.trustedPeers
            state.withLock { state in
                state.observer = observer
                state.core.trust(Set(trusted.peers.map(\.id)))
            }
            try client.open(ClientObserver(self))
            let tasks = [
                Task { [weak self] in
                    for await peers in trusted.changes() {
                        self?.perform { core, _ in core.trust(Set(peers.map(\.id))) }
                    }
                },
                Task { [weak self] in
                    while !Task.isCancelled, let self {
                        self.perform { $0.tick($1) }
                        try? await Task.sleep(for: .milliseconds(250))
                    }
                },
            ]
            state.withLock { $0.tasks = tasks }
        }

        public func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
            let sealed = state.withLock { state -> Result<MQTTMessage, LinkError> in
                guard state.observer != nil else { return .failure(LinkError(.closed)) }
                guard let id = PeerID(address.rawValue) else { return .failure(LinkError(.unreachable)) }
                return Result { () throws(LinkError) in try state.core.seal(packet, to: id) }
            }
            try client.publish(try sealed.get())
        }

        public func disconnect(_ address: LinkAddress) {
            guard let id = PeerID(address.rawValue) else { return }
            perform { core, _ in core.disconnect(id) }
        }

        /// Ends the connection to the broker as a broken cable does; the next one follows.
        public func drop() { client.drop() }

        public func close() async {
            let (tasks, wasOpen) = state.withLock { state in
                defer { state.tasks = [] }
                return (state.tasks, state.observer != nil)
            }
            for task in tasks { task.cancel() }
            if wasOpen { perform { core, _ in core.close() } }
            await client.close()
            state.withLock { $0.observer = nil }
            for task in tasks { await task.value }
        }
    }

    extension MQTTLink {
        fileprivate func perform(_ body: (inout MQTTLinkCore, Duration) -> Void) {
            let (directives, observer) = state.withLock { state in
                body(&state.core, now)
                return (state.core.takeDirectives(), state.observer)
            }
            for directive in directives { perform(directive, observer) }
        }

        private func perform(_ directive: MQTTLinkCore.Directive, _ observer: (any LinkObserver)?) {
            switch directive {
            case .subscribe(let filters): client.subscribe(to: filters)
            // One that is not taken is said again, by time or by the next connection.
            case .publish(let message): try? client.publish(message)
            case .found(let id): observer?.found(id.address)
            case .connected(let id): observer?.connected(id.address, as: id.description)
            case .received(let bytes, let lane, let id): observer?.received(bytes, on: lane, from: id.address)
            case .disconnected(let id, let reason): observer?.disconnected(id.address, reason: reason)
            case .report(let id, let reason):
                diagnostics?.publish(.rejected(peerID: id?.description, reason: reason))
            }
        }

        fileprivate func writable() {
            let (peers, observer) = state.withLock { ($0.core.peers.filter { $0.value.key != nil }.keys, $0.observer) }
            for id in peers.sorted() { observer?.writable(id.address) }
        }

        fileprivate func refused(_ reason: String) {
            diagnostics?.publish(.rejected(peerID: nil, reason: reason))
        }
    }

    /// What the client tells, on its thread.
    private final class ClientObserver: MQTTClientObserver {
        private weak let link: MQTTLink?

        init(_ link: MQTTLink) { self.link = link }

        func nextWill() -> MQTTMessage {
            let token = (0..<MQTTPresence.tokenByteCount).map { _ in UInt8.random(in: 0 ... .max) }
            var will = MQTTMessage(topic: "", bytes: [])
            link?.perform { core, _ in will = core.willConnect(token: token) }
            return will
        }

        func connected() { link?.perform { core, _ in core.brokerConnected() } }
        func subscribed() { link?.perform { $0.subscribed($1) } }
        func received(_ bytes: UnsafeRawBufferPointer, on topic: String) {
            link?.perform { $0.received(bytes, on: topic, $1) }
        }
        func writable() { link?.writable() }
        func refused(_ reason: String) { link?.refused(reason) }
        func disconnected(_ reason: String) {
            link?.perform { core, _ in core.brokerDisconnected() }
            link?.refused(reason)
        }
    }

    extension PeerID {
        var address: LinkAddress { LinkAddress(description) }
    }
#endif
