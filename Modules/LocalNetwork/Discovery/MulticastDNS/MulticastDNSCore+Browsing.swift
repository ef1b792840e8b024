import MeshBase

extension MulticastDNSCore {
    /// Starts looking for services.
    package mutating func browse(_ now: Duration) {
        guard !hasEnded, !isBrowsing else { return }
        self.now = max(self.now, now)
        isBrowsing = true
        for index in interfaces.indices { startBrowsing(index) }
        tick(now)
    }

    mutating func startBrowsing(_ index: Int) {
        interfaces[index].browsing = InterfaceState.Browsing(at: now + randomDelay(20...120))
    }

    // MARK: Caching

    /// Caches the records that lead from our service type to an address, and ignores all others.
    mutating func cacheRecords(_ message: DNSMessage, _ source: MulticastDNSSource, _ index: Int) {
        guard isBrowsing else { return }
        let records = (message.answers + message.additionals).filter { $0.recordClass == .internet }
        for record in records {
            if case .pointer(let instance) = record.data, record.name == names.type, isInstance(instance) {
                insert(record, source, index)
            }
        }
        for record in records where record.type == .srv || record.type == .txt {
            if interfaces[index].cache.holdsPointer(to: record.name), record.data.fitsSizeLimit {
                insert(record, source, index)
            }
        }
        var hosts: [DNSName] = []
        for record in records where record.type == .a || record.type == .aaaa {
            guard interfaces[index].cache.isTarget(record.name), insert(record, source, index) else { continue }
            if !hosts.contains(record.name) { hosts.append(record.name) }
        }
        for host in hosts { noteChanged(host: host) }
    }

    /// Returns true if the name is one label below our service type, in UTF-8 and without control characters.
    private func isInstance(_ name: DNSName) -> Bool {
        guard name.parent == names.type, let label = String(validating: name.firstLabel, as: UTF8.self) else {
            return false
        }
        return label.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Returns true if the record is new or was renewed.
    @discardableResult
    private mutating func insert(_ record: DNSRecord, _ source: MulticastDNSSource, _ index: Int) -> Bool {
        var budget = interfaces[index].newRecords
        let outcome = interfaces[index].cache.insert(record, from: source.ip, now, &random) { budget.take(now) }
        interfaces[index].newRecords = budget
        for evicted in interfaces[index].cache.takeEvicted() {
            statistics.dropped += 1
            noteChanged(evicted)
        }
        switch outcome {
        case .unchanged: return false
        case .refused:
            statistics.dropped += 1
            return false
        case .added, .renewed:
            if case .address = record.data { return true }
            noteChanged(record)
            if case .pointer(let instance) = record.data {
                startResolving(instance, index)
            } else if outcome == .added, record.type == .srv {
                startResolving(record.name, index)
            }
            return true
        }
    }

    mutating func advanceCache(_ index: Int) {
        let due = interfaces[index].cache.advance(now, &random)
        for record in due.expired {
            noteChanged(record)
            resolveAgain(without: record, index)
        }
        let wanted = due.refresh.filter { isReferenced($0, index) }
        var questions: [DNSQuestion] = []
        for record in wanted {
            let question = DNSQuestion(record.name, record.type)
            if !questions.contains(question), interfaces[index].questions.take(now) { questions.append(question) }
        }
        ask(questions, index)
    }

    /// Asks again for a record that expired before its service's pointer did. The refresh questions or their answers
    /// may have been lost.
    private mutating func resolveAgain(without record: DNSRecord, _ index: Int) {
        let cache = interfaces[index].cache
        switch record.data {
        case .pointer: break
        case .address: for instance in cache.instances(on: record.name) { startResolving(instance, index) }
        default: if cache.holdsPointer(to: record.name) { startResolving(record.name, index) }
        }
    }

    /// Returns true if the record still belongs to a service with a pointer.
    private func isReferenced(_ record: DNSRecord, _ index: Int) -> Bool {
        let cache = interfaces[index].cache
        switch record.type {
        case .ptr: return true
        case .a, .aaaa: return cache.isTarget(record.name)
        default: return cache.holdsPointer(to: record.name)
        }
    }

    // MARK: Asking

    mutating func sendQuestions(_ index: Int) {
        var questions: [DNSQuestion] = []
        if let browsing = interfaces[index].browsing, browsing.at <= now {
            // A responder that doesn't share port 5353 can get the first answers by unicast (RFC 6762 section 5.4).
            let wantsUnicast = browsing.isFirst && !configuration.sharesPort
            questions.append(DNSQuestion(names.type, .ptr, wantsUnicast: wantsUnicast))
            interfaces[index].browsing?.noteAsked(now)
        }
        for place in interfaces[index].resolutions.indices where interfaces[index].resolutions[place].at <= now {
            let attempts = interfaces[index].resolutions[place].attempts
            interfaces[index].resolutions[place].attempts += 1
            interfaces[index].resolutions[place].at = now + .seconds(1 << attempts)
            for question in missing(of: interfaces[index].resolutions[place].instance, index) {
                if interfaces[index].questions.take(now) { questions.append(question) }
            }
        }
        interfaces[index].resolutions.removeAll { $0.attempts == InterfaceState.Resolution.attemptsMax }
        ask(questions, index)
    }

    private mutating func ask(_ questions: [DNSQuestion], _ index: Int) {
        guard !questions.isEmpty else { return }
        multicast(builder.queries(questions.map { ($0, knownAnswers(to: $0, index)) }), index)
    }

    /// The cached answers with more than half of their lifetime left (RFC 6762 section 7.1).
    private func knownAnswers(to question: DNSQuestion, _ index: Int) -> [DNSRecord] {
        let cache = interfaces[index].cache
        let records = question.type == .ptr ? cache.pointers : cache[question.name]
        return records.compactMap { cached in
            guard cached.record.type == question.type, cached.isFresh(now) else { return nil }
            // Leave out a pointer whose other records are missing: a responder that repeats it adds them.
            if case .pointer(let instance) = cached.record.data, !missing(of: instance, index).isEmpty { return nil }
            var record = cached.record
            record.lifetime = cached.remaining(now)
            record.flushesCache = false
            return record
        }
    }

    /// Skips our own question if another host has just asked it (RFC 6762 section 7.3). In a question for services,
    /// that host must list no known answer that we lack. Otherwise responders leave out answers that we need.
    mutating func noteQuestions(_ message: DNSMessage, _ source: MulticastDNSSource, _ index: Int) {
        guard isBrowsing, source.wasMulticast, !message.flags.contains(.truncated) else { return }
        let soon = now + .seconds(1)
        let questions = message.questions.filter { !$0.wantsUnicast && $0.recordClass == .internet }
        for question in questions where question.name != names.type {
            interfaces[index].cache.noteAsked(question.name, question.type, by: soon, &random)
        }
        guard let browsing = interfaces[index].browsing, browsing.at <= soon,
            let question = questions.first(where: { $0.name == names.type && $0.type == .ptr })
        else { return }
        let ours = knownAnswers(to: question, index)
        let isCovered = message.answers.allSatisfy { theirs in
            theirs.name != names.type || ours.contains { $0.isSame(as: theirs) }
                || theirs.data == own.map { .pointer($0.instance) }
        }
        if isCovered { interfaces[index].browsing?.noteAsked(now) }
    }
}
