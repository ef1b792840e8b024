import Foundation
import MeshIdentity
import MeshRegister

// The lifecycle and the handshake.
extension KeyReplica {
    /// A peer is there: at activation, at a change of pairing, when it comes into reach.
    mutating func meet(_ id: String) {
        guard peers[id] != nil || makeRoom() else { return }
        var peer = peers[id] ?? KeyPeer()
        peer.isReachable = true
        let newest = peers.values.map(\.order).max() ?? 0
        if newest == 0 || peer.order < newest { peer.order = newest &+ 1 }
        changedPeers.insert(id)
        peer.retryDelay = .seconds(2)
        if !breaks(.onlyAppAsks), !peer.isAsked || breaks(.asksAlways) {
            peer.isToBeAsked = true
        }
        peers[id] = peer
    }

    mutating func lose(_ id: String) { peers[id]?.isReachable = false }

    mutating func forget(_ id: String) {
        guard peers.removeValue(forKey: id) != nil else { return }
        changedPeers.insert(id)
        changedDownloads.insert(id)
    }

    /// What waits too long is asked and sent again: after 2 s, 4 s, … 5 min.
    mutating func tick(at now: Duration) {
        planRetries(at: now)
        for (id, var peer) in peers {
            guard let retryAt = peer.retryAt, retryAt <= now else { continue }
            peer.retryDelay = min(peer.retryDelay * 2, .seconds(300))
            peer.retryAt = now + peer.retryDelay
            peer.takeBack()
            if peer.isAsked { (peer.isAsked, peer.isToBeAsked) = (false, true) }
            peers[id] = peer
        }
    }

    /// Gives what waits a time. One that was planned for what has been answered since is not for what is sent next.
    /// - Returns: the first; nil where nothing waits.
    @discardableResult
    mutating func planRetries(at now: Duration) -> Duration? {
        for (id, peer) in peers {
            let waits = peer.isReachable && peer.isWaiting && !breaks(.noRetry)
            peers[id]?.retryAt = waits ? peer.retryAt ?? now + peer.retryDelay : nil
        }
        return peers.values.compactMap(\.retryAt).min()
    }

    // MARK: - Sending

    /// What is to be sent to a peer next, within the budget of a message; nil when there is nothing, or when as many
    /// messages as may be on their way are.
    mutating func nextMessage(to id: String) -> KeyMessage? {
        guard var peer = peers[id], peer.isReachable else { return nil }
        defer { peers[id] = peer }
        if peer.isToBeAsked {
            (peer.isToBeAsked, peer.isAsked) = (false, true)
            return KeyMessage(nonce: drawNonce(), digests: digest().buckets)
        }
        var message = peer.answer ?? KeyMessage(nonce: 0)
        fill(&message, for: &peer)
        (message.taken, message.refused, message.pieceMark) = (peer.report, peer.refusals, peer.pieceMark)
        guard message != KeyMessage(nonce: 0) else { return nil }
        (peer.answer, peer.report, peer.refusals, peer.pieceMark) = (nil, [], [], nil)
        message.nonce = drawNonce()
        message.remaining = min(peer.due.count - message.items.count, KeyLimits.keysMax)
        if !message.items.isEmpty { peer.send(message.items, in: message.nonce) }
        if message.answers != nil, !message.buckets.isEmpty {
            peer.listing = KeyPeer.Listing(nonce: message.nonce, prints: Set(message.prints))
        }
        return message
    }

    /// A message could not be handed over. What it confirms goes with the next one; what else it said comes up again when the
    /// peer is asked, as it is by time.
    mutating func takeBack(_ message: KeyMessage, from id: String) {
        guard var peer = peers[id] else { return }
        // A peer that keeps the rules waits for no more confirmations than that, and repeats what is refused.
        peer.report = (message.taken + peer.report).suffix(2 * KeyLimits.lettersMax)
        peer.refusals = (message.refused + peer.refusals).suffix(KeyLimits.listMax)
        peer.pieceMark = peer.pieceMark ?? message.pieceMark
        peer.isAsked = true
        peers[id] = peer
    }

