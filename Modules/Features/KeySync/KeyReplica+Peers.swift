import MeshIdentity
import MeshRegister

// The lifecycle and the handshake.
extension KeyReplica {
    /// A peer is there: at activation, at a change of pairing, when it comes into reach.
    mutating func meet(_ id: String) {
        guard peers[id] != nil || peers.count < KeyLimits.peersMax else { return }
        var peer = peers[id] ?? KeyPeer()
        peer.isReachable = true
        peer.retryDelay = .seconds(2)
        if !breaks(.onlyAppAsks), !peer.isAsked || breaks(.asksAlways) {
            peer.isToBeAsked = true
            peer.askCount += 1
        }
        peers[id] = peer
    }

    mutating func lose(_ id: String) { peers[id]?.isReachable = false }

    mutating func forget(_ id: String) { peers[id] = nil }

    /// What waits too long is asked and sent again: after 2 s, 4 s, … 5 min.
    mutating func tick(at now: Duration) {
        for (id, var peer) in peers where peer.isReachable && peer.isWaiting && !breaks(.noRetry) {
            guard let retryAt = peer.retryAt else {
                peers[id]?.retryAt = now + peer.retryDelay
                continue
            }
            guard retryAt <= now else { continue }
            peer.retryDelay = min(peer.retryDelay * 2, .seconds(300))
            peer.retryAt = now + peer.retryDelay
            peer.due.formUnion(peer.sent.keys)
            peer.sent = [:]
            if peer.isAsked { (peer.isAsked, peer.isToBeAsked) = (false, true) }
            peers[id] = peer
        }
    }

    // MARK: - Sending

    /// What is to be sent to a peer next, within the budget of a message; nil when there is nothing.
    mutating func nextMessage(to id: String) -> KeyMessage? {
        guard var peer = peers[id], peer.isReachable else { return nil }
        defer { peers[id] = peer }
        if peer.isToBeAsked {
            (peer.isToBeAsked, peer.isAsked) = (false, true)
            return KeyMessage(nonce: drawNonce(), digests: digest().buckets)
        }
        var message = peer.answer ?? KeyMessage(nonce: 0)
        let isDue = fill(&message, from: &peer)
        guard isDue || peer.answer != nil || !peer.report.isEmpty || !peer.refusals.isEmpty else { return nil }
        (message.confirmed, message.refused) = (peer.report, peer.refusals)
        (peer.answer, peer.report, peer.refusals) = (nil, [], [])
        message.nonce = drawNonce()
        return message
    }

    /// The most urgent first, then the smallest: a large key never keeps the others from going.
    private func fill(_ message: inout KeyMessage, from peer: inout KeyPeer) -> Bool {
        var room = configuration.messageBytes
        let items = peer.due.compactMap { key in entries[key].map { KeyMessage.Item(key: key, entry: $0) } }
            .sorted {
                (-rule($0.key).priority, $0.byteCount, $0.key) < (-rule($1.key).priority, $1.byteCount, $1.key)
            }
        if breaks(.largeBlocks), entries.contains(where: { Self.size($0, $1) > room }) { return false }
        for item in items {
            if refusal(item.key) != nil || peer.confirmed[item.key] == item.entry.version || breaks(.oneWay) {
                peer.due.remove(item.key)
            } else if item.byteCount <= room, message.items.count < KeyLimits.listMax {
                room -= item.byteCount
                peer.due.remove(item.key)
                peer.sent[item.key] = item.entry.version
                message.items.append(item)
            } else {
                break
            }
        }
        if breaks(.lastKeyOnly) { message.items = Array(message.items.suffix(1)) }
        return !message.items.isEmpty
    }

    func digest() -> KeyDigest {
        var digest = KeyDigest()
        for (key, entry) in entries where isShareable(key) && !isSettled(key, entry) {
            digest.add(key, entry.version)
        }
        return digest
    }

    // MARK: - Receiving

    /// - Returns: false when no peer that keeps the rules can have sent it; nothing was taken then.
    mutating func receive(_ message: KeyMessage, from id: String) -> Bool {
        guard message.isSound, peers[id] != nil || peers.count < KeyLimits.peersMax else { return false }
        var peer = peers[id] ?? KeyPeer()
        peer.isReachable = true
        if message.digests == nil { (peer.isAsked, peer.retryAt) = (false, nil) }
        confirm(message, by: &peer)
        for item in message.items { take(item, from: &peer) }
        for key in message.wants where entries[key] != nil && rule(key).isEligible && !breaks(.noWants) {
            peer.confirmed[key] = nil
            peer.due.insert(key)
        }
        if let digests = message.digests, !breaks(.noAnswer) { answer(digests, to: &peer) }
        if !message.buckets.isEmpty { compare(message, with: &peer) }
        peers[id] = peer
        for item in message.items { passOn(item, except: id) }
        prune()
        return true
    }

