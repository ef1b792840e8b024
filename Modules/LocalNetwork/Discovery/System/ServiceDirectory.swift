#if SystemDiscovery || canImport(Darwin)
    /// An instance on one network.
    struct ServiceLocation: Hashable {
        var instance: String
        var domain: String
        var interfaceIndex: UInt32
    }

    /// The services that the system's responder has reported, and those that the observer knows. A value.
    ///
    /// An instance may be at several locations. It is found once one of them has a port and an address, and lost with
    /// its last location.
    struct ServiceDirectory {
        enum Change: Hashable {
            case found(FoundService)
            case lost(instance: String)
        }

        static let locationsMax = 64
        static let addressesMax = 16

        private struct Entry {
            /// The number of reports of this location. Avahi reports it once per IP version.
            var appearances = 1
            var port: UInt16?
            var attributes: [ServiceAttribute] = []
            var addresses: [IPAddress] = []
            /// The order of resolution. The location that was resolved last has the current port and attributes.
            var revision: UInt64 = 0
        }

        private var entries: [ServiceLocation: Entry] = [:]
        private var reported: [String: FoundService] = [:]
        private var changedInstances: Set<String> = []
        private(set) var ownInstance: String?
        private var revision: UInt64 = 0
        private var droppedCount: UInt64 = 0

        /// - Returns: True if the location is new and must be resolved.
        mutating func appeared(_ location: ServiceLocation) -> Bool {
            if entries[location] != nil {
                entries[location]?.appearances += 1
                return false
            }
            guard entries.count < Self.locationsMax else {
                droppedCount += 1
                return false
            }
            entries[location] = Entry()
            return true
        }

        /// - Returns: True if the last report of the location was withdrawn.
        mutating func disappeared(_ location: ServiceLocation) -> Bool {
            guard let entry = entries[location] else { return false }
            guard entry.appearances == 1 else {
                entries[location]?.appearances -= 1
                return false
            }
            entries[location] = nil
            changedInstances.insert(location.instance)
            return true
        }

        mutating func resolved(_ location: ServiceLocation, port: UInt16, attributes: [ServiceAttribute]) {
            guard entries[location] != nil else { return }
            revision += 1
            entries[location]?.port = port
            entries[location]?.attributes = attributes
            entries[location]?.revision = revision
            changedInstances.insert(location.instance)
        }

        mutating func address(_ address: IPAddress, of location: ServiceLocation, isPresent: Bool) {
            guard var entry = entries[location] else { return }
            entry.addresses.removeAll { $0 == address }
            if isPresent {
                if entry.addresses.count < Self.addressesMax {
                    entry.addresses.append(address)
                } else {
                    droppedCount += 1
                }
            }
            entries[location] = entry
            changedInstances.insert(location.instance)
        }

        /// Discards the addresses of a location whose host has changed.
        mutating func forgetAddresses(of location: ServiceLocation) {
            entries[location]?.addresses = []
            changedInstances.insert(location.instance)
        }

        /// Sets the name of our own service, which isn't reported.
        mutating func setOwn(_ instance: String?) {
            for name in [ownInstance, instance].compactMap(\.self) {
                changedInstances.formUnion(instances(matching: name))
            }
            ownInstance = instance
        }

        mutating func removeAll() {
            entries = [:]
            changedInstances.formUnion(reported.keys)
        }

        /// Returns the changes that the observer doesn't know yet.
        mutating func takeChanges() -> [Change] {
            defer { changedInstances = [] }
            return changedInstances.sorted().compactMap { instance in
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
            let locations = entries.filter { $0.key.instance == instance && $0.value.port != nil }
            guard let newest = locations.max(by: { $0.value.revision < $1.value.revision })?.value,
                let port = newest.port
            else { return nil }
            let addresses = locations.flatMap { location, entry in
                entry.addresses.map { ServiceAddress(ip: $0, interfaceIndex: location.interfaceIndex) }
            }
            guard !addresses.isEmpty else { return nil }
            return FoundService(
                instance: instance, port: port, addresses: addresses.sorted(by: Self.isBetter),
                attributes: newest.attributes)
        }

        /// Returns true if `a` goes before `b`: IPv6 first. The other criteria only make the order deterministic.
        private static func isBetter(_ a: ServiceAddress, _ b: ServiceAddress) -> Bool {
            let (bytes, others) = (a.ip.bytes, b.ip.bytes)
            if bytes.count != others.count { return bytes.count > others.count }
            if a.interfaceIndex != b.interfaceIndex { return a.interfaceIndex < b.interfaceIndex }
            return bytes.lexicographicallyPrecedes(others)
        }

        /// Returns true if the instance is our own. Case doesn't matter.
        private func isOwn(_ instance: String) -> Bool { ownInstance?.lowercased() == instance.lowercased() }

        private func instances(matching name: String) -> [String] {
            Set(entries.keys.map(\.instance)).union(reported.keys).filter { $0.lowercased() == name.lowercased() }
        }
    }
#endif