    private func rank(_ key: String) -> KeyQueue.Rank {
        let size = entries[key].map { Self.size(key, $0) } ?? 0
        return KeyQueue.Rank(
            urgency: -rule(key).priority, size: size >> 12, bucket: KeyDigest.bucket(of: key), key: key)
    }

    private func fill(_ message: inout KeyMessage, for peer: inout KeyPeer) {
        guard peer.letters.count < KeyLimits.lettersMax, !peer.due.isEmpty else { return }
        var room = configuration.messageBytes
        for key in peer.order(rank) {
            guard let entry = entries[key], refusal(key) == nil, peer.confirmed[key] != entry.version, !breaks(.oneWay)
            else {
                peer.dequeue(key)
                continue
            }
            let item = KeyMessage.Item(key: key, entry: entry)
            if item.byteCount > configuration.messageBytes {
                if breaks(.largeBlocks) { break }
                addPiece(of: item, to: &message, for: &peer, &room)
            } else if item.byteCount <= room, message.items.count < KeyLimits.listMax {
                room -= item.byteCount
                message.items.append(item)
            } else {
                break
            }
        }
        if breaks(.lastKeyOnly) {
            for item in message.items.dropLast() { peer.dequeue(item.key) }
            message.items = message.items.suffix(1)
        }
    }

    /// At most a quarter of a message, of one value at a time, and the next piece when this one has come: what is smaller
    /// and comes up meanwhile goes in between.
    private func addPiece(
        of item: KeyMessage.Item, to message: inout KeyMessage, for peer: inout KeyPeer, _ room: inout Int
    ) {
        guard let bytes = item.entry.bytes, message.piece == nil else { return }
        if let upload = peer.upload, upload.name.key == item.key, upload.name != item.name { peer.upload = nil }
        let upload = peer.upload ?? KeyPeer.Upload(name: item.name)
        guard upload.name == item.name, !upload.isInFlight, upload.offset < bytes.count else { return }
        let count = min(bytes.count - upload.offset, max(configuration.messageBytes / 4, 1), max(room, 1))
        let start = bytes.startIndex + upload.offset
        message.piece = .init(
            name: item.name, offset: upload.offset, total: bytes.count, bytes: Data(bytes[start..<start + count]))
        room -= count
        peer.upload = upload
        peer.upload?.isInFlight = true
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
        guard message.isSound, peers[id] != nil || makeRoom() else { return false }
        var peer = peers[id] ?? KeyPeer()
        peer.isReachable = true
        changedPeers.insert(id)
        let extent = peer.download?.extent
        confirm(message, by: &peer)
        let arrived = takeAll(message, from: &peer)
        for key in message.wants where !breaks(.noWants) {
            if let entry = entries[key], rule(key).isEligible { peer.enqueue(key, entry.version) }
        }
        if let digests = message.digests, !breaks(.noAnswer) { answer(digests, message.nonce, to: &peer) }
        if !message.buckets.isEmpty { compare(message, with: &peer) }
        if let compared = message.compared { conclude(compared, message, with: &peer) }
        if !message.versions.isEmpty { compareVersions(message.versions, with: &peer) }
        peers[id] = peer
        if peer.download?.extent != extent { changedDownloads.insert(id) }
        for item in arrived { passOn(item, except: id) }
        prune()
        return true
    }