    private func confirm(_ message: KeyMessage, by peer: inout KeyPeer) {
        for version in message.confirmed {
            peer.confirmed[version.key] = entries[version.key] == nil ? nil : version.version
            if peer.sent[version.key] == version.version { peer.sent[version.key] = nil }
        }
        for version in message.refused {
            if entries[version.key] != nil { peer.refused[version.key] = version.version }
            if peer.sent[version.key] == version.version { peer.sent[version.key] = nil }
        }
    }

    private mutating func take(_ item: KeyMessage.Item, from peer: inout KeyPeer) {
        let version = KeyMessage.Version(key: item.key, version: item.entry.version)
        let rule = rule(item.key)
        let isOpen = !rule.isSecured || (rule.sharesSecured && isLinkSecured) || breaks(.securedLeaves)
        guard rule.isEligible, isOpen else { return peer.refusals.append(version) }
        let mine = entries[item.key]
        if mine.map({ item.entry.wins(over: $0) }) ?? true || breaks(.arrivalOrder) {
            guard put(item.entry, item.key) else { return peer.refusals.append(version) }
        } else if mine?.version != item.entry.version {
            peer.due.insert(item.key)
        }
        peer.confirmed[item.key] = item.entry.version
        peer.report.append(version)
    }

    /// What one peer has changed goes to the others that this one knows.
    private mutating func passOn(_ item: KeyMessage.Item, except sender: String) {
        guard entries[item.key] == item.entry else { return }
        for id in peers.keys where id != sender && peers[id]?.confirmed[item.key] != item.entry.version {
            peers[id]?.due.insert(item.key)
        }
    }

    private func answer(_ digests: [UInt64], to peer: inout KeyPeer) {
        let mine = digest().buckets
        let differing = Set(mine.indices.filter { mine[$0] != digests[$0] })
        var answer = KeyMessage(nonce: 0)
        answer.isAcknowledgement = differing.isEmpty
        answer.buckets = differing.filter { digests[$0] != 0 }.sorted()
        let listed = Set(answer.buckets)
        for (key, entry) in entries where isShareable(key) {
            let bucket = KeyDigest.bucket(of: key)
            if !differing.contains(bucket) {
                peer.confirmed[key] = entry.version
            } else if listed.contains(bucket) {
                answer.versions.append(.init(key: key, version: entry.version))
            } else if !isSettled(key, entry) {
                peer.confirmed[key] = nil
                peer.due.insert(key)
            }
        }
        answer.versions.sort { $0.key < $1.key }
        if answer.versions.count > KeyLimits.listMax { answer = shortened(answer) }
        peer.answer = answer
    }

    /// As many whole buckets as a message may list; the rest differs still when the peer asks again.
    private func shortened(_ answer: KeyMessage) -> KeyMessage {
        var answer = answer
        let counts = Dictionary(grouping: answer.versions) { KeyDigest.bucket(of: $0.key) }.mapValues(\.count)
        var total = 0
        answer.buckets = answer.buckets.filter { bucket in
            total += counts[bucket] ?? 0
            return total <= KeyLimits.listMax
        }
        let kept = Set(answer.buckets)
        answer.versions.removeAll { !kept.contains(KeyDigest.bucket(of: $0.key)) }
        return answer
    }

    /// The answer to what was asked: what is newer here goes there, what is newer there is wanted.
    private func compare(_ message: KeyMessage, with peer: inout KeyPeer) {
        let theirs = Dictionary(message.versions.map { ($0.key, $0.version) }) { max($0, $1) }
        let buckets = Set(message.buckets)
        for (key, entry) in entries where buckets.contains(KeyDigest.bucket(of: key)) {
            let version = theirs[key]
            if version == entry.version {
                peer.confirmed[key] = version
                peer.report.append(.init(key: key, version: entry.version))
            } else if version.map({ $0 < entry.version }) ?? true, isAutomatic(key) {
                peer.confirmed[key] = nil
                peer.due.insert(key)
            }
        }
        let wanted = theirs.filter { key, version in
            rule(key).isEligible && entries[key].map { $0.version < version } ?? true
        }
        guard !wanted.isEmpty else { return }
        var answer = peer.answer ?? KeyMessage(nonce: 0)
        answer.wants = wanted.keys.sorted()
        peer.answer = answer
    }
}
