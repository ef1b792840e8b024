import MeshBase
import MeshMailbox
import MeshResume
import MeshResumeGateway
import MeshVirtualTime

// MARK: - Gateways, their store and faults

extension MailboxRun {
    mutating func carryOut(gateway: Int) {
        for (key, directive) in gateways[gateway].takeDirectives() {
            switch directive {
            case .send(let bytes): send(.toDevice(key: key, bytes), key, up: false)
            case .close: send(.deviceDisconnects(key: key), key, up: false)
            case .write(let write):
                writes[key, default: []].append(write)
                if writes[key]?.count == 1 { enter(.write(key: key), within: storeDelay) }
            // A real socket holds the messages that the gateway doesn't read. Here they arrive at once.
            case .pause, .resume, .report: break
            case .serve(let stream, let isServed): served[gateway][stream, default: 0] += isServed ? 1 : -1
            case .authenticate: enter(.answer(key: key, directive), within: 20)
            case .locate, .find, .read, .view, .pass: enter(.answer(key: key, directive), within: storeDelay)
            }
        }
    }

    private var storeDelay: UInt64 { now < max(downUntil, slowUntil) ? 2000 : 20 }

    mutating func answer(_ key: Int, _ question: MailboxDirective) {
        guard let gateway = pipes[key]?.gateway else { return }
        defer { carryOut(gateway: gateway) }
        if case .authenticate(let token) = question { return gateways[gateway].authenticated(token, on: key, time) }
        guard now >= downUntil else {
            switch question {
            case .view, .pass: return
            default: return gateways[gateway].failed(on: key, time)
            }
        }
        switch question {
        case .locate(let stream): gateways[gateway].located(store.queues.standing(of: stream, time), on: key, time)
        case .find(let names, let stream):
            gateways[gateway].found(store.values.values(names, of: stream), on: key, time)
        case .read(let stream, let position, let limit):
            gateways[gateway].read(store.queues.page(of: stream, after: position, limit: limit, time), on: key, time)
        case .view(let stream):
            gateways[gateway].viewed(store.values.values(MailboxCore.viewedNames, of: stream), of: stream, time)
        case .pass(let bytes, let stream): notify(.passed(bytes, stream: stream))
        default: return
        }
    }

    /// Performs the next write of a connection. Writes of one connection never overlap.
    mutating func writeNext(_ key: Int) {
        guard let write = writes[key]?.first, let gateway = pipes[key]?.gateway else { return }
        writes[key]?.removeFirst()
        if writes[key]?.isEmpty == false { enter(.write(key: key), within: storeDelay) }
        let outcome: MailboxOutcome
        if failedKeys.contains(key), write.isPost, !faults.writesOn {
            outcome = .failed("unavailable")
        } else if now < downUntil {
            // The write may have succeeded anyway.
            if random.happens(rate: 0.3) { _ = perform(write) }
            outcome = .failed("unavailable")
        } else {
            outcome = perform(write)
        }
        if case .failed = outcome { failedKeys.insert(key) }
        if outcome == .done { note(write, key) }
        gateways[gateway].wrote(write, outcome, on: key, time)
        carryOut(gateway: gateway)
    }

    private mutating func perform(_ write: MailboxWrite) -> MailboxOutcome {
        if case .admit(_, let stream) = write,
            let device = devices.firstIndex(where: { $0.id.description == stream }), admittedAt[device] != 0
        {
            admittedAt[device] = now
        }
        guard let change = store.perform(write, time) else { return .full }
        if let notice = change.notice {
            for gateway in gatewaysServing(notice.stream) {
                enter(.notice(notice, gateway: gateway), within: 50 + storeDelay)
            }
        }
        for word in change.words { notify(word) }
        return .done
    }

    private mutating func notify(_ word: MailboxWord) {
        for gateway in gatewaysServing(word.stream) { enter(.word(word, gateway: gateway), within: 50 + storeDelay) }
    }

    /// Returns the gateways that receive the store's notice of a change of this stream. They serve the stream, and the
    /// notice isn't lost on the way.
    private mutating func gatewaysServing(_ stream: String) -> [Int] {
        gateways.indices.filter { gateway in
            served[gateway][stream, default: 0] > 0 && (areFaultsOver || !random.happens(rate: 0.1))
        }
    }

    /// Records that the store has the write. From then on it may go missing only if the store is emptied.
    private mutating func note(_ write: MailboxWrite, _ key: Int) {
        guard let sender = pipes[key]?.device else { return }
        switch write {
        case .append(let event, _, let stream, _):
            guard let receiver = devices.firstIndex(where: { $0.id.description == stream }),
                let number = QueuedNumber.read(event)
            else { return }
            exchanges[sender][receiver].answered.insert(number)
        case .set(let value, let name, let stream, _) where name.hasPrefix("latest/"):
            guard let receiver = devices.firstIndex(where: { $0.id.description == stream }) else { return }
            if value.reduce(0, { $0 << 8 | Int($1) }) == exchanges[sender][receiver].latest {
                exchanges[sender][receiver].latestIsAnswered = true
            }
        default: return
        }
    }

    // MARK: Faults

    mutating func injectFault() {
        let device = Int(random.upTo(UInt64(devices.count - 1)))
        switch random.upTo(99) {
        case 0..<50:
            guard let key = devices[device].key else { return }
            count("connection cut")
            cut(key)
        case 50..<70:
            count("gateway killed")
            let gateway = Int(random.upTo(1))
            gateways[gateway] = makeGateway()
            served[gateway] = [:]
            for key in keys(at: gateway) {
                // The gateway's pending writes are lost with it.
                writes[key] = []
                cut(key)
            }
        case 70..<78: if faults.losesStore { loseStore() }
        case 78..<90: stopStore()
        default: slowStore()
        }
    }

    mutating func sendBurst(_ device: Int) {
        guard faults.losesStore, let key = devices[device].key else { return }
        slowUntil = now + 6_000_000_000
        for _ in 0..<8 { post(from: device) }
        queue.enter(.cut(key: key), at: now + 100_000_000)
        enter(.emptying, within: 5000)
    }

    mutating func loseStore() {
        count("store emptied")
        admittedAt = admittedAt.map { _ in nil }
        store = makeStore()
        for sender in exchanges.indices {
            for receiver in exchanges[sender].indices {
                exchanges[sender][receiver].excused.formUnion(exchanges[sender][receiver].answered)
                if exchanges[sender][receiver].latestIsAnswered { exchanges[sender][receiver].latestIsExcused = true }
            }
        }
    }
}

/// The numbers in a run's messages.
private enum QueuedNumber {
    static func read(_ event: ReplayEvent) -> Int? {
        QueuedPacket.read(event).map { $0.bytes.reduce(0) { $0 << 8 | Int($1) } }
    }
}
