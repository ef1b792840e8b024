#if SystemDiscovery || canImport(Darwin)
    import MeshBase

    /// Passes requests to the system's responder and reports its answers to the observer.
    final class ResponderLoop: DiscoveryLoop {
        /// The queries about one location.
        private struct LocationQueries {
            var resolve: ResponderQuery?
            var host: String?
            var addresses: [ResponderQuery] = []
            var retryAt: SuspendingClock.Instant?

            var queries: [ResponderQuery] { [resolve].compactMap(\.self) + addresses }
        }

        private static let retryAfter = Duration.seconds(10)
        private static let namesMax = 16

        private let type: ServiceType
        private let interfaceIndex: UInt32
        private let observer: any ServiceObserver
        private let tally: Locked<DiscoveryStatistics>
        private let clock = SuspendingClock()

        private var browse: ResponderQuery?
        private var registration: ResponderQuery?
        private var announcement: ServiceAnnouncement?
        /// The name under which the service is registered; nil until the responder has confirmed one.
        private var name: String?
        private var queriesByLocation: [ServiceLocation: LocationQueries] = [:]
        private var directory = ServiceDirectory()
        private var hasWorked = false
        private var backoff = Backoff(from: .seconds(1), to: .seconds(30))
        private var retryAt: SuspendingClock.Instant?

        init(
            type: ServiceType, interfaceIndex: UInt32, observer: any ServiceObserver,
            tally: Locked<DiscoveryStatistics>
        ) {
            self.type = type
            self.interfaceIndex = interfaceIndex
            self.observer = observer
            self.tally = tally
        }

        func advance() -> Bool {
            guard performDueRetries() else { return false }
            reportChanges()
            return true
        }

        var sources: [DiscoverySource] {
            // The browser goes first: if it has lost the responder, the others needn't be read.
            let queries =
                [browse, registration].compactMap(\.self)
                + queriesByLocation.sorted { $0.key.interfaceIndex < $1.key.interfaceIndex }.flatMap(\.value.queries)
            return queries.map { query in
                DiscoverySource(descriptor: query.descriptor) { [self] in
                    // A query closed by an earlier answer returns none.
                    for answer in query.process() { handle(answer, of: query) }
                }
            }
        }

        var nextDue: SuspendingClock.Instant? {
            (queriesByLocation.values.compactMap(\.retryAt) + [retryAt].compactMap(\.self)).min()
        }

        /// Says goodbye by closing every query.
        func end() { closeAll() }

        private func handle(_ answer: ResponderQuery.Answer, of query: ResponderQuery) {
            if query === browse {
                handleBrowseAnswer(answer)
            } else if query === registration {
                handleRegistrationAnswer(answer)
            } else if let location = queriesByLocation.first(where: { $0.value.queries.contains { $0 === query } })?.key
            {
                handle(answer, about: location, of: query)
            }
        }

        private func reportChanges() {
            for change in directory.takeChanges() {
                switch change {
                case .found(let service): observer.found(service)
                case .lost(let instance): observer.lost(instance: instance)
                }
            }
            tally.withLock { $0.dropped += directory.takeDroppedCount() }
        }
    }

    // MARK: - Announcing

    extension ResponderLoop {
        func announce(_ new: ServiceAnnouncement?) {
            let old = announcement
            guard new != old else { return }
            announcement = new
            if let registration, let new, new.instance == old?.instance, new.port == old?.port {
                // Only the attributes have changed. If the update fails, register again.
                if (try? registration.update(text: TextAttributes.encode(new.attributes))) != nil { return }
            }
            registration?.close()
            registration = nil
            name = nil
            directory.setOwn(new.map { InstanceLabel.fitting($0.instance) })
            register()
        }

        private func register() {
            guard browse != nil, registration == nil, let announcement else { return }
            do {
                registration = try register(announcement)
                retryAt = nil
            } catch {
                registrationFailed(error)
            }
        }

        /// Registers under a free name. Avahi renames only if another host has the name, not if a local program has it.
        private func register(_ announcement: ServiceAnnouncement) throws(ResponderError) -> ResponderQuery {
            var name = name ?? InstanceLabel.fitting(announcement.instance)
            for _ in 1..<Self.namesMax {
                do throws(ResponderError) {
                    return try .register(announcement, as: name, type, on: interfaceIndex)
                } catch  where error.isNameConflict {
                    name = InstanceLabel.next(after: name)
                }
            }
            return try .register(announcement, as: name, type, on: interfaceIndex)
        }

        private func handleRegistrationAnswer(_ answer: ResponderQuery.Answer) {
            switch answer {
            case .registered(let name):
                guard let announcement, name != self.name else { return }
                if name != directory.ownInstance { tally.withLock { $0.conflicts += 1 } }
                self.name = name
                directory.setOwn(name)
                if name != announcement.instance { observer.renamed(to: name) }
            case .failed(let error): registrationFailed(error)
            default: break
            }
        }

        private func registrationFailed(_ error: ResponderError) {
            registration?.close()
            registration = nil
            if error.meaning.code == .invalidName {
                announcement = nil
                tally.withLock { $0.dropped += 1 }
            } else {
                scheduleRetry()
            }
        }
    }

    // MARK: - Browsing

    extension ResponderLoop {
        private func handleBrowseAnswer(_ answer: ResponderQuery.Answer) {
            switch answer {
            case .browsed(let name, let domain, let interfaceIndex, let isPresent):
                let location = ServiceLocation(instance: name, domain: domain, interfaceIndex: interfaceIndex)
                if isPresent {
                    if directory.appeared(location) { resolve(location) }
                } else if directory.disappeared(location) {
                    close(queriesByLocation.removeValue(forKey: location)?.queries)
                }
            case .failed: handleResponderLoss()
            default: break
            }
        }

        private func resolve(_ location: ServiceLocation) {
            var queries = LocationQueries()
            queries.resolve = try? .resolve(location, type)
            if queries.resolve == nil { queries.retryAt = clock.now + Self.retryAfter }
            queriesByLocation[location] = queries
        }

        private func handle(_ answer: ResponderQuery.Answer, about location: ServiceLocation, of query: ResponderQuery)
        {
            switch answer {
            case .resolved(let host, let port, let text):
                directory.resolved(location, port: port, attributes: TextAttributes.decode(text))
                if queriesByLocation[location]?.host != host { lookUp(host, of: location) }
            case .address(let address, let isPresent): directory.address(address, of: location, isPresent: isPresent)
            case .failed:
                // The host has no address of that family, or the service doesn't answer now.
                query.close()
                guard queriesByLocation[location]?.resolve === query else { break }
                queriesByLocation[location]?.resolve = nil
                queriesByLocation[location]?.retryAt = clock.now + Self.retryAfter
            default: break
            }
        }

        private func lookUp(_ host: String, of location: ServiceLocation) {
            close(queriesByLocation[location]?.addresses)
            directory.forgetAddresses(of: location)
            queriesByLocation[location]?.host = host
            queriesByLocation[location]?.addresses = ResponderQuery.AddressFamily.allCases.compactMap {
                try? .addresses(of: host, $0, on: location.interfaceIndex)
            }
        }
    }

    // MARK: - Loss of the responder

    extension ResponderLoop {
        /// - Returns: False if no responder has ever been available.
        private func performDueRetries() -> Bool {
            let now = clock.now
            for (location, entry) in queriesByLocation where entry.retryAt.map({ $0 <= now }) ?? false {
                close(entry.queries)
                resolve(location)
            }
            guard browse == nil || registration == nil, retryAt.map({ $0 <= now }) ?? true else { return true }
            retryAt = nil
            if browse == nil {
                do {
                    browse = try .browse(type, on: interfaceIndex)
                    hasWorked = true
                } catch {
                    guard hasWorked else {
                        observer.failed(error.meaning)
                        return false
                    }
                    scheduleRetry()
                    return true
                }
            }
            register()
            if retryAt == nil { backoff.reset() }
            return true
        }

        private func scheduleRetry() {
            retryAt = clock.now + backoff.next()
        }

        private func handleResponderLoss() {
            closeAll()
            directory.removeAll()
            scheduleRetry()
        }

        private func closeAll() {
            registration?.close()
            browse?.close()
            close(queriesByLocation.values.flatMap(\.queries))
            (registration, browse, queriesByLocation) = (nil, nil, [:])
        }

        private func close(_ queries: [ResponderQuery]?) {
            for query in queries ?? [] { query.close() }
        }
    }
#endif
