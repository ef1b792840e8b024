#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity

    /// Whom to dial, where and when. A value; time is passed in.
    ///
    /// Of two peers that find each other the one with the lower id dials at once, the other when nothing has come of that for
    /// a while. What fails is tried again, ever later; a peer that has begun anew, or is somewhere else, is tried soon. While
    /// a peer is connected nobody dials it, whoever has dialed.
    struct DialPlan {
        enum Target: Hashable {
            case peer(PeerID)
            /// A place that was named by hand, by its number.
            case manual(Int)
        }

        /// One round of tries, to be reported as `failed` or `connected`.
        struct Round: Equatable {
            var target: Target
            /// Who must be there; nil for any trusted peer.
            var expected: PeerID?
            var endpoints: [Endpoint]
        }

        /// Why it is of no use to dial at present.
        enum Hold: Equatable {
            case untilRestart, untilTrust
        }

        struct Entry {
            /// Who must be there; nil for any trusted peer.
            var expected: PeerID?
            /// Who was there last.
            var peer: PeerID?
            var dueAt: Duration?
            var isDialing = false
            var hold: Hold?
            var backoff: Backoff
            /// Of a place that was named by hand.
            var endpoint: Endpoint?
            /// Where the peer was last.
            var proven: Endpoint?
            /// For what was found of it.
            var allowance = DialPlan.allowance
            /// What was said of the peer, by instance.
            var places: [String: Place] = [:]
        }

        struct Place: Equatable {
            var startID: UInt64
            var endpoints: [Endpoint]
        }

        static let endpointsMax = 16
        /// Connections to places that discovery names: of one peer, until it is found there, and of all.
        static var allowance: TokenBucket { TokenBucket(perSecond: 1, atOnce: 32) }
        private var allowanceOfAll = TokenBucket(perSecond: 4, atOnce: 128)
        /// A peer has one, and for a while also the one before it.
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

        /// When something is due; nil when nothing is.
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

        /// Where the peer has proven to be comes first, then the newest instances, of each its addresses in their order. So
        /// many instances that somebody must be lying come in any order: whoever lies last is not to be first each time.
        private mutating func endpoints(of entry: Entry) -> [Endpoint] {
            if let endpoint = entry.endpoint { return [endpoint] }
            var instances = services.newestFirst(entry.places.keys)
            if instances.count > Self.instancesExpected { instances.shuffle(using: &random) }
            var endpoints: [Endpoint] = []
            if let proven = entry.proven, entry.places.values.contains(where: { $0.endpoints.contains(proven) }) {
                endpoints.append(proven)
            }
            for instance in instances {
                for endpoint in entry.places[instance]?.endpoints ?? [] where !endpoints.contains(endpoint) {
                    endpoints.append(endpoint)
                    // However many there are: to compare them all takes the square of that.
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

    // MARK: - What has come of it

    extension DialPlan {
        /// Nobody who may be there has answered.
        mutating func failed(_ target: Target, _ now: Duration) {
            guard entries[target]?.isDialing == true else { return }
            entries[target]?.isDialing = false
            retry(target, now)
        }

        /// A place turned out to be this peer itself: there is no use in it.
        mutating func isSelf(_ target: Target) { entries[target] = nil }

        /// A peer is connected, whoever has dialed.
        mutating func connected(_ peer: PeerID, through target: Target?, at endpoint: Endpoint?) {
            connected.insert(peer)
            if let target {
                entries[target]?.peer = peer
                entries[target]?.proven = endpoint
                entries[target]?.allowance.refill()
            }
            for target in targets(of: peer) {
                entries[target]?.isDialing = false
                entries[target]?.dueAt = nil
                entries[target]?.hold = nil
            }
        }

        /// - Parameters:
        ///   - lasted: how long it was connected; a connection that ends at once is no success.
        ///   - code: what the peer said at the end.
        mutating func disconnected(_ peer: PeerID, lasted: Duration, _ code: Goodbye.Code?, _ now: Duration) {
            connected.remove(peer)
            for target in targets(of: peer) {
                if lasted >= min(times.heartbeat, .seconds(1)) { entries[target]?.backoff.reset() }
                said(code, target, now)
            }
        }

        /// A connection of that round was refused with these words before it was told of.
        mutating func refused(_ target: Target, _ code: Goodbye.Code?, _ now: Duration) {
            guard entries[target]?.isDialing == true else { return }
            entries[target]?.isDialing = false
            said(code, target, now)
        }

        private mutating func said(_ code: Goodbye.Code?, _ target: Target, _ now: Duration) {
            switch code {
            case .unpaired: hold(target, .untilTrust)
            case .closing, .unsupportedVersion, .clonedIdentity:
                // Of a place that was named by hand nobody tells when the peer there begins anew.
                guard entries[target]?.endpoint == nil else {
                    return schedule(target, now + (code == .closing ? times.deference : times.backoffMax))
                }
                hold(target, .untilRestart)
            case .duplicate:
                // The other connection stands or has just died; if it has, the peer will notice as late as we would.
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
            var isDeferent = false
            if case .peer(let peer) = target { isDeferent = peer < local }
            schedule(target, now + (isDeferent ? max(delay, times.deference) : delay))
        }

        /// Sooner than what was planned, unless it is of no use.
        mutating func schedule(_ target: Target, _ time: Duration) {
            guard let entry = entries[target], !entry.isDialing, entry.hold == nil,
                entry.peer.map({ !connected.contains($0) }) ?? true
            else { return }
            entries[target]?.dueAt = min(entry.dueAt ?? time, time)
        }

        private func targets(of peer: PeerID) -> [Target] { entries.filter { $0.value.peer == peer }.map(\.key) }
    }
#endif
