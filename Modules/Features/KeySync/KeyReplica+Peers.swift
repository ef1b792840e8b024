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
        peer.told = StateVector()
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
            if peer.isAsked || hasLooseKeys(of: peer) { (peer.isAsked, peer.isToBeAsked) = (false, true) }
            peers[id] = peer
        }
    }

    /// Gives what waits a time. One that was planned for what has been answered since is not for what is sent next.
    /// - Returns: the first; nil where nothing waits.
    @discardableResult
    mutating func planRetries(at now: Duration) -> Duration? {
        for (id, peer) in peers {
            let waits = peer.isReachable && (peer.isWaiting || hasLooseKeys(of: peer)) && !breaks(.noRetry)
            peers[id]?.retryAt = waits ? peer.retryAt ?? now + peer.retryDelay : nil
        }
        return peers.values.compactMap(\.retryAt).min()
    }

    /// Whether there is a key that should travel and of which nothing is known or under way: only asking can tell.
    /// Complexity: O(keys).
    private func hasLooseKeys(of peer: KeyPeer) -> Bool {
        guard !breaks(.looseKeysWait), !breaks(.onlyAppAsks) else { return false }
        return table.records.indices.contains { place in
            peer.isLoose(place) && table.records[place].entry != nil && isAutomatic(place)
                && refusal(table.records[place].rule) == nil
        }
    }

    // MARK: - Sending

    /// What is to be sent to a peer next, within the budget of a message; nil when there is nothing, or when as many
    /// messages as may be on their way are.
    mutating func nextMessage(to id: String) -> KeyMessage? {
        guard var peer = peers[id], peer.isReachable else { return nil }
        defer { peers[id] = peer }
        if peer.isToBeAsked {
            (peer.isToBeAsked, peer.isAsked) = (false, true)
            let question = KeyPeer.Question(nonce: drawNonce(), digests: digest().buckets)
            (peer.question, peer.told) = (question, StateVector())
            var message = KeyMessage(nonce: question.nonce, digests: question.digests)
            addRecord(to: &message, for: &peer, id)
            return message
        }
        var message = peer.answer ?? KeyMessage(nonce: 0)
        let sent = fill(&message, for: &peer)
        (message.taken, message.refused, message.pieceMark) = (peer.report, peer.refusals, peer.pieceMark)
        guard message != KeyMessage(nonce: 0) else { return nil }
        (peer.answer, peer.report, peer.refusals, peer.pieceMark) = (nil, [], [], nil)
        message.nonce = drawNonce()
        message.remaining = min(peer.dueCount - sent.count, KeyLimits.keysMax)
        if !sent.isEmpty { peer.send(sent, in: message.nonce) }
        if message.answers != nil, !message.buckets.isEmpty {
            peer.listing = KeyPeer.Listing(nonce: message.nonce, prints: Set(message.prints))
        }
        addRecord(to: &message, for: &peer, id)
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
        peer.told = StateVector()
        peers[id] = peer
    }

    /// The most urgent first; then by size in steps of 4 KiB, so that a large value does not keep the others from going; then
    /// bucket by bucket, so that of what has arrived when a link is lost few buckets differ.
    private func sort(_ places: [Int]) -> [Int] {
        struct Rank {
            var priority: Int
            /// Size and bucket.
            var weight: Int
            var place: Int
        }
        let ranks = places.map { place in
            let weight = (table.records[place].byteCount >> 12) << 8 | table.records[place].bucket
            return Rank(priority: table.records[place].rule.priority, weight: weight, place: place)
        }
        let order = ranks.sorted { left, right in
            if left.priority != right.priority { return left.priority > right.priority }
            return left.weight != right.weight ? left.weight < right.weight : left.place < right.place
        }
        return order.map(\.place)
    }

    /// - Returns: the items.
    private func fill(_ message: inout KeyMessage, for peer: inout KeyPeer) -> [KeyPeer.Sent] {
        guard peer.letters.count < KeyLimits.lettersMax, peer.dueCount > 0 else { return [] }
        var (room, sent) = (configuration.messageBytes, [KeyPeer.Sent]())
        for place in peer.order(sort) {
            guard let entry = table.records[place].entry, refusal(table.records[place].rule) == nil,
                !peer.isConfirmed(place), !breaks(.oneWay)
            else {
                peer.dequeue(place)
                continue
            }
            let item = KeyMessage.Item(key: table.records[place].name, entry: entry)
            if item.byteCount > configuration.messageBytes {
                if breaks(.largeBlocks) { break }
                addPiece(of: item, at: place, to: &message, for: &peer, &room)
            } else if item.byteCount <= room, message.items.count < KeyLimits.listMax {
                room -= item.byteCount
                message.items.append(item)
                sent.append(.init(place: place, version: entry.version))
            } else {
                break
            }
        }
        if breaks(.lastKeyOnly) {
            for item in sent.dropLast() { peer.dequeue(item.place) }
            (message.items, sent) = (message.items.suffix(1), sent.suffix(1))
        }
        return sent
    }

    /// At most a quarter of a message, of one value at a time, and the next piece when this one has come: what is smaller
    /// and comes up meanwhile goes in between.
    private func addPiece(
        of item: KeyMessage.Item, at place: Int, to message: inout KeyMessage, for peer: inout KeyPeer,
        _ room: inout Int
    ) {
        guard let bytes = item.entry.bytes, message.piece == nil else { return }
        let sent = KeyPeer.Sent(place: place, version: item.entry.version)
        let upload = peer.upload ?? KeyPeer.Upload(item: sent)
        guard upload.item == sent, !upload.isInFlight, upload.offset < bytes.count else { return }
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
        for place in table.records.indices where isShareable(place) && !isSettled(place) {
            digest.add(table.records[place])
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
        if let record = message.record { take(record, from: &peer) }
        let arrived = bury(message) + takeAll(message, from: &peer)
        for key in message.wants where !breaks(.noWants) {
            guard let place = table.place(of: key), table.records[place].entry != nil else { continue }
            if table.records[place].rule.isEligible { peer.enqueue(place) }
        }
        if let digests = message.digests, !breaks(.noAnswer) { answer(digests, message.nonce, to: &peer) }
        if !message.buckets.isEmpty { compare(message, with: &peer) }
        if let compared = message.compared { conclude(compared, message, with: &peer) }
        if !message.versions.isEmpty { compareVersions(message.versions, with: &peer) }
        peers[id] = peer
        noteOwnChanges()
        if peer.download?.extent != extent { changedDownloads.insert(id) }
        passOn(arrived, except: id)
        prune()
        return true
    }

    private func confirm(_ message: KeyMessage, by peer: inout KeyPeer) {
        let (standing, isAsked) = (peer.standing, peer.isAsked)
        // What brings nothing about may answer what was sent long ago: where that takes longer than the delay, the delay grows.
        defer {
            if peer.standing != standing || peer.isAsked != isAsked { peer.retryAt = nil }
            if peer.standing != standing { peer.retryDelay = .seconds(2) }
        }
        if let answers = message.answers { noteAnswer(to: answers, message, by: &peer) }
        for name in message.refused {
            guard let place = present(name) else { continue }
            peer.refuse(place)
            if peer.upload?.item.place == place { peer.dequeue(place) }
        }
        for nonce in message.taken {
            peer.confirm(nonce) { table.records[$0.place].entry?.version == $0.version }
        }
        guard let mark = message.pieceMark, let place = present(mark.name), var upload = peer.upload,
            upload.item.place == place, upload.item.version == mark.name.version
        else { return }
        let total = table.records[place].entry?.bytes?.count ?? 0
        (upload.offset, upload.isInFlight) = (min(mark.count, total), false)
        peer.upload = upload
        guard mark.count >= total else { return }
        peer.dequeue(place)
        peer.confirm(place)
        peer.progress.confirmed += 1
    }

    /// Of buckets that an answer does not list the peer has what was asked about.
    private func noteAnswer(to nonce: UInt64, _ message: KeyMessage, by peer: inout KeyPeer) {
        peer.isAsked = message.isPartial
        guard let question = peer.question, question.nonce == nonce else { return }
        (peer.question, peer.hasAnswered) = (nil, true)
        guard !message.isPartial, !breaks(.looseKeysWait) else { return }
        let (mine, listed) = (digest().buckets, Set(message.buckets))
        let isEqual = mine.indices.map { mine[$0] == question.digests[$0] && !listed.contains($0) }
        for place in table.records.indices where isEqual[table.records[place].bucket] && isShareable(place) {
            peer.confirm(place)
        }
    }

    /// What a peer offers that was removed here, and forgotten, is a removal again, which the peer gets instead of being asked.
    private mutating func bury(_ message: KeyMessage) -> [Int] {
        let piece = message.piece.map {
            KeyMessage.Item(key: $0.name.key, entry: StateEntry(version: $0.name.version, bytes: $0.bytes))
        }
        return (message.items + [piece].compactMap { $0 }).compactMap { item in
            let place = table.place(of: item.key)
            guard isOpen(place), place.flatMap({ table.records[$0].entry }) == nil, isRemoved(item.entry) else {
                return nil
            }
            return put(StateEntry(version: item.entry.version.removal), item.key, at: place)
        }
    }

    /// The place of a key that is here in just that version.
    private func present(_ name: KeyMessage.Version) -> Int? {
        table.place(of: name.key).flatMap { table.records[$0].entry?.version == name.version ? $0 : nil }
    }

    /// - Returns: where what came is now.
    private mutating func takeAll(_ message: KeyMessage, from peer: inout KeyPeer) -> [Int] {
        var (places, count) = (message.items.compactMap { take($0, from: &peer) }, message.items.count)
        if count > 0 { peer.report.append(message.nonce) }
        if let piece = message.piece, let item = take(piece, from: &peer) {
            if let place = take(item, from: &peer) { places.append(place) }
            count += 1
        }
        guard count > 0 || message.remaining > 0 else { return [] }
        if peer.progress.following == 0 { peer.progress.arrived = 0 }
        peer.progress.arrived += count
        peer.progress.following = message.remaining
        return places
    }

    /// - Returns: its place; nil if something else is there now.
    private mutating func take(_ item: KeyMessage.Item, from peer: inout KeyPeer) -> Int? {
        let place = table.place(of: item.key)
        guard isOpen(place) else {
            peer.refusals.append(item.name)
            return nil
        }
        if place.map({ table.isOlder(at: $0, than: item.entry) }) ?? true || breaks(.arrivalOrder) {
            guard let place = put(item.entry, item.key, at: place) else {
                peer.refusals.append(item.name)
                return nil
            }
            peer.replace(place)
            peer.dequeue(place)
            peer.confirm(place)
            return place
        }
        guard let place else { return nil }
        guard table.records[place].entry?.version == item.entry.version else {
            peer.enqueue(place)
            return nil
        }
        peer.confirm(place)
        return place
    }

    /// Whether a peer may say something of it.
    private func isOpen(_ place: Int?) -> Bool {
        let rule = place.map { table.records[$0].rule } ?? .unknown
        return rule.isEligible
            && (!rule.isSecured || (rule.sharesSecured && isLinkSecured) || breaks(.securedLeaves))
    }

    /// One value at a time of each peer, at most `KeyLimits.valueBytesMax`; another one takes its place.
    /// - Returns: the value, once it is whole.
    private func take(_ piece: KeyMessage.Piece, from peer: inout KeyPeer) -> KeyMessage.Item? {
        let name = piece.name
        let place = table.place(of: name.key)
        guard isOpen(place) else {
            peer.refusals.append(name)
            return nil
        }
        if let place, let mine = table.records[place].entry, mine.version >= name.version {
            peer.pieceMark = .init(name: name, count: piece.total)
            if mine.version != name.version { peer.enqueue(place) }
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
    private mutating func passOn(_ places: [Int], except sender: String) {
        guard peers.count > 1, !places.isEmpty else { return }
        for id in peers.keys where id != sender {
            for place in places where peers[id]?.isConfirmed(place) == false { peers[id]?.enqueue(place) }
        }
    }

    // MARK: - The handshake

    private func answer(_ digests: [UInt64], _ nonce: UInt64, to peer: inout KeyPeer) {
        let mine = digest().buckets
        let isDiffering = zip(mine, digests).map { $0 != $1 }
        var prints = [[UInt64]](repeating: [], count: KeyLimits.bucketCount)
        for place in table.records.indices where isShareable(place) {
            let bucket = table.records[place].bucket
            if !isDiffering[bucket] {
                peer.confirm(place)
                continue
            }
            if digests[bucket] == 0, isSettled(place) { continue }
            // It may have lost its store, or have an older one.
            if !breaks(.marksAreKept) { peer.unconfirm(place) }
            if digests[bucket] != 0 {
                prints[bucket].append(table.records[place].print)
            } else {
                peer.enqueue(place)
            }
        }
        peer.told = StateVector()
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
        var mine: [Int] = []
        for place in table.records.indices where isShareable(place) && buckets.contains(table.records[place].bucket) {
            if theirs.remove(table.records[place].print) != nil {
                peer.confirm(place)
            } else if isAutomatic(place) {
                mine.append(place)
            }
        }
        let open = Set(theirs.map(KeyDigest.bucket(ofPrint:)))
        var answer = peer.answer ?? KeyMessage(nonce: 0)
        answer.compared = message.nonce
        answer.wantedPrints = theirs.sorted()
        for place in mine.sorted(by: { table.records[$0].name < table.records[$1].name }) {
            if open.contains(table.records[place].bucket), answer.versions.count < KeyLimits.listMax,
                let version = table.records[place].version
            {
                answer.versions.append(version)
            } else {
                peer.enqueue(place)
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
        guard !listed.isEmpty || !wanted.isEmpty else { return }
        for place in table.records.indices where isShareable(place) {
            let print = table.records[place].print
            if wanted.contains(print) {
                if !breaks(.noWants) { peer.enqueue(place) }
            } else if listed.contains(print) {
                peer.confirm(place)
            }
        }
    }

    private func compareVersions(_ versions: [KeyMessage.Version], with peer: inout KeyPeer) {
        var wants: [String] = []
        for name in versions {
            let place = table.place(of: name.key)
            guard let place, let mine = table.records[place].entry?.version else {
                isOpen(place) ? wants.append(name.key) : peer.refusals.append(name)
                continue
            }
            if mine < name.version { isOpen(place) ? wants.append(name.key) : peer.refusals.append(name) }
            if mine > name.version, isShareable(place), !breaks(.noWants) { peer.enqueue(place) }
            if mine == name.version { peer.confirm(place) }
        }
        guard !wants.isEmpty else { return }
        var answer = peer.answer ?? KeyMessage(nonce: 0)
        answer.wants = wants
        peer.answer = answer
    }
}
