#if MQTT
    import MeshSecurity
    import MeshTransport

    /// What the link does, as a value: who is present, which keys there are, what is published and what is believed. No clock
    /// and no I/O; times are of any clock that does not jump, and what to do next comes out as directives, in order.
    ///
    /// Words: *presence* is what a peer's retained message or its will says, which a broker or a stranger can forge. A peer is
    /// *connected* once it has answered a fresh key (`Hello`), and until it takes its leave, sealed, or stays silent.
    ///
    /// Bounds: what it holds is in proportion to the trusted peers (`TrustedPeers.countMax`), never to what comes.
    struct MQTTLinkCore: Sendable {
        enum Directive: Equatable, Sendable {
            case subscribe([String])
            case publish(MQTTMessage)
            case found(PeerID)
            case connected(PeerID)
            case received([UInt8], LinkLane, PeerID)
            case disconnected(PeerID, reason: String?)
            case report(PeerID?, String)
        }

        struct Peer: Sendable {
            var presence: MQTTPresence?
            var key: PeerKey?
            let queueTopic: String
            let datagramTopic: String
            var opener: KeptOpener
            var sealer: KeptSealer?
            /// Keys in use.
            var live: LiveSeal?
            /// Keys that are being agreed on, maybe while others are in use.
            var attempt: LiveSeal?
            var attemptCount = 0
            var attemptDue: Duration?
            var heardAt = Duration.zero
            /// When it counts as gone unless it is heard.
            var deadline: Duration?

            var isHere: Bool { presence?.isHere == true }

            init(_ id: PeerID, own: OwnKey) {
                opener = KeptOpener(from: id, to: own)
                queueTopic = MQTTTopic.queue(to: id, from: own.id).name
                datagramTopic = MQTTTopic.datagram(to: id, from: own.id).name
            }
        }

        static let helloExpirySeconds: UInt32 = 30
        static let heartbeat = Duration.seconds(10)

        let own: OwnKey
        let limits: [LinkLane: Int]
        /// How long a peer may take to answer that is said to have gone, or has been silent.
        let answerTime: Duration
        private(set) var token: [UInt8] = []
        private(set) var isConnected = false
        var peers: [PeerID: Peer] = [:]
        var statistics = MQTTLinkStatistics()
        /// How often it has been said on this connection that this peer is there.
        private var presenceCount = 0
        private var presenceDue: Duration?
        private var reportedAt: Duration?
        private var directives: [Directive] = []

        init(own: OwnKey, limits: [LinkLane: Int], answerTime: Duration) {
            self.own = own
            self.limits = limits
            self.answerTime = answerTime
        }

        /// What is said again and again is said ever more slowly.
        static func pause(after count: Int) -> Duration { .seconds(min(1 << min(count, 5), 20)) }

        mutating func takeDirectives() -> [Directive] {
            defer { directives = [] }
            return directives
        }

        mutating func tell(_ directive: Directive) { directives.append(directive) }

        /// Changes what is known of a trusted peer; nothing of a stranger.
        mutating func update(_ id: PeerID, _ body: (inout Peer) -> Void) {
            guard var peer = peers[id] else { return }
            body(&peer)
            peers[id] = peer
        }

        /// Says what was rejected, at most once a second: who floods a topic must not flood the diagnostics.
        mutating func reject(_ id: PeerID?, _ reason: String, _ now: Duration) {
            if let reportedAt, now - reportedAt < .seconds(1) { return }
            reportedAt = now
            tell(.report(id, reason))
        }
    }

    // MARK: - The broker and the peers to look for

    extension MQTTLinkCore {
        /// A new connection is about to be asked for.
        /// - Parameter token: 16 random bytes.
        mutating func willConnect(token: [UInt8]) -> MQTTMessage {
            self.token = token
            return presenceMessage(isHere: false)
        }

        mutating func brokerConnected() {
            isConnected = true
            (presenceCount, presenceDue) = (0, nil)
            let filters =
                [MQTTTopic.inbox(of: own.id), MQTTTopic.presence(own.id).name] + peers.keys.sorted().map(presenceFilter)
            tell(.subscribe(filters))
        }

        /// Only who can receive says that it is there.
        mutating func subscribed(_ now: Duration) {
            guard isConnected, presenceCount == 0 else { return }
            announce(now)
        }

        /// Says that this peer is there, until the broker shows that it has heard so.
        private mutating func announce(_ now: Duration) {
            presenceCount += 1
            presenceDue = now + Self.pause(after: presenceCount)
            tell(.publish(presenceMessage(isHere: true)))
        }

        mutating func brokerDisconnected() {
            isConnected = false
            presenceDue = nil
            for id in peers.keys.sorted() {
                update(id) {
                    $0.presence = nil
                    $0.attempt = nil
                    $0.attemptDue = nil
                }
                end(id, reason: nil)
            }
        }

        /// - Parameter ids: everybody who is trusted now.
        mutating func trust(_ ids: Set<PeerID>) {
            for id in peers.keys.sorted() where !ids.contains(id) {
                end(id, reason: "it is trusted no longer")
                peers[id] = nil
            }
            let new = ids.filter { peers[$0] == nil && $0 != own.id }.sorted()
            for id in new { peers[id] = Peer(id, own: own) }
            if isConnected, !new.isEmpty { tell(.subscribe(new.map(presenceFilter))) }
        }

        /// The last word, to everybody who is there.
        mutating func close() {
            for id in peers.keys.sorted() { sendControl(.leave, to: id) }
            guard isConnected else { return }
            tell(.publish(presenceMessage(isHere: false)))
        }

        mutating func tick(_ now: Duration) {
            if let due = presenceDue, due <= now { announce(now) }
            for id in peers.keys.sorted() { tick(id, now) }
        }

        private mutating func tick(_ id: PeerID, _ now: Duration) {
            guard let peer = peers[id] else { return }
            if let due = peer.attemptDue, due <= now {
                // What it said before may be from another time.
                peer.attempt?.answered = nil
                sendHello(id, now)
            }
            guard peer.live != nil else {
                // Whatever came between two that are both there, they meet again.
                if isConnected, peer.isHere, peer.attemptDue == nil {
                    update(id) { $0.attemptDue = now + .seconds(1) }
                }
                return
            }
            if let deadline = peer.deadline {
                if deadline <= now { end(id, reason: "it has not answered") }
            } else if now - peer.heardAt >= Self.heartbeat {
                probe(id, now)
            }
        }

        private func presenceFilter(_ id: PeerID) -> String { MQTTTopic.presence(id).name }

        private func presenceMessage(isHere: Bool) -> MQTTMessage {
            let presence = MQTTPresence(isHere: isHere, token: token, key: own.compressedPublicKey)
            return MQTTMessage(topic: MQTTTopic.presence(own.id).name, bytes: presence.bytes, isRetained: true)
        }

        /// What all others hear of this peer: its own word, or somebody else's, or the will of an earlier connection.
        mutating func ownPresence(_ bytes: UnsafeRawBufferPointer, _ now: Duration) {
            guard isConnected else { return }
            if bytes.elementsEqual(presenceMessage(isHere: true).bytes) {
                presenceDue = nil
            } else if presenceDue == nil {
                presenceDue = now + .seconds(1)
            }
        }
    }
#endif