    private func confirm(_ message: KeyMessage, by peer: inout KeyPeer) {
        let standing = peer.standing
        // What brings nothing about may answer what was sent long ago: where that takes longer than the delay, the delay grows.
        defer { if peer.standing != standing { (peer.retryAt, peer.retryDelay) = (nil, .seconds(2)) } }
        if message.answers != nil { peer.isAsked = message.isPartial }
        for name in message.refused {
            if entries[name.key] != nil { peer.refused[name.key] = name.version }
            if peer.upload?.name == name { peer.dequeue(name.key) }
        }
        for nonce in message.taken { peer.confirm(nonce) { entries[$0.key]?.version == $0.version } }
        guard let mark = message.pieceMark, var upload = peer.upload, upload.name == mark.name else { return }
        let total = entries[mark.name.key]?.bytes?.count ?? 0
        (upload.offset, upload.isInFlight) = (min(mark.count, total), false)
        peer.upload = upload
        guard mark.count >= total else { return }
        peer.dequeue(mark.name.key)
        peer.confirmed[mark.name.key] = mark.name.version
        peer.progress.confirmed += 1
    }

    private mutating func takeAll(_ message: KeyMessage, from peer: inout KeyPeer) -> [KeyMessage.Item] {
        var items = message.items
        for item in items { take(item, from: &peer) }
        if !items.isEmpty { peer.report.append(message.nonce) }
        if let piece = message.piece, let item = take(piece, from: &peer) {
            take(item, from: &peer)
            items.append(item)
        }
        guard !items.isEmpty || message.remaining > 0 else { return [] }
        if peer.progress.following == 0 { peer.progress.arrived = 0 }
        peer.progress.arrived += items.count
        peer.progress.following = message.remaining
        return items
    }

    private mutating func take(_ item: KeyMessage.Item, from peer: inout KeyPeer) {
        guard isOpen(item.key) else { return peer.refusals.append(item.name) }
        let mine = entries[item.key]
        if mine.map({ item.entry.wins(over: $0) }) ?? true || breaks(.arrivalOrder) {
            guard put(item.entry, item.key) else { return peer.refusals.append(item.name) }
            peer.dequeue(item.key)
        } else if let mine, mine.version != item.entry.version {
            peer.enqueue(item.key, mine.version)
        }
        peer.confirmed[item.key] = item.entry.version
    }

    private func isOpen(_ key: String) -> Bool {
        let rule = rule(key)
        return rule.isEligible
            && (!rule.isSecured || (rule.sharesSecured && isLinkSecured) || breaks(.securedLeaves))
    }

    /// One value at a time of each peer, at most `KeyLimits.valueBytesMax`; another one takes its place.
    /// - Returns: the value, once it is whole.
    private func take(_ piece: KeyMessage.Piece, from peer: inout KeyPeer) -> KeyMessage.Item? {
        let name = piece.name
        guard isOpen(name.key) else {
            peer.refusals.append(name)
            return nil
        }
        if let mine = entries[name.key], mine.version >= name.version {
            peer.pieceMark = .init(name: name, count: piece.total)
            if mine.version != name.version { peer.enqueue(name.key, mine.version) }
            return nil
        }
        var download = peer.download ?? KeyPeer.Download(name: name, total: piece.total)
        if download.name != name || download.total != piece.total { download = .init(name: name, total: piece.total) }
        if piece.offset == download.bytes.count { download.bytes.append(piece.bytes) }
        peer.pieceMark = .init(name: name, count: download.bytes.count)
        guard download.bytes.count == piece.total else {
            peer.download = download
            return nil
        }
        peer.download = nil
        return KeyMessage.Item(key: name.key, entry: StateEntry(version: name.version, bytes: download.bytes))
    }

    /// What one peer has changed goes to the others that this one knows.
    private mutating func passOn(_ item: KeyMessage.Item, except sender: String) {
        guard peers.count > 1, entries[item.key] == item.entry else { return }
        for id in peers.keys where id != sender && peers[id]?.confirmed[item.key] != item.entry.version {
            peers[id]?.enqueue(item.key, item.entry.version)
        }
    }

    // MARK: - The handshake

