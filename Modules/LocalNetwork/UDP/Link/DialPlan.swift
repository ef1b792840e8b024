#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity

    // Terms of dialing:
    // - target: a trusted peer to find by discovery, or a manually configured address.
    // - round: one attempt to reach a target: overlapping tries at its endpoints, as in RFC 8305 (see `DialRound`).
    // - location: the endpoints that one discovered instance announces for a peer.
    // - start ID: a random number that a link generates when it starts. A new one shows that the peer has restarted.
    // - hold: a reason not to dial a target until its peer restarts or is paired again.
    // - higherIDDialDelay: the peer with the higher ID lets the other one dial first.
    // - allowance: a token bucket that limits the dials to discovered addresses, which any host on the network can
    //   announce.
    // Failed rounds are repeated with exponential backoff and jitter.

    /// The peers and addresses to dial, and the time for each. A value; callers pass in the current time.
    ///
    /// When two peers find each other, the one with the lower ID dials at once. The other dials if no connection has
    /// arrived after `higherIDDialDelay`. Failed rounds are repeated at growing intervals. A peer that has restarted or
    /// moved is dialed soon. While a peer is connected, neither side dials it.
    struct DialPlan {
        enum Target: Hashable {
            case peer(PeerID)
            /// A manually configured address, by its index in the configuration.
            case manual(Int)
        }

        /// One round of tries. The caller reports its result with `connected` or `refused`.
        struct Round: Equatable {
            var target: Target
            /// The peer that must be there; nil for any trusted peer.
            var expected: PeerID?
            var endpoints: [Endpoint]
        }

        /// The reason not to dial for now.
        enum Hold: Equatable {
            case untilRestart, untilTrust
        }

        struct Entry {
            /// The peer that must be there; nil for any trusted peer.
            var expected: PeerID?
            /// The peer that was last connected through this target.
            var peer: PeerID?
            var dueAt: Duration?
            var isDialing = false
            var hold: Hold?
            var backoff: Backoff
            /// The manually configured endpoint; nil for a peer to find by discovery.
            var endpoint: Endpoint?
            /// The endpoint at which the peer was last connected.
            var provenEndpoint: Endpoint?
            /// The limit for dialing the peer's discovered addresses.
            var allowance = DialPlan.allowance
            /// The discovered addresses of the peer, by instance.
            var locations: [String: AnnouncedLocation] = [:]
        }

        struct AnnouncedLocation: Equatable {
            var startID: UInt64
            var endpoints: [Endpoint]
        }

        static let endpointsMax = 16
        /// The initial limit for dialing one peer's discovered addresses. A connection through one of them refills it.
        static var allowance: TokenBucket { TokenBucket(perSecond: 1, atOnce: 32) }
        /// The limit for dialing the discovered addresses of all peers together.
        private var allowanceOfAll = TokenBucket(perSecond: 4, atOnce: 128)
        /// A peer announces one instance, and for a while also its previous one.
        static let instancesExpected = 4

        let local: PeerID
        let times: UDPLinkTimes
        var random: SplitMix64
        var entries: [Target: Entry] = [:]
        var connected: Set<PeerID> = []
        var services = ServiceTable()
        var trusted: [PeerID] = []

        init(local: PeerID, manualPeers: [UDPManualPeer], times: UDPLinkTimes, seed: UInt64) {
            self.local = local
            self.times = times
            random = SplitMix64(seed: seed)
            for (number, manual) in manualPeers.enumerated() {
                var entry = Entry(expected: manual.id, peer: manual.id, dueAt: .zero, backoff: backoff())
                entry.endpoint = Endpoint(host: .name(manual.host), port: manual.port)
                entries[.manual(number)] = entry
            }
        }

        func backoff() -> Backoff { Backoff(from: times.backoffMin, to: times.backoffMax) }

        /// The time at which the next round is due; nil if there is none.
        var dueAt: Duration? { entries.values.lazy.compactMap(\.dueAt).min() }

        mutating func takeDue(_ now: Duration) -> [Round] {
            let due = entries.filter { $0.value.dueAt.map { $0 <= now } ?? false }.keys.sorted(by: Self.order)
            var rounds: [Round] = []
            for target in due {
                guard var entry = entries[target] else { continue }
                var endpoints = endpoints(of: entry)
                if entry.endpoint == nil, !endpoints.isEmpty {
                    let count = min(entry.allowance.available(now), allowanceOfAll.available(now), endpoints.count)
                    guard count > 0 else {
                        entry.dueAt = now + .seconds(1)
                        entries[target] = entry
                        continue
                    }
                    endpoints = Array(endpoints.prefix(count))
                    entry.allowance.take(now, count: count)
                    allowanceOfAll.take(now, count: count)
                }
                entry.dueAt = nil
                entry.isDialing = !endpoints.isEmpty
                entries[target] = entry
                guard entry.isDialing else { continue }
                rounds.append(Round(target: target, expected: entry.expected, endpoints: endpoints))
            }
            return rounds
        }

        /// Returns the endpoint where the peer was last connected, if it is still announced, then those of the newest
        /// instances. With more instances than expected, some are false. Their order is then random, so that the latest
        /// announcement doesn't always come first.
        private mutating func endpoints(of entry: Entry) -> [Endpoint] {
            if let endpoint = entry.endpoint { return [endpoint] }
            var instances = services.newestFirst(entry.locations.keys)
            if instances.count > Self.instancesExpected { instances.shuffle(using: &random) }
            var endpoints: [Endpoint] = []
            if let proven = entry.provenEndpoint,
                entry.locations.values.contains(where: { $0.endpoints.contains(proven) })
            {
                endpoints.append(proven)
            }
            for instance in instances {
                for endpoint in entry.locations[instance]?.endpoints ?? [] where !endpoints.contains(endpoint) {
                    endpoints.append(endpoint)
                    // Stop early: comparing all endpoints with each other takes quadratic time.
                    if endpoints.count == Self.endpointsMax { return endpoints }
                }
            }
            return endpoints
        }

        private static func order(_ left: Target, _ right: Target) -> Bool {
            switch (left, right) {
            case (.peer(let left), .peer(let right)): left < right
            case (.manual(let left), .manual(let right)): left < right
            case (.manual, .peer): true
            case (.peer, .manual): false
            }
        }
    }

    // MARK: - Outcomes

    extension DialPlan {
        /// Forgets a target whose address turned out to be this peer's own.
        mutating func isSelf(_ target: Target) { entries[target] = nil }

        /// Notes that a peer is connected, whichever side dialed.
        mutating func connected(_ peer: PeerID, through target: Target?, at endpoint: Endpoint?) {
            connected.insert(peer)
            if let target {
                entries[target]?.peer = peer
                entries[target]?.provenEndpoint = endpoint
                entries[target]?.allowance.refill()
            }
            for target in targets(of: peer) {
                entries[target]?.isDialing = false
                entries[target]?.dueAt = nil
                entries[target]?.hold = nil
            }
        }

        /// Notes that a connection has ended, and schedules the next round.
        /// - Parameters:
        ///   - lasted: The duration of the connection. A connection that ends at once doesn't reset the backoff.
        ///   - code: The code of the peer's goodbye.
        mutating func disconnected(_ peer: PeerID, lasted: Duration, _ code: Goodbye.Code?, _ now: Duration) {
            connected.remove(peer)
            for target in targets(of: peer) {
                if lasted >= min(times.heartbeat, .seconds(1)) { entries[target]?.backoff.reset() }
                apply(code, to: target, now)
            }
        }

        /// Notes that a round ended without a connection. `code` is that of the peer's goodbye; nil if it sent none.
        mutating func refused(_ target: Target, _ code: Goodbye.Code?, _ now: Duration) {
            guard entries[target]?.isDialing == true else { return }
            entries[target]?.isDialing = false
            apply(code, to: target, now)
        }

        private mutating func apply(_ code: Goodbye.Code?, to target: Target, _ now: Duration) {
            switch code {
            case .unpaired: hold(target, .untilTrust)
            case .closing, .unsupportedVersion, .clonedIdentity:
                // No announcement shows when a peer at a manually configured address restarts.
                guard entries[target]?.endpoint == nil else {
                    return schedule(target, now + (code == .closing ? times.higherIDDialDelay : times.backoffMax))
                }
                hold(target, .untilRestart)
            case .duplicate:
                // The other connection is alive, or has died and the peer hasn't noticed yet. It notices as late as
                // this side.
                schedule(target, now + times.heartbeat)
            case .protocolError, nil: retry(target, now)
            }
        }

        private mutating func hold(_ target: Target, _ hold: Hold) {
            entries[target]?.hold = hold
            entries[target]?.dueAt = nil
        }

        private mutating func retry(_ target: Target, _ now: Duration) {
            guard let delay = entries[target]?.backoff.next(&random) else { return }
            var isHigherID = false
            if case .peer(let peer) = target { isHigherID = peer < local }
            schedule(target, now + (isHigherID ? max(delay, times.higherIDDialDelay) : delay))
        }

        /// Schedules a round, or moves it forward, unless the target is dialing, connected or on hold.
        mutating func schedule(_ target: Target, _ time: Duration) {
            guard let entry = entries[target], !entry.isDialing, entry.hold == nil,
                entry.peer.map({ !connected.contains($0) }) ?? true
            else { return }
            entries[target]?.dueAt = min(entry.dueAt ?? time, time)
        }

        private func targets(of peer: PeerID) -> [Target] { entries.filter { $0.value.peer == peer }.map(\.key) }
    }
#endif
