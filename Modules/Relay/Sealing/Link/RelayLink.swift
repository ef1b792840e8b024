#if MQTT || WebSocket
    public import MeshBase
    public import MeshSecurity
    public import MeshTransport

    /// Paired peers that reach each other through a relay, which they do not trust: every message is sealed.
    ///
    /// Guests meet live only: they are let in and looked for as trusted peers are, and nothing is kept for them.
    ///
    /// Safe to use from any thread. Two threads work for it: the client's, and a task that calls the core when something is
    /// due. Either calls the observer, one call at a time and in the core's order.
    public final class RelayLink: GuestAdmittingLink {
        public let lanes: [LinkLane: PayloadLimit]
        public let traits = LinkTraits(
            expectedLatency: .realtime, discoversPeers: false, isSecured: true, provesPeers: true)

        private struct State {
            var core: RelayLinkCore
            var observer: (any LinkObserver)?
            var tasks: [Task<Void, Never>] = []
            /// Somebody performs directives, and will perform those that come meanwhile.
            var isPerforming = false

            /// - Returns: nil when there is nothing to do, and somebody else may begin.
            mutating func next() -> (directives: [RelayLinkCore.Directive], observer: (any LinkObserver)?)? {
                let directives = core.takeDirectives()
                isPerforming = !directives.isEmpty
                return isPerforming ? (directives, observer) : nil
            }
        }

        /// The peers that the link connects. It refuses all others.
        public let trustedPeers: TrustedPeers
        private let client: any RelayClient
        private let state: Locked<State>
        private let diagnostics: Topic<SessionDiagnosticEvent>?
        private let clock = SystemClock()
        private let timer: DueTimer

        /// Creates a link through a relay. It connects once it is opened.
        ///
        /// - Parameters:
        ///   - identity: the identity of this peer.
        ///   - trustedPeers: the peers that it connects to, in addition to guests.
        ///   - lanes: what the relay takes on `datagram`, `queue` and `latest`, sealed.
        ///   - answerTime: maximum time for a peer to answer before it counts as gone. It is asked when its will has
        ///     arrived, or after 30 s without a message. A time shorter than a round trip through the relay disconnects
        ///     peers that are there.
        /// - Throws: `SecurityError` with `invalidArgument`.
        public init(
            identity: PeerIdentity, trustedPeers: TrustedPeers, lanes: [LinkLane: PayloadLimit],
            client: any RelayClient, answerTime: Duration = .seconds(4),
            diagnostics: Topic<SessionDiagnosticEvent>? = nil
        ) throws(SecurityError) {
            (self.trustedPeers, self.lanes, self.client, self.diagnostics) = (trustedPeers, lanes, client, diagnostics)
            timer = DueTimer(clock)
            state = Locked(
                State(
                    core: RelayLinkCore(
                        own: try OwnKey(identity), limits: lanes.mapValues(\.bytes), answerTime: answerTime)))
        }

        /// The counters of the link so far.
        public var statistics: RelayLinkStatistics { state.withLock { $0.core.statistics } }

        /// The relay's address, for people.
        public var relayAddress: String { client.address }

        public func open(_ observer: any LinkObserver) throws {
            let trusted = trustedPeers
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
                    for await _ in trusted.revokedPeers() {
                        self?.perform { core, _ in core.refuseGuests { trusted.isRevoked($0) } }
                    }
                },
                timer.run { [weak self] in self?.perform { $0.tick($1) } },
            ]
            state.withLock { $0.tasks = tasks }
        }

        public func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
            let sealed = state.withLock { state -> Result<RelayMessage, LinkError> in
                guard state.observer != nil else { return .failure(LinkError(.closed)) }
                guard let id = PeerID(address.rawValue) else { return .failure(LinkError(.unreachable)) }
                return Result { () throws(LinkError) in try state.core.seal(packet, to: id) }
            }
            try client.publish(try sealed.get())
        }

        /// Whether the peer was paired as the user's own (`TrustedPeer.isOwn`).
        public func isOwn(_ peerID: String) -> Bool { trustedPeers.isOwn(peerID) }

        /// The peers that were revoked and not paired again (`TrustedPeers.revoked`).
        public func revokedPeers() -> AsyncStream<Set<String>>? { trustedPeers.revokedPeers() }

        public func disconnect(_ address: LinkAddress) {
            guard let id = PeerID(address.rawValue) else { return }
            perform { core, _ in core.disconnect(id) }
        }

        public func admit(guests peerIDs: Set<String>) {
            let ids = peerIDs.compactMap { PeerID($0) }.filter { !trustedPeers.isRevoked($0) }
            let guests = Set(ids.sorted().prefix(RelayLinkCore.guestsMax))
            // Its caller must not hear of it from within.
            state.withLock { $0.core.admit(guests: guests) }
            timer.wakeNow()
        }

        /// Ends the connection to the relay as a broken cable does; the next one follows.
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

    extension RelayLink {
        fileprivate func perform(_ body: (inout RelayLinkCore, Duration) -> Void) {
            var work = state.withLock { state in
                body(&state.core, clock.elapsed)
                timer.wake(at: state.core.dueAt)
                return state.isPerforming ? nil : state.next()
            }
            while let (directives, observer) = work {
                for directive in directives { perform(directive, observer) }
                work = state.withLock { $0.next() }
            }
        }

        private func perform(_ directive: RelayLinkCore.Directive, _ observer: (any LinkObserver)?) {
            switch directive {
            case .subscribe(let topics): client.subscribe(to: topics)
            case .unsubscribe(let topics): client.unsubscribe(from: topics)
            // One that is not taken is said again, by time or by the next connection.
            case .publish(let message): try? client.publish(message)
            case .found(let id): observer?.found(id.address, as: id.description)
            case .connected(let id): observer?.connected(id.address, as: id.description)
            case .connectedAsGuest(let id): observer?.connected(id.address, asGuest: id.description)
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
    private final class ClientObserver: RelayClientObserver {
        private weak let link: RelayLink?

        init(_ link: RelayLink) { self.link = link }

        func nextWill() -> RelayMessage {
            let token = (0..<RelayPresence.tokenByteCount).map { _ in UInt8.random(in: 0 ... .max) }
            var will = RelayMessage(topic: "", bytes: [])
            link?.perform { core, _ in will = core.willConnect(token: token) }
            return will
        }

        func connected() { link?.perform { core, _ in core.relayConnected() } }
        func subscribed() { link?.perform { $0.subscribed($1) } }
        func received(_ bytes: UnsafeRawBufferPointer, on topic: String) {
            link?.perform { $0.received(bytes, on: topic, $1) }
        }
        func writable() { link?.writable() }
        func refused(_ reason: String) { link?.refused(reason) }
        func disconnected(_ reason: String) {
            link?.perform { core, _ in core.relayDisconnected() }
            link?.refused(reason)
        }
    }

    /// The counters of a link's messages.
    public struct RelayLinkStatistics: Hashable, Sendable {
        /// Messages given to the relay.
        public var packetsSent = 0
        /// Messages of peers that were opened.
        public var packetsReceived = 0
        /// The number of messages that the peer named by the topic didn't seal. They are refused.
        public var forged = 0
        /// Seen before, or overtaken by a newer one: refused. A relay's own repetitions count here too.
        public var replayed = 0
        /// The number of messages from peers that aren't trusted, or under keys that have expired. They are ignored.
        public var strangers = 0

        /// Creates counters that are all zero.
        public init() {}
    }

    extension PeerID {
        var address: LinkAddress { LinkAddress(description) }
    }
#endif
