#if SystemDiscovery || canImport(Darwin)
    /// An instance as one network shows it.
    struct ServicePlace: Hashable {
        var instance: String
        var domain: String
        var interfaceIndex: UInt32
    }

    /// What the system's responder has said of services, and what of that the observer knows: a value.
    ///
    /// An instance may be at several places; it is found as soon as one of them has a port and an address, and lost with
    /// its last place.
    struct ServiceDirectory {
        enum Change: Hashable {
            case found(FoundService)
            case lost(instance: String)
        }

        static let placesMax = 64
        static let addressesMax = 16

        private struct Entry {
            /// Avahi shows a place once for each version of IP.
            var appearances = 1
            var port: UInt16?
            var attributes: [ServiceAttribute] = []
            var addresses: [IPAddress] = []
            /// Whichever place was resolved last knows best.
            var revision: UInt64 = 0
        }

        private var entries: [ServicePlace: Entry] = [:]
        private var reported: [String: FoundService] = [:]
        private var touched: Set<String> = []
        private(set) var ownInstance: String?
        private var revision: UInt64 = 0
        private var droppedCount: UInt64 = 0

        /// - Returns: whether the place is new, and to be resolved.
        mutating func appeared(_ place: ServicePlace) -> Bool {
            if entries[place] != nil {
                entries[place]?.appearances += 1
                return false
            }
            guard entries.count < Self.placesMax else {
                droppedCount += 1
                return false
            }
            entries[place] = Entry()
            return true
        }

        /// - Returns: whether the place is gone for good.
        mutating func disappeared(_ place: ServicePlace) -> Bool {
            guard let entry = entries[place] else { return false }
            guard entry.appearances == 1 else {
                entries[place]?.appearances -= 1
                return false
            }
            entries[place] = nil
            touched.insert(place.instance)
            return true
        }

        mutating func resolved(_ place: ServicePlace, port: UInt16, attributes: [ServiceAttribute]) {
            guard entries[place] != nil else { return }
            revision += 1
            entries[place]?.port = port
            entries[place]?.attributes = attributes
            entries[place]?.revision = revision
            touched.insert(place.instance)
        }

        mutating func address(_ address: IPAddress, of place: ServicePlace, isThere: Bool) {
            guard var entry = entries[place] else { return }
            entry.addresses.removeAll { $0 == address }
            if isThere {
                if entry.addresses.count < Self.addressesMax {
                    entry.addresses.append(address)
                } else {
                    droppedCount += 1
                }
            }
            entries[place] = entry
            touched.insert(place.instance)
        }

        /// The host of that place is another one now.
        mutating func forgetAddresses(of place: ServicePlace) {
            entries[place]?.addresses = []
            touched.insert(place.instance)
        }

        /// What is announced under this name is not reported.
        mutating func setOwn(_ instance: String?) {
            for name in [ownInstance, instance].compactMap(\.self) { touched.formUnion(instances(alike: name)) }
            ownInstance = instance
        }

        mutating func removeAll() {
            entries = [:]
            touched.formUnion(reported.keys)
        }

        /// What the observer does not know yet.
        mutating func takeChanges() -> [Change] {
            defer { touched = [] }
            return touched.sorted().compactMap { instance in
                let service = isOwn(instance) ? nil : service(instance)
                guard service != reported[instance] else { return nil }
                reported[instance] = service
                return service.map { .found($0) } ?? .lost(instance: instance)
            }
        }

        mutating func takeDroppedCount() -> UInt64 {
            defer { droppedCount = 0 }
            return droppedCount
        }

        private func service(_ instance: String) -> FoundService? {
            let places = entries.filter { $0.key.instance == instance && $0.value.port != nil }
            guard let newest = places.max(by: { $0.value.revision < $1.value.revision })?.value, let port = newest.port
            else { return nil }
            let addresses = places.flatMap { place, entry in
                entry.addresses.map { ServiceAddress(ip: $0, interfaceIndex: place.interfaceIndex) }
            }
            guard !addresses.isEmpty else { return nil }
            return FoundService(
                instance: instance, port: port, addresses: addresses.sorted(by: Self.isBetter),
                attributes: newest.attributes)
        }

        /// IPv6 goes first; the rest is for the order to be the same each time.
        private static func isBetter(_ a: ServiceAddress, _ b: ServiceAddress) -> Bool {
            let (bytes, others) = (a.ip.bytes, b.ip.bytes)
            if bytes.count != others.count { return bytes.count > others.count }
            if a.interfaceIndex != b.interfaceIndex { return a.interfaceIndex < b.interfaceIndex }
            return bytes.lexicographicallyPrecedes(others)
        }

        /// Labels are compared without regard to case.
        private func isOwn(_ instance: String) -> Bool { ownInstance?.lowercased() == instance.lowercased() }

        private func instances(alike name: String) -> [String] {
            Set(entries.keys.map(\.instance)).union(reported.keys).filter { $0.lowercased() == name.lowercased() }
        }
    }
#endif
