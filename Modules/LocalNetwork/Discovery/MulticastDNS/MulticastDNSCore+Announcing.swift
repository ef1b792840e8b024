extension MulticastDNSCore {
    /// Announces this service in place of the previous one; nil withdraws it with a goodbye.
    ///
    /// A new instance name is probed for first. If only the port or the attributes differ, the change is announced at
    /// once. RFC 6762 section 8.4 allows at most ten such changes a minute. A label of more than 63 bytes is shortened
    /// and reported as renamed. Attributes that don't fit are left out.
    package mutating func announce(_ announcement: ServiceAnnouncement?, _ now: Duration) {
        guard !hasEnded else { return }
        self.now = max(self.now, now)
        if let announcement { begin(announcement) } else { withdraw() }
        tick(now)
    }

    private mutating func begin(_ announcement: ServiceAnnouncement) {
        let before = self.announcement
        self.announcement = announcement
        let text = TextAttributes.encode(announcement.attributes)
        if var own, before?.instance == announcement.instance {
            guard own.port != announcement.port || own.text != text else { return }
            (own.port, own.text) = (announcement.port, text)
            self.own = own
            for index in interfaces.indices where interfaces[index].claim.isHeld { startAnnouncing(index) }
            return
        }
        let label = InstanceLabel.fitting(announcement.instance)
        guard let instance = try? names.type.prefixed(by: Array(label.utf8)) else { return withdraw() }
        if let own {
            for index in interfaces.indices { sendGoodbye(own, [.pointer, .service, .text], index) }
            retire(own.instance)
        }
        own = OwnRecords(
            names: names, instance: instance, host: host, port: announcement.port, text: text,
            hostLifetime: Self.seconds(configuration.hostLifetime),
            serviceLifetime: Self.seconds(configuration.serviceLifetime))
        noteChanged(instance: instance)
        if label != announcement.instance { directives.events.append(.renamed(to: label)) }
        restartProbing()
    }

    private mutating func withdraw() {
        announcement = nil
        guard let own else { return }
        for index in interfaces.indices { sendGoodbye(own, RecordSets.announced.subtracting(.meta), index) }
        retire(own.instance)
        self.own = nil
        for index in interfaces.indices {
            interfaces[index].claim = .none
            for family in interfaces[index].answers.indices { interfaces[index].answers[family].removeAll() }
        }
    }

    /// Says goodbye, discards all state and ignores all later calls.
    package mutating func shutDown(_ now: Duration) {
        guard !hasEnded else { return }
        self.now = max(self.now, now)
        withdraw()
        hasEnded = true
        isBrowsing = false
        interfaces = []
        (reportedServices, changed) = ([:], [])
    }

    /// Sends a goodbye for our record sets (RFC 6762 section 10.1). Callers leave out the service type: other hosts may
    /// have services of the same type.
    mutating func sendGoodbye(
        _ own: OwnRecords, _ sets: RecordSets, _ index: Int, on interface: NetworkInterface? = nil
    ) {
        guard interfaces[index].claim.isHeld else { return }
        let interface = interface ?? interfaces[index].interface
        var records = own.records(of: sets, on: interface)
        for index in records.indices {
            records[index].lifetime = 0
            records[index].flushesCache = false
        }
        multicast(builder.responses(records), index)
    }

    private mutating func retire(_ instance: DNSName) {
        retiredInstances.removeAll { $0.name == instance }
        retiredInstances.append((instance, now + configuration.hostLifetime))
        if retiredInstances.count > Self.retiredLimit { retiredInstances.removeFirst() }
    }

    private static let retiredLimit = 16

    private static func seconds(_ duration: Duration) -> UInt32 {
        min(max(UInt32(clamping: duration.components.seconds), 2), UInt32(Int32.max))
    }
}

// MARK: - Claims

extension MulticastDNSCore {
    /// Probes for our current names on every interface.
    mutating func restartProbing() {
        for index in interfaces.indices { startProbing(index) }
    }

    /// Starts probing after a random delay, so that machines that are switched on together don't probe at the same
    /// time. After many conflicts it waits at least 5 s (RFC 6762 section 8.1).
    mutating func startProbing(_ index: Int, after delay: Duration? = nil) {
        var delay = delay ?? randomDelay(0...250)
        if conflictTimes.count == Self.conflictLimit, now - conflictTimes[0] < .seconds(10) {
            delay = max(delay, .seconds(5))
        }
        interfaces[index].claim = .probing(sent: 0)
        interfaces[index].claimAt = now + delay
        for family in interfaces[index].answers.indices {
            interfaces[index].answers[family].removeAll()
            interfaces[index].answers[family].forgetSent(
                [.pointer, .service, .text, .addressesV4, .addressesV6, .instanceNegative, .hostNegative])
        }
    }

    mutating func startAnnouncing(_ index: Int) {
        interfaces[index].claim = .announcing(sent: 0)
        interfaces[index].claimAt = now
    }

    mutating func noteConflict() {
        if conflictTimes.count == Self.conflictLimit { conflictTimes.removeFirst() }
        conflictTimes.append(now)
    }

    private static let conflictLimit = 15

    mutating func advanceClaim(_ index: Int) {
        guard let own else { return }
        while interfaces[index].claimAt <= now {
            switch interfaces[index].claim {
            case .none, .established: return
            case .probing(let sent) where sent < 3:
                sendProbe(own, index)
                interfaces[index].claim = .probing(sent: sent + 1)
                interfaces[index].claimAt = now + .milliseconds(250)
            case .probing:
                startAnnouncing(index)
            case .announcing(let sent):
                enqueueAnnouncement(index)
                let isLast = sent + 1 >= min(max(configuration.announcementCount, 2), 8)
                interfaces[index].claim = isLast ? .established : .announcing(sent: sent + 1)
                interfaces[index].claimAt = now + .seconds(1 << sent)
            }
        }
    }

    private mutating func sendProbe(_ own: OwnRecords, _ index: Int) {
        let questions = [own.instance, own.host].map {
            DNSQuestion($0, .any, wantsUnicast: !configuration.sharesPort)
        }
        let proposed = own.records(of: [.service, .text, .addressesV4, .addressesV6], on: interfaces[index].interface)
        multicast([builder.probe(questions, proposed: proposed.map(Self.withoutFlush))], index)
    }

    private mutating func enqueueAnnouncement(_ index: Int) {
        let sets = RecordSets.announced.intersection(own?.present(on: interfaces[index].interface) ?? [])
        for family in interfaces[index].families.map({ Int($0.rawValue) }) {
            _ = interfaces[index].answers[family].enqueue(AnswerQueue.Reply(sets: sets, due: now))
        }
    }

    private static func withoutFlush(_ record: DNSRecord) -> DNSRecord {
        var record = record
        record.flushesCache = false
        return record
    }
}
