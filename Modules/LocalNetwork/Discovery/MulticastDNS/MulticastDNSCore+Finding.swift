extension MulticastDNSCore {
    // MARK: Resolving

    /// Schedules questions for a service's missing records. They are sent a moment later, if still missing.
    mutating func startResolving(_ instance: DNSName, _ index: Int) {
        guard !isOwnInstance(instance), !interfaces[index].resolutions.contains(where: { $0.instance == instance })
        else {
            return
        }
        let at = now + randomDelay(20...120)
        interfaces[index].resolutions.append(InterfaceState.Resolution(instance: instance, at: at))
    }

    /// Returns the questions for the records that the service lacks on this interface.
    func missing(of instance: DNSName, _ index: Int) -> [DNSQuestion] {
        let cache = interfaces[index].cache
        guard cache.holdsPointer(to: instance) else { return [] }
        let records = cache[instance].map(\.record)
        var questions: [DNSQuestion] = []
        if !records.contains(where: { $0.type == .txt }) { questions.append(DNSQuestion(instance, .txt)) }
        guard let target = cache.service(of: instance)?.target else {
            return [DNSQuestion(instance, .srv)] + questions
        }
        if cache[target].isEmpty { questions += [DNSQuestion(target, .a), DNSQuestion(target, .aaaa)] }
        return questions
    }

    // MARK: Reporting

    mutating func noteChanged(_ record: DNSRecord) {
        switch record.data {
        case .pointer(let instance): noteChanged(instance: instance)
        case .address: noteChanged(host: record.name)
        default: noteChanged(instance: record.name)
        }
    }

    mutating func noteChanged(host: DNSName) {
        for state in interfaces {
            for instance in state.cache.instances(on: host) { noteChanged(instance: instance) }
        }
    }

    mutating func noteChanged(instance: DNSName) {
        if !changed.contains(instance) { changed.append(instance) }
    }

    /// Reports the services that differ from the observer's last report.
    mutating func reportChanges() {
        for instance in changed {
            let service = found(instance)
            if isComplete(instance) {
                for index in interfaces.indices { finishResolving(instance, index) }
            }
            guard service != reportedServices[instance] else { continue }
            if let service {
                directives.events.append(.found(service))
            } else if let before = reportedServices[instance] {
                directives.events.append(.lost(instance: before.instance))
            }
            reportedServices[instance] = service
        }
        changed = []
    }

    private func isComplete(_ instance: DNSName) -> Bool {
        interfaces.indices.allSatisfy { missing(of: instance, $0).isEmpty }
    }

    private mutating func finishResolving(_ instance: DNSName, _ index: Int) {
        interfaces[index].resolutions.removeAll { $0.instance == instance }
    }

    func isOwnInstance(_ instance: DNSName) -> Bool {
        own?.instance == instance || retiredInstances.contains { $0.name == instance && $0.until > now }
    }

    /// Returns the service with all its addresses. It needs a pointer, SRV, TXT and an address, all from one interface.
    /// Other interfaces add addresses if they show the same port.
    private func found(_ instance: DNSName) -> FoundService? {
        guard !isOwnInstance(instance) else { return nil }
        var service: FoundService?
        let states = interfaces.filter { !$0.interface.isLoopback } + interfaces.filter(\.interface.isLoopback)
        for state in states {
            guard state.cache.holdsPointer(to: instance), let (port, target) = state.cache.service(of: instance),
                let text = state.cache.text(of: instance)
            else { continue }
            let addresses = state.cache.addresses(of: target)
                .map { ServiceAddress(ip: $0, interfaceIndex: state.interface.index) }
            guard !addresses.isEmpty else { continue }
            if service == nil {
                service = FoundService(
                    instance: String(decoding: instance.firstLabel, as: UTF8.self), port: port, addresses: addresses,
                    attributes: TextAttributes.decode(text))
            } else if service?.port == port {
                service?.addresses += addresses
            }
        }
        return service
    }
}

// MARK: - Reading the cache

extension RecordCache {
    func holdsPointer(to instance: DNSName) -> Bool { self[instance].contains { $0.record.type == .ptr } }

    /// The port and target of the SRV record that was received last.
    func service(of instance: DNSName) -> (port: UInt16, target: DNSName)? {
        let latest = self[instance].filter { $0.record.type == .srv }.max { $0.order < $1.order }
        guard case .service(_, _, let port, let target)? = latest?.record.data else { return nil }
        return (port, target)
    }

    /// The data of the TXT record that was received last.
    func text(of instance: DNSName) -> [UInt8]? {
        let latest = self[instance].filter { $0.record.type == .txt }.max { $0.order < $1.order }
        guard case .text(let bytes)? = latest?.record.data else { return nil }
        return bytes
    }

    /// The host's addresses: IPv6 first, and within a family link-local ones last.
    func addresses(of host: DNSName) -> [IPAddress] {
        self[host].compactMap { if case .address(let ip) = $0.record.data { ip } else { nil } }
            .sorted { left, right in
                if left.family != right.family { return left.family == .v6 }
                if left.isLinkLocal != right.isLinkLocal { return right.isLinkLocal }
                return left < right
            }
    }
}

extension DNSRecordData {
    /// False for a TXT record above the maximum size, which isn't cached.
    var fitsSizeLimit: Bool {
        if case .text(let bytes) = self { bytes.count <= TextAttributes.bytesMax } else { true }
    }
}
