#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity

    // Discovery is a hint from any host on the network. It only adds addresses to try for peers that are already
    // trusted.
    extension DialPlan {
        mutating func found(_ service: FoundService, _ now: Duration) {
            for forgotten in services.insert(service) { forget(forgotten) }
            recognise(service, now)
        }

        mutating func lost(_ instance: String) {
            services.remove(instance)
            forget(instance)
        }

        /// Updates the trusted peers. A known service may now belong to one of them.
        mutating func trust(_ peers: [PeerID], _ now: Duration) {
            for target in entries.keys {
                guard let peer = entries[target]?.peer else { continue }
                if peers.contains(peer), entries[target]?.hold == .untilTrust {
                    entries[target]?.hold = nil
                    schedule(target, now)
                }
                if case .peer = target, !peers.contains(peer) { entries[target] = nil }
            }
            trusted = peers
            for service in services.all { recognise(service, now) }
        }

        private mutating func recognise(_ service: FoundService, _ now: Duration) {
            guard let advertisement = PeerAdvertisement(service),
                let peer = trusted.first(where: { $0.hint(instance: service.instance) == advertisement.hint })
            else { return forget(service.instance) }
            let target = Target.peer(peer)
            var entry = entries[target] ?? Entry(expected: peer, peer: peer, backoff: backoff())
            let location = AnnouncedLocation(
                startID: advertisement.startID,
                endpoints: service.addresses.prefix(Self.endpointsMax).map {
                    Endpoint(host: .address($0), port: service.port)
                })
            guard entry.locations[service.instance] != location else { return }
            // The hourly change of the label doesn't mean that the peer has restarted.
            let isKnownStart = entry.locations.values.contains { $0.startID == location.startID }
            if !isKnownStart, entry.hold == .untilRestart { entry.hold = nil }
            entry.locations[service.instance] = location
            entry.backoff.reset()
            entries[target] = entry
            // At most one round per peer is scheduled, so a flood of names doesn't cause more rounds.
            schedule(target, now + (local < peer ? times.backoffMin / 10 : times.higherIDDialDelay))
        }

        private mutating func forget(_ instance: String) {
            for (target, entry) in entries where entry.locations[instance] != nil {
                entries[target]?.locations[instance] = nil
                if entry.locations.count == 1 { entries[target]?.dueAt = nil }
            }
        }
    }

    /// The discovered services, including those of unknown peers, which may become trusted. Drops the oldest when full.
    struct ServiceTable {
        static let countMax = 256

        private var numbers: [String: UInt64] = [:]
        private var services: [UInt64: FoundService] = [:]
        private var lastNumber: UInt64 = 0

        var all: [FoundService] { services.keys.sorted().compactMap { services[$0] } }

        /// - Returns: The instances that were forgotten.
        mutating func insert(_ service: FoundService) -> [String] {
            remove(service.instance)
            lastNumber += 1
            numbers[service.instance] = lastNumber
            services[lastNumber] = service
            guard services.count > Self.countMax, let oldest = services.keys.min(), let forgotten = services[oldest]
            else {
                return []
            }
            remove(forgotten.instance)
            return [forgotten.instance]
        }

        mutating func remove(_ instance: String) {
            guard let number = numbers.removeValue(forKey: instance) else { return }
            services[number] = nil
        }

        func newestFirst(_ instances: some Collection<String>) -> [String] {
            instances.sorted { (numbers[$0] ?? 0, $0) > (numbers[$1] ?? 0, $1) }
        }
    }
#endif
