import MeshBase
package import MeshDiscovery

/// A network within one process, on which services find each other at once. Tests links without multicast.
///
/// Every service is at the loopback address. Safe to use from any thread.
package final class InMemoryNetwork: Sendable {
    private struct State {
        var members: [ObjectIdentifier: InMemoryDiscovery] = [:]
        var announced: [ObjectIdentifier: FoundService] = [:]
        /// Services that tests have invented.
        var spoofed: [FoundService] = []
    }

    private let address: ServiceAddress
    private let state = Locked(State())

    package init(address: ServiceAddress = ServiceAddress(ip: .v4(0x7F00_0001), interfaceIndex: 1)) {
        self.address = address
    }

    package func makeDiscovery() -> InMemoryDiscovery { InMemoryDiscovery(self) }

    /// All services announced at present.
    package var services: [FoundService] { state.withLock { Array($0.announced.values) } }

    /// Lets every member find that service, which no member has announced.
    package func spoof(_ service: FoundService) {
        let members = state.withLock { state in
            state.spoofed.append(service)
            return Array(state.members.values)
        }
        for member in members { member.notify { $0.found(service) } }
    }

    fileprivate func join(_ member: InMemoryDiscovery) {
        let known = state.withLock { state in
            state.members[ObjectIdentifier(member)] = member
            return state.announced.filter { $0.key != ObjectIdentifier(member) }.map(\.value) + state.spoofed
        }
        for service in known { member.notify { $0.found(service) } }
    }

    fileprivate func announce(_ announcement: ServiceAnnouncement?, by member: InMemoryDiscovery) {
        let service = announcement.map {
            FoundService(instance: $0.instance, port: $0.port, addresses: [address], attributes: $0.attributes)
        }
        let (earlier, others) = state.withLock { state in
            let id = ObjectIdentifier(member)
            let earlier = state.announced[id]
            state.announced[id] = service
            return (earlier, state.members.filter { $0.key != id }.map(\.value))
        }
        for other in others {
            if let earlier, earlier.instance != service?.instance {
                other.notify { $0.lost(instance: earlier.instance) }
            }
            if let service { other.notify { $0.found(service) } }
        }
    }

    fileprivate func leave(_ member: InMemoryDiscovery) {
        announce(nil, by: member)
        _ = state.withLock { $0.members.removeValue(forKey: ObjectIdentifier(member)) }
    }
}

/// A member of an `InMemoryNetwork`.
package final class InMemoryDiscovery: ServiceDiscovery {
    private let network: InMemoryNetwork
    private let observer = Locked<(any ServiceObserver)?>(nil)

    fileprivate init(_ network: InMemoryNetwork) { self.network = network }

    package var statistics: DiscoveryStatistics { DiscoveryStatistics() }

    package func start(_ observer: any ServiceObserver) {
        self.observer.withLock { $0 = observer }
        network.join(self)
    }

    package func announce(_ announcement: ServiceAnnouncement?) { network.announce(announcement, by: self) }

    package func stop() async {
        network.leave(self)
        observer.withLock { $0 = nil }
    }

    fileprivate func notify(_ call: (any ServiceObserver) -> Void) {
        if let observer = observer.withLock({ $0 }) { call(observer) }
    }
}
