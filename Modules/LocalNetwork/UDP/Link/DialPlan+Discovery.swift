#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity

    // Discovery is a hint from any host on the network. It only adds addresses to try for peers that are already
    // trusted.
    extension DialPlan {
        mutating func found(_ service: FoundService, _ now: Duration) {
            services.insert(service)
            recognise(service, now)
            guard services.isOverfull else { return }
            var owners: [String: PeerID] = [:]
            for entry in entries.values { for instance in entry.locations.keys { owners[instance] = entry.expected } }
            if let instance = services.oldest(by: { owners[$0] }) { lost(instance) }
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

    /// The discovered services, including those of unknown peers, which may become trusted. When full, the peer with the
    /// most services loses its oldest. All unknown peers count as one, so their flood displaces no trusted peer.
    struct ServiceTable {
        static let countMax = 256

        private var numbers: [String: UInt64] = [:]
        private var services: [UInt64: FoundService] = [:]
        private var lastNumber: UInt64 = 0

        var all: [FoundService] { services.keys.sorted().compactMap { services[$0] } }

        var isOverfull: Bool { services.count > Self.countMax }

        mutating func insert(_ service: FoundService) {
            remove(service.instance)
            lastNumber += 1
            numbers[service.instance] = lastNumber
            services[lastNumber] = service
        }

        /// Returns the oldest instance of the owner with the most instances. O(n)
        /// - Parameter owner: Returns the peer of an instance; nil if it is unknown.
        func oldest(by owner: (String) -> PeerID?) -> String? {
            Dictionary(grouping: numbers, by: { owner($0.key) }).values
                .compactMap { group in
                    group.min { $0.value < $1.value }.map { (count: group.count, number: $0.value, instance: $0.key) }
                }
                .max { ($0.count, $1.number) < ($1.count, $0.number) }?.instance
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
