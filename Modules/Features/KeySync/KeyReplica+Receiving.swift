import Foundation
import MeshBase
import MeshRegister

// Handles received messages: confirmations, items and reported differences.
extension KeyReplica {
    /// - Returns: false if a peer that follows the protocol can't have sent the message. Then nothing was changed.
    mutating func receive(_ message: KeyMessage, from id: String) -> Bool {
        guard message.isSound, peers[id] != nil || evictPeerIfNeeded() else { return false }
        var peer = peers[id] ?? KeyPeer()
        peer.isReachable = true
        changedPeers.insert(id)
        let extent = peer.download?.extent
        confirm(message, by: &peer)
        if let record = message.record { join(record, in: message, from: &peer) }
        let arrived = restoreForgottenRemovals(in: message) + acceptItems(of: message, from: &peer)
        for key in message.wants {
            guard let place = table.place(of: key), table.records[place].entry != nil else { continue }
            if table.records[place].rule.isEligible { peer.enqueue(place) }
        }
        if let digests = message.digests { answer(digests, message.nonce, to: &peer) }
        if !message.buckets.isEmpty { compare(message, with: &peer) }
        if let compared = message.compared { applyComparison(compared, message, with: &peer) }
        if !message.versions.isEmpty { compareVersions(message.versions, with: &peer) }
        peers[id] = peer
        noteOwnChanges()
        if peer.download?.extent != extent { changedDownloads.insert(id) }
        passOn(arrived, except: id)
        prune()
        return true
    }

    private func confirm(_ message: KeyMessage, by peer: inout KeyPeer) {
        let (unconfirmedState, awaitsAnswer) = (peer.unconfirmedState, peer.awaitsAnswer)
        // Only progress resets the retry delay. A message without progress may answer an old message, because the round
        // trip is longer than the delay. Then the delay must grow.
        defer {
            if peer.awaitsAnswer != awaitsAnswer { peer.retry.cancel() }
            if peer.unconfirmedState != unconfirmedState { peer.retry.reset() }
        }
        if let answers = message.answers { noteAnswer(to: answers, message, by: &peer) }
        for name in message.refused {
            guard let place = placeIfCurrent(name) else { continue }
            peer.refuse(place)
            if peer.upload?.item.place == place { peer.dequeue(place) }
        }
        for nonce in message.taken {
            peer.confirm(nonce) { table.records[$0.place].entry?.version == $0.version }
        }
        guard let mark = message.pieceMark, let place = placeIfCurrent(mark.name), var upload = peer.upload,
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

    /// Handles an answer to a request. In buckets that it doesn't list, the peer has every key that the request covered.
    private func noteAnswer(to nonce: UInt64, _ message: KeyMessage, by peer: inout KeyPeer) {
        peer.awaitsAnswer = message.isPartial
        guard let question = peer.question, question.nonce == nonce else { return }
        peer.question = nil
        peer.noteAnswer(in: message.nonce)
        guard !message.isPartial else { return }
        let (mine, listed) = (digest().buckets, Set(message.buckets))
        let isEqual = mine.indices.map { mine[$0] == question.digests[$0] && !listed.contains($0) }
        for place in table.records.indices where isEqual[table.records[place].bucket] && isShareable(place) {
            peer.confirm(place)
        }
    }

    /// Handles offered values that are missing here although the record covers them: they were removed. Restores their
    /// removals, so that the peer gets these.
    private mutating func restoreForgottenRemovals(in message: KeyMessage) -> [Int] {
        let piece = message.piece.map {
            KeyMessage.Item(key: $0.name.key, entry: StateEntry(version: $0.name.version, bytes: $0.bytes))
        }
        return (message.items + [piece].compactMap { $0 }).compactMap { item in
            let place = table.place(of: item.key)
            guard isWritableByPeers(place), place.flatMap({ table.records[$0].entry }) == nil, isRemoved(item.entry)
            else {
                return nil
            }
            return put(StateEntry(version: item.entry.version.removal), item.key, at: place)
        }
    }

    /// Returns the key's place if this version is the current one.
    private func placeIfCurrent(_ name: KeyMessage.Version) -> Int? {
        table.place(of: name.key).flatMap { table.records[$0].entry?.version == name.version ? $0 : nil }
    }

    /// - Returns: places whose values are now the received ones.
    private mutating func acceptItems(of message: KeyMessage, from peer: inout KeyPeer) -> [Int] {
        var (places, count) = (message.items.compactMap { accept($0, from: &peer) }, message.items.count)
        if count > 0 { peer.report([message.nonce]) }
        if let piece = message.piece, let item = accept(piece, from: &peer) {
            if let place = accept(item, from: &peer) { places.append(place) }
            count += 1
        }
        guard count > 0 || message.remaining > 0 else { return [] }
        if peer.progress.following == 0 { peer.progress.arrived = 0 }
        peer.progress.arrived += count
        peer.progress.following = message.remaining
        return places
    }

    /// - Returns: the key's place; nil if the received version isn't the current one.
    private mutating func accept(_ item: KeyMessage.Item, from peer: inout KeyPeer) -> Int? {
        let place = table.place(of: item.key)
        guard isWritableByPeers(place) else {
            peer.reportRefusal(item.name)
            return nil
        }
        if place.map({ table.isOlder(at: $0, than: item.entry) }) ?? true {
            guard let place = put(item.entry, item.key, at: place) else {
                peer.reportRefusal(item.name)
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

    /// Returns true if peers may change the key.
    func isWritableByPeers(_ place: Int?) -> Bool {
        let rule = place.map { table.records[$0].rule } ?? .unknown
        return rule.isEligible && (!rule.isSecured || (rule.sharesSecured && isLinkSecured))
    }

    /// Adds a piece. Keeps one unfinished value for each peer, of at most `KeyLimits.valueBytesMax`. Another one replaces it.
    /// - Returns: the value, once it is complete.
    private func accept(_ piece: KeyMessage.Piece, from peer: inout KeyPeer) -> KeyMessage.Item? {
        let name = piece.name
        let place = table.place(of: name.key)
        guard isWritableByPeers(place) else {
            peer.reportRefusal(name)
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
            // The store can't read back an empty download, and the mark already asks for the beginning.
            peer.download = download.bytes.isEmpty ? nil : download
            return nil
        }
        peer.download = nil
        return KeyMessage.Item(key: name.key, entry: StateEntry(version: name.version, bytes: download.bytes))
    }

    /// Queues changed keys for the other peers.
    private mutating func passOn(_ places: [Int], except sender: String) {
        guard peers.count > 1, !places.isEmpty else { return }
        for id in peers.keys where id != sender {
            for place in places where peers[id]?.isConfirmed(place) == false { peers[id]?.enqueue(place) }
        }
    }
}
