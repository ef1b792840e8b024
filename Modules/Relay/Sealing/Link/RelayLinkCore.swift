#if MQTT || WebSocket
    import MeshBase
    import MeshSecurity
    import MeshTransport

    /// What the link does, as a value: who is present, which keys there are, what is published and what is believed. No clock
    /// and no I/O; times are of any clock that does not jump, and what to do next comes out as directives, in order.
    ///
    /// Words: *presence* is what a peer's retained message or its will says, which the relay or a stranger can forge. A peer is
    /// *connected* once it has answered a fresh key (`Hello`), and until it takes its leave, sealed, or stays silent.
    ///
    /// Bounds: what it holds is in proportion to the trusted peers (`TrustedPeers.countMax`) and to guests (`guestsMax`), never to
    /// what comes.
    struct RelayLinkCore: Sendable {
        enum Directive: Equatable, Sendable {
            case subscribe([String])
            case unsubscribe([String])
            case publish(RelayMessage)
            case found(PeerID)
            case connected(PeerID)
            case connectedAsGuest(PeerID)
            case received([UInt8], LinkLane, PeerID)
            case disconnected(PeerID, reason: String?)
            case report(PeerID?, String)
        }

        struct Peer: Sendable {
            /// Let in by a session's member: live lanes only.
            let isGuest: Bool
            var presence: RelayPresence?
            var key: PeerKey?
            let queueTopic: String
            let datagramTopic: String
            var opener: KeptOpener
            var sealer: KeptSealer?
            /// Keys in use.
            var live: LiveSeal?
            /// Keys that are being agreed on, maybe while others are in use.
            var attempt: LiveSeal?
            /// Of greetings while it is said to be here and does not answer.
            var backoff = RelayLinkCore.backoff
            var attemptDue: Duration?
            var heardAt = Duration.zero
            /// When it counts as gone unless it is heard.
            var deadline: Duration?

            var isHere: Bool { presence?.isHere == true }

            /// When `tick` has something to do for this peer.
            fileprivate var dueAt: Duration? {
                if let attemptDue { return live == nil ? attemptDue : min(attemptDue, silenceDue) }
                if live != nil { return silenceDue }
                return isHere ? .zero : nil
            }

            private var silenceDue: Duration { deadline ?? heardAt + RelayLinkCore.silenceMax }

            init(_ id: PeerID, own: OwnKey, isGuest: Bool) {
                self.isGuest = isGuest
                opener = KeptOpener(from: id, to: own)
                queueTopic = RelayTopic.queue(to: id, from: own.id).name
                datagramTopic = RelayTopic.datagram(to: id, from: own.id).name
            }
        }

        static let helloExpirySeconds: UInt32 = 30
        /// A peer is probed after this time without a message. Longer than delivery's idle interval, so that its probes serve.
        static let silenceMax = Duration.seconds(30)
        static let guestsMax = 64

        let own: OwnKey
        let limits: [LinkLane: Int]
        /// How long a peer may take to answer that is said to have gone, or has been silent.
        let answerTime: Duration
        private(set) var token: [UInt8] = []
        private(set) var isConnected = false
        var peers: [PeerID: Peer] = [:]
        private var trusted: Set<PeerID> = []
        private var guests: Set<PeerID> = []
        var statistics = RelayLinkStatistics()
        /// Whether it has been said on this connection that this peer is there.
        private var isAnnounced = false
        private var presenceBackoff = RelayLinkCore.backoff
        private var presenceDue: Duration? { didSet { planTick(presenceDue) } }
        /// When the next `tick` is due; nil for never. Never too late.
        private(set) var dueAt: Duration?
        private var reportedAt: Duration?
        private var directives: [Directive] = []

        init(own: OwnKey, limits: [LinkLane: Int], answerTime: Duration) {
            self.own = own
            self.limits = limits
            self.answerTime = answerTime
        }

        /// Before what was said is said again.
        static var backoff: Backoff { Backoff(from: .seconds(2), to: .seconds(20)) }

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
            planTick(isConnected ? peer.dueAt : nil)
        }

        private mutating func planTick(_ time: Duration?) {
            guard let time else { return }
            dueAt = min(dueAt ?? time, time)
        }

        /// Says what was rejected, at most once a second: who floods a topic must not flood the diagnostics.
        mutating func reject(_ id: PeerID?, _ reason: String, _ now: Duration) {
            if let reportedAt, now - reportedAt < .seconds(1) { return }
            reportedAt = now
            tell(.report(id, reason))
        }
    }

    // MARK: - The broker and the peers to look for

    extension RelayLinkCore {
        /// A new connection is about to be asked for.
        /// - Parameter token: 16 random bytes.
        mutating func willConnect(token: [UInt8]) -> RelayMessage {
            self.token = token
            return presenceMessage(isHere: false)
        }

        mutating func relayConnected() {
            isConnected = true
            (isAnnounced, presenceDue) = (false, nil)
            presenceBackoff.reset()
            let filters =
                [RelayTopic.inbox(of: own.id), RelayTopic.presence(own.id).name]
                + peers.keys.sorted().map(presenceFilter)
            tell(.subscribe(filters))
        }

        /// Only who can receive says that it is there.
        mutating func subscribed(_ now: Duration) {
            guard isConnected, !isAnnounced else { return }
            announce(now)
        }

        /// Says that this peer is there, until the relay shows that it has heard so.
        private mutating func announce(_ now: Duration) {
            isAnnounced = true
            presenceDue = now + presenceBackoff.next()
            tell(.publish(presenceMessage(isHere: true)))
        }

        mutating func relayDisconnected() {
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
            trusted = ids
            letIn()
        }

        /// - Parameter ids: everybody who is a guest now, `guestsMax` at most; whom this peer trusts is none.
        mutating func admit(guests ids: Set<PeerID>) {
            guests = ids
            letIn()
        }

        /// Ends the connections of guests that the user has revoked.
        mutating func refuseGuests(_ isRevoked: (PeerID) -> Bool) {
            guests = guests.filter { !isRevoked($0) }
            letIn()
        }

        /// A guest that comes to be trusted begins anew, and so does the opposite.
        private mutating func letIn() {
            for id in peers.keys.sorted() {
                let stays =
                    peers[id]?.isGuest == true ? guests.contains(id) && !trusted.contains(id) : trusted.contains(id)
                guard !stays else { continue }
                sendControl(.leave, to: id)
                end(id, reason: "it is let in no longer, or otherwise")
                peers[id] = nil
                if isConnected, !trusted.contains(id), !guests.contains(id) {
                    tell(.unsubscribe([presenceFilter(id)]))
                }
            }
            let new = trusted.union(guests).filter { peers[$0] == nil && $0 != own.id }.sorted()
            for id in new { peers[id] = Peer(id, own: own, isGuest: !trusted.contains(id)) }
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
            // Only here deadlines that have moved away are noticed.
            dueAt = presenceDue
            for peer in peers.values where isConnected { planTick(peer.dueAt) }
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
            } else if now - peer.heardAt >= Self.silenceMax {
                probe(id, now)
            }
        }

        private func presenceFilter(_ id: PeerID) -> String { RelayTopic.presence(id).name }

        private func presenceMessage(isHere: Bool) -> RelayMessage {
            let presence = RelayPresence(isHere: isHere, token: token, key: own.compressedPublicKey)
            return RelayMessage(topic: RelayTopic.presence(own.id).name, bytes: presence.bytes, isRetained: true)
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
