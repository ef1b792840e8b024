#if MQTT || WebSocket
    public import MeshBase
    public import MeshSecurity
    public import MeshTransport

    /// A link between paired peers through an untrusted relay. Every message except presence is sealed.
    ///
    /// Guests connect on live lanes only; the relay keeps nothing for them.
    ///
    /// Safe to use from any thread. The observer is called on the client's thread, in the link's tasks, or in
    /// `disconnect` and `close`. Except for `writable`, calls come one at a time and in the core's order.
    public final class RelayLink: GuestAdmittingLink {
        public let lanes: [LinkLane: PayloadLimit]
        public let traits = LinkTraits(
            expectedLatency: .realtime, discoversPeers: false, isSecured: true, provesPeers: true)

        private struct State {
            var core: RelayLinkCore
            var observer: (any LinkObserver)?
            var tasks: [Task<Void, Never>] = []
            /// True while a thread performs directives, including those added meanwhile.
            var isPerforming = false

            /// Takes the next directives; nil if there are none. Then another thread may perform directives.
            mutating func next() -> (directives: [RelayLinkCore.Directive], observer: (any LinkObserver)?)? {
                let directives = core.takeDirectives()
                isPerforming = !directives.isEmpty
                return isPerforming ? (directives, observer) : nil
            }
        }

        /// The peers that the link connects to, in addition to guests.
        public let trustedPeers: TrustedPeers
        private let client: any RelayClient
        private let state: Locked<State>
        private let diagnostics: Topic<SessionDiagnosticEvent>?
        private let clock = SystemClock()
        private let timer: DueTimer

        /// Creates a link through a relay. It connects once it is opened.
        ///
        /// - Parameters:
        ///   - identity: The identity of this peer.
        ///   - trustedPeers: The peers to connect to, in addition to guests.
        ///   - lanes: The sizes of sealed packets that the relay accepts on `datagram`, `queue` and `latest`.
        ///   - answerTime: Maximum time for a peer to answer a probe before it counts as gone. Peers are probed when
        ///     their will arrives, or after 30 s without a message. A time below the round trip through the relay
        ///     disconnects present peers.
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

        /// The relay's address, for display.
        public var relayAddress: String { client.address }

        public func open(_ observer: any LinkObserver) throws {
            let trusted = trustedPeers
            state.withLock { state in
                state.observer = observer
                state.core.trust(Set(trusted.peers.map(\.id)))
            }
            do {
                try client.open(ClientObserver(self))
            } catch {
                state.withLock { $0.observer = nil }
                throw error
            }
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

        /// Returns true if the peer was paired as the user's own (`TrustedPeer.isOwn`).
        public func isOwn(_ peerID: String) -> Bool { trustedPeers.isOwn(peerID) }

        /// Returns the revoked peers that weren't paired again (`TrustedPeers.revoked`): now, and after each change.
        public func revokedPeers() -> AsyncStream<Set<String>>? { trustedPeers.revokedPeers() }

        public func disconnect(_ address: LinkAddress) {
            guard let id = PeerID(address.rawValue) else { return }
            perform { core, _ in core.disconnect(id) }
        }

        public func admit(guests peerIDs: Set<String>) {
            let ids = peerIDs.compactMap { PeerID($0) }.filter { !trustedPeers.isRevoked($0) }
            let guests = Set(ids.sorted().prefix(RelayLinkCore.guestsMax))
            // The timer performs the directives, because the caller must not be called back from here.
            state.withLock { $0.core.admit(guests: guests) }
            timer.wakeNow()
        }

        /// Breaks the connection to the relay, as a lost network does. The client reconnects.
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
            // The core repeats a message that isn't accepted, later or on the next connection.
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

    /// Forwards the client's events to the core, on the client's thread.
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
        /// The number of packets that the link sealed and passed to its relay client.
        public var packetsSent = 0
        /// The number of packets from peers that could be opened.
        public var packetsReceived = 0
        /// The number of messages rejected because the peer in their topic didn't seal them.
        public var forged = 0
        /// The number of messages rejected because they were seen before, or a newer one was. Includes the relay's own
        /// repetitions.
        public var replayed = 0
        /// The number of messages ignored because their sender isn't trusted, or is a guest on a kept lane, or has no
        /// keys in use.
        public var strangers = 0

        /// Creates counters that are all zero.
        public init() {}
    }

    extension PeerID {
        var address: LinkAddress { LinkAddress(description) }
    }
#endif
