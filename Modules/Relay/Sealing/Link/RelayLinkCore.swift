#if MQTT || WebSocket
    import MeshBase
    import MeshSecurity
    import MeshTransport

    // Terms. Presence is a peer's retained message, or its will (MQTT 5.0, 3.1.2.5): the message that the relay
    // publishes after the peer's connection was lost. The relay or anyone with access to it can forge presence, so it
    // is only a hint. A peer is connected once it has answered a fresh key (`Hello`). It stays connected until it sends
    // a sealed goodbye or doesn't answer a probe. A guest is a peer that a session's member has introduced; it gets
    // live lanes only.
    //
    // Docs/Internals/SecuritySpecification.md, "Sealing through a relay", specifies the seals.

    /// The state and rules of a relay link: presence, keys, published messages and trust. It has no clock and does no
    /// I/O. Callers pass the time of any monotonic clock, and perform the resulting directives in order.
    ///
    /// Memory is bounded by the numbers of trusted peers (`TrustedPeers.countMax`) and guests (`guestsMax`), whatever
    /// arrives.
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
            /// Admitted by a session's member: live lanes only.
            let isGuest: Bool
            var presence: RelayPresence?
            var key: PeerKey?
            let queueTopic: String
            let datagramTopic: String
            var opener: KeptOpener
            var sealer: KeptSealer?
            /// The keys in use.
            var live: LiveSeal?
            /// Keys being agreed on, possibly while others are in use.
            var attempt: LiveSeal?
            /// The backoff of hellos to a peer that is present but doesn't answer.
            var backoff = RelayLinkCore.backoff
            var attemptDue: Duration?
            var lastReceivedAt = Duration.zero
            /// The time at which the peer counts as gone, unless it sends something before.
            var deadline: Duration?

            var isHere: Bool { presence?.isHere == true }

            /// The time of the next `tick` for this peer.
            fileprivate var dueAt: Duration? {
                if let attemptDue { return live == nil ? attemptDue : min(attemptDue, silenceDue) }
                if live != nil { return silenceDue }
                return isHere ? .zero : nil
            }

            private var silenceDue: Duration { deadline ?? lastReceivedAt + RelayLinkCore.silenceMax }

            init(_ id: PeerID, own: OwnKey, isGuest: Bool) {
                self.isGuest = isGuest
                opener = KeptOpener(from: id, to: own)
                queueTopic = RelayTopic.queue(to: id, from: own.id).name
                datagramTopic = RelayTopic.datagram(to: id, from: own.id).name
            }
        }

        static let helloExpirySeconds: UInt32 = 30
        /// A peer is probed after this time without a message. It exceeds delivery's idle interval, so that delivery's
        /// probes usually suffice.
        static let silenceMax = Duration.seconds(30)
        static let guestsMax = 64

        let own: OwnKey
        let limits: [LinkLane: Int]
        /// Maximum time for a peer to answer a probe.
        let answerTime: Duration
        private(set) var token: [UInt8] = []
        private(set) var isConnected = false
        var peers: [PeerID: Peer] = [:]
        private var trusted: Set<PeerID> = []
        private var guests: Set<PeerID> = []
        var statistics = RelayLinkStatistics()
        /// True if this peer's presence has been published on this connection.
        private var isAnnounced = false
        private var presenceBackoff = RelayLinkCore.backoff
        private var presenceDue: Duration? { didSet { planTick(presenceDue) } }
        /// The time of the next `tick`, or earlier; nil if there is none.
        private(set) var dueAt: Duration?
        private var reportedAt: Duration?
        private var directives: [Directive] = []

        init(own: OwnKey, limits: [LinkLane: Int], answerTime: Duration) {
            self.own = own
            self.limits = limits
            self.answerTime = answerTime
        }

        /// The backoff between repetitions of a hello or a presence.
        static var backoff: Backoff { Backoff(from: .seconds(2), to: .seconds(20)) }

        mutating func takeDirectives() -> [Directive] {
            defer { directives = [] }
            return directives
        }

        mutating func direct(_ directive: Directive) { directives.append(directive) }

        /// Changes the state of a trusted peer or guest. Does nothing for unknown peers.
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

        /// Reports a rejected message at most once a second, so that a flooded topic doesn't flood the diagnostics.
        mutating func reject(_ id: PeerID?, _ reason: String, _ now: Duration) {
            if let reportedAt, now - reportedAt < .seconds(1) { return }
            reportedAt = now
            direct(.report(id, reason))
        }
    }

    // MARK: - The relay and the peers to look for

    extension RelayLinkCore {
        /// Prepares the will for a new connection.
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
            direct(.subscribe(filters))
        }

        /// Announces this peer. It waits for the subscription, because only then can this peer receive.
        mutating func subscribed(_ now: Duration) {
            guard isConnected, !isAnnounced else { return }
            announce(now)
        }

        /// Publishes this peer's presence, and repeats it until the relay delivers it back.
        private mutating func announce(_ now: Duration) {
            isAnnounced = true
            presenceDue = now + presenceBackoff.next()
            direct(.publish(presenceMessage(isHere: true)))
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

        /// - Parameter ids: All trusted peers.
        mutating func trust(_ ids: Set<PeerID>) {
            trusted = ids
            updateAdmittedPeers()
        }

        /// - Parameter ids: All guests, at most `guestsMax`. A trusted peer is never a guest.
        mutating func admit(guests ids: Set<PeerID>) {
            guests = ids
            updateAdmittedPeers()
        }

        /// Ends the connections of guests that the user has revoked.
        mutating func refuseGuests(_ isRevoked: (PeerID) -> Bool) {
            guests = guests.filter { !isRevoked($0) }
            updateAdmittedPeers()
        }

        /// Adds and removes peers. A guest that becomes trusted, or the reverse, starts over.
        private mutating func updateAdmittedPeers() {
            for id in peers.keys.sorted() {
                let stays =
                    peers[id]?.isGuest == true ? guests.contains(id) && !trusted.contains(id) : trusted.contains(id)
                guard !stays else { continue }
                sendControl(.leave, to: id)
                end(id, reason: "it is no longer admitted, or its trust has changed")
                peers[id] = nil
                if isConnected, !trusted.contains(id), !guests.contains(id) {
                    direct(.unsubscribe([presenceFilter(id)]))
                }
            }
            let new = trusted.union(guests).filter { peers[$0] == nil && $0 != own.id }.sorted()
            for id in new { peers[id] = Peer(id, own: own, isGuest: !trusted.contains(id)) }
            if isConnected, !new.isEmpty { direct(.subscribe(new.map(presenceFilter))) }
        }

        /// Sends a goodbye to all connected peers.
        mutating func close() {
            for id in peers.keys.sorted() { sendControl(.leave, to: id) }
            guard isConnected else { return }
            direct(.publish(presenceMessage(isHere: false)))
        }

        mutating func tick(_ now: Duration) {
            if let due = presenceDue, due <= now { announce(now) }
            for id in peers.keys.sorted() { tick(id, now) }
            // Compute `dueAt` again, because `planTick` only moves it earlier and some deadlines may have moved later.
            dueAt = presenceDue
            for peer in peers.values where isConnected { planTick(peer.dueAt) }
        }

        private mutating func tick(_ id: PeerID, _ now: Duration) {
            guard let peer = peers[id] else { return }
            if let due = peer.attemptDue, due <= now {
                // Don't answer the peer's earlier key again: it may be outdated.
                peer.attempt?.answered = nil
                sendHello(id, now)
            }
            guard peer.live != nil else {
                // Two present peers always try to connect, even after failures.
                if isConnected, peer.isHere, peer.attemptDue == nil {
                    update(id) { $0.attemptDue = now + .seconds(1) }
                }
                return
            }
            if let deadline = peer.deadline {
                if deadline <= now { end(id, reason: "it didn't answer") }
            } else if now - peer.lastReceivedAt >= Self.silenceMax {
                probe(id, now)
            }
        }

        private func presenceFilter(_ id: PeerID) -> String { RelayTopic.presence(id).name }

        private func presenceMessage(isHere: Bool) -> RelayMessage {
            let presence = RelayPresence(isHere: isHere, token: token, key: own.compressedPublicKey)
            return RelayMessage(topic: RelayTopic.presence(own.id).name, bytes: presence.bytes, isRetained: true)
        }

        /// Handles this peer's own presence, as the relay delivers it to everyone. If it is forged, or the will of an
        /// earlier connection, this peer publishes its presence again.
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
