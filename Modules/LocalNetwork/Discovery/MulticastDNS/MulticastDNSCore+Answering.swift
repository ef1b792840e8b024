import MeshBase

extension MulticastDNSCore {
    /// Answers questions about our names (RFC 6762 section 6), to the group or the querier, at once or delayed.
    mutating func answer(_ message: DNSMessage, _ source: MulticastDNSSource, _ index: Int) {
        guard let own, interfaces[index].claim.isHeld else { return }
        let interface = interfaces[index].interface
        let family = Int(source.ip.family.rawValue)
        let known = own.sets(listedIn: message.answers, on: interface) { ($0 + 1) / 2 }
        if message.questions.isEmpty {
            return continueKnownAnswers(known, message, source, index)
        }
        var (toGroup, toQuerier): (RecordSets, RecordSets) = ([], [])
        for question in message.questions {
            for set in own.sets(answering: question, on: interface).each {
                let allowsUnicast = question.wantsUnicast || !source.wasMulticast
                let lifetime = own.lifetime(of: set)
                if allowsUnicast, interfaces[index].answers[family].wasSentRecently(set, lifetime: lifetime, now) {
                    toQuerier.insert(set)
                } else {
                    toGroup.insert(set)
                }
            }
        }
        toGroup.subtract(known)
        toQuerier.subtract(known.union(toGroup))
        guard !toGroup.union(toQuerier).isEmpty else { return }

        let isDefence = message.authorities.contains { $0.name == own.instance || $0.name == own.host }
        let isTruncated = message.flags.contains(.truncated)
        let mayCollide = !toGroup.union(toQuerier).isDisjoint(with: .shared)
        var reply = AnswerQueue.Reply(sets: toGroup, due: now, querier: source.ip, isDefence: isDefence)
        if isTruncated {
            reply.due = now + randomDelay(400...500)
            reply.waitsUntil = now + Self.patienceForKnownAnswers
        } else if mayCollide, !isDefence {
            reply.due = now + randomDelay(20...120)
        }
        enqueue(reply, family, index)
        reply.sets = toQuerier
        reply.recipient = .querier(source.ip, port: source.port)
        enqueue(reply, family, index)
    }

    private static let patienceForKnownAnswers = Duration.seconds(2)

    private mutating func enqueue(_ reply: AnswerQueue.Reply, _ family: Int, _ index: Int) {
        if !interfaces[index].answers[family].enqueue(reply) { statistics.dropped += 1 }
    }

    /// Processes the rest of a querier's known answers (RFC 6762 section 7.2).
    private mutating func continueKnownAnswers(
        _ known: RecordSets, _ message: DNSMessage, _ source: MulticastDNSSource, _ index: Int
    ) {
        let family = Int(source.ip.family.rawValue)
        interfaces[index].answers[family].suppress(known, listedBy: source.ip)
        if message.flags.contains(.truncated) {
            let due = now + randomDelay(400...500)
            interfaces[index].answers[family].postponeReplies(to: source.ip, until: due)
        }
    }

    /// Drops queued answers that another host has just sent (RFC 6762 section 7.4). Sends our records again if that
    /// host gave them less than half of their lifetime (section 6.6).
    mutating func compareAnswers(_ message: DNSMessage, _ source: MulticastDNSSource, _ index: Int) {
        guard let own, interfaces[index].claim.isHeld else { return }
        let interface = interfaces[index].interface
        let records = message.answers + message.additionals
        let any = own.sets(listedIn: records, on: interface) { _ in 0 }
        guard !any.isEmpty else { return }
        let full = own.sets(listedIn: records, on: interface) { $0 }
        let enough = own.sets(listedIn: records, on: interface) { ($0 + 1) / 2 }
        if source.wasMulticast { interfaces[index].answers[Int(source.ip.family.rawValue)].suppress(full) }
        let toRescue = any.subtracting(enough)
        for family in interfaces[index].families where !toRescue.isEmpty {
            let reply = AnswerQueue.Reply(sets: toRescue, due: now + randomDelay(20...120))
            enqueue(reply, Int(family.rawValue), index)
        }
    }

    /// Answers a legacy querier by unicast, at once and in the conventional format (RFC 6762 section 6.7).
    mutating func replyToLegacy(_ message: DNSMessage, _ source: MulticastDNSSource, _ index: Int) {
        guard let own, interfaces[index].claim.isHeld else { return }
        let interface = interfaces[index].interface
        var sets = RecordSets()
        for question in message.questions { sets.formUnion(own.sets(answering: question, on: interface)) }
        guard !sets.isEmpty else { return }
        let more = own.supplements(to: sets, on: interface)
        guard interfaces[index].unicastReplies.take(now),
            let packet = builder.legacyResponse(
                to: message, own.records(of: sets, on: interface), additionals: own.records(of: more, on: interface))
        else {
            statistics.dropped += 1
            return
        }
        send(packet, index, .unicast(source.ip, port: source.port))
    }
}

// MARK: - Sending

extension MulticastDNSCore {
    mutating func sendAnswers(_ index: Int) {
        guard let own else { return }
        for family in interfaces[index].families {
            sendToQueriers(own, index, Int(family.rawValue))
            sendToGroup(own, index, family)
        }
    }

    private mutating func sendToQueriers(_ own: OwnRecords, _ index: Int, _ family: Int) {
        let interface = interfaces[index].interface
        for reply in interfaces[index].answers[family].takeDueReplies(now) {
            guard case .querier(let ip, let port) = reply.recipient else { continue }
            guard interfaces[index].unicastReplies.take(now) else {
                statistics.dropped += 1
                continue
            }
            let more = own.supplements(to: reply.sets, on: interface)
            let packets = builder.responses(
                own.records(of: reply.sets, on: interface), additionals: own.records(of: more, on: interface))
            for packet in packets { send(packet, index, .unicast(ip, port: port)) }
        }
    }

    private mutating func sendToGroup(_ own: OwnRecords, _ index: Int, _ family: IPAddress.Family) {
        let place = Int(family.rawValue)
        let sets = interfaces[index].answers[place].takeDueForGroup(now)
        guard !sets.isEmpty else { return }
        let interface = interfaces[index].interface
        let more = own.supplements(to: sets, on: interface).each
            .filter { interfaces[index].answers[place].canSend($0, now) }
            .reduce(into: RecordSets()) { $0.formUnion($1) }
        interfaces[index].answers[place].noteSent(sets.union(more), now)
        let packets = builder.responses(
            own.records(of: sets, on: interface), additionals: own.records(of: more, on: interface))
        multicast(packets, index, family: family)
    }
}