    private func answer(_ digests: [UInt64], _ nonce: UInt64, to peer: inout KeyPeer) {
        let mine = digest().buckets
        let isDiffering = zip(mine, digests).map { $0 != $1 }
        var prints = [[UInt64]](repeating: [], count: KeyLimits.bucketCount)
        for (key, entry) in entries where isShareable(key) {
            let bucket = KeyDigest.bucket(of: key)
            if !isDiffering[bucket] {
                peer.confirmed[key] = entry.version
            } else if digests[bucket] != 0 {
                prints[bucket].append(KeyDigest.print(key, entry.version))
            } else if !isSettled(key, entry) {
                peer.enqueue(key, entry.version)
            }
        }
        var answer = KeyMessage(nonce: 0)
        answer.answers = nonce
        answer.isAcknowledgement = !isDiffering.contains(true)
        for bucket in isDiffering.indices where isDiffering[bucket] && digests[bucket] != 0 {
            // As many whole buckets as fit; the rest differs still when the peer asks again.
            guard answer.prints.count + prints[bucket].count <= KeyLimits.listMax || answer.buckets.isEmpty else {
                answer.isPartial = true
                break
            }
            answer.buckets.append(bucket)
            answer.prints += prints[bucket].sorted()
        }
        peer.answer = answer
    }

    /// The answer to what was asked: what only the other has is wanted, what only this one has goes there, and where each
    /// has something that may be the same key the other is told which version.
    private func compare(_ message: KeyMessage, with peer: inout KeyPeer) {
        var theirs = Set(message.prints)
        let buckets = Set(message.buckets)
        var mine: [KeyMessage.Version] = []
        for (key, entry) in entries where isShareable(key) {
            let print = KeyDigest.print(key, entry.version)
            guard buckets.contains(KeyDigest.bucket(ofPrint: print)) else { continue }
            if theirs.remove(print) != nil {
                peer.confirmed[key] = entry.version
            } else if isAutomatic(key) {
                mine.append(.init(key: key, version: entry.version))
            }
        }
        let open = Set(theirs.map(KeyDigest.bucket(ofPrint:)))
        var answer = peer.answer ?? KeyMessage(nonce: 0)
        answer.compared = message.nonce
        answer.wantedPrints = theirs.sorted()
        for name in mine.sorted(by: { $0.key < $1.key }) {
            if open.contains(KeyDigest.bucket(of: name.key)), answer.versions.count < KeyLimits.listMax {
                answer.versions.append(name)
            } else {
                peer.enqueue(name.key, name.version)
            }
        }
        peer.answer = answer
    }

    /// The other has compared: it lacks what it wants, and has the rest of what it was told.
    private func conclude(_ nonce: UInt64, _ message: KeyMessage, with peer: inout KeyPeer) {
        // Nil after a relaunch: what is wanted goes all the same, and the rest is confirmed by the next exchange.
        let listed = peer.listing.flatMap { $0.nonce == nonce ? $0.prints : nil } ?? []
        if !listed.isEmpty { peer.listing = nil }
        let wanted = Set(message.wantedPrints)
        for (key, entry) in entries where isShareable(key) {
            let print = KeyDigest.print(key, entry.version)
            if wanted.contains(print) {
                if !breaks(.noWants) { peer.enqueue(key, entry.version) }
            } else if listed.contains(print) {
                peer.confirmed[key] = entry.version
            }
        }
    }

    private func compareVersions(_ versions: [KeyMessage.Version], with peer: inout KeyPeer) {
        var wants: [String] = []
        for name in versions {
            guard let mine = entries[name.key] else {
                wants.append(name.key)
                continue
            }
            if mine.version < name.version { wants.append(name.key) }
            if mine.version > name.version, isShareable(name.key), !breaks(.noWants) {
                peer.enqueue(name.key, mine.version)
            }
            if mine.version == name.version { peer.confirmed[name.key] = name.version }
        }
        guard !wants.isEmpty else { return }
        var answer = peer.answer ?? KeyMessage(nonce: 0)
        answer.wants = wants.filter(isOpen)
        peer.answer = answer
    }
}
