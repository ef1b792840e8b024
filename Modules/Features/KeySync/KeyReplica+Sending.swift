import Foundation
import MeshRegister

// Makes messages to a peer, and orders their items.
extension KeyReplica {
    /// Returns the next message to a peer, within the budget of bytes. Nil if there is nothing to send, or only items while
    /// `KeyLimits.unconfirmedMessagesMax` messages with items are unconfirmed.
    /// - Parameter wakes: true to make a message even if the peer is unreachable, because an urgent message can wake
    ///   it.
    mutating func nextMessage(to id: String, wakes: Bool = false) -> KeyMessage? {
        guard var peer = peers[id], peer.isReachable || wakes else { return nil }
        defer { peers[id] = peer }
        if peer.needsRequest {
            (peer.needsRequest, peer.awaitsAnswer) = (false, true)
            let question = KeyPeer.Question(nonce: nextNonce(), digests: digest().buckets)
            (peer.question, peer.sentRecord) = (question, StateVector())
            var message = KeyMessage(nonce: question.nonce, digests: question.digests)
            addRecord(to: &message, for: &peer, id)
            return message
        }
        var message = peer.answer ?? KeyMessage(nonce: 0)
        var budget = KeyBudget(configuration.messageBytes, after: message)
        var comparison: KeyMessage?
        if budget.bytes < 0, message.answers != nil, message.compared != nil {
            // An answer and a comparison came up at once. The next message takes the comparison.
            comparison = message.takeComparison()
            budget = KeyBudget(configuration.messageBytes, after: message)
        }
        message.refused = peer.takeRefusals(from: &budget, isFirst: peer.answer == nil)
        let sent = fill(&message, for: &peer, &budget)
        // Confirms with the last refusals, as the peer takes what it hasn't seen refused for confirmed.
        let taken = peer.refusals.isEmpty ? peer.report : []
        (message.taken, message.pieceMark) = (taken, peer.pieceMark)
        guard message != KeyMessage(nonce: 0) else { return nil }
        (peer.answer, peer.pieceMark) = (comparison, nil)
        if !taken.isEmpty { peer.forgetReport() }
        message.nonce = nextNonce()
        message.remaining = min(peer.dueCount - sent.count, KeyLimits.keysMax)
        if !sent.isEmpty { peer.send(sent, in: message.nonce) }
        if message.answers != nil, !message.buckets.isEmpty {
            peer.listing = KeyPeer.Listing(nonce: message.nonce, prints: Set(message.prints))
        }
        addRecord(to: &message, for: &peer, id)
        return message
    }

    /// Undoes a message that couldn't be sent. The next message carries its confirmations. A retry sends a request to
    /// the peer, and the answer brings up everything else again.
    mutating func undoSend(of message: KeyMessage, to id: String) {
        guard var peer = peers[id] else { return }
        // Reports made since then are newer.
        let newer = peer.report
        peer.report(message.taken + newer)
        for name in message.refused { peer.reportRefusal(name) }
        peer.pieceMark = peer.pieceMark ?? message.pieceMark
        peer.awaitsAnswer = true
        peer.sentRecord = StateVector()
        peers[id] = peer
    }

    /// Sorts by priority, then by size in steps of 4 KiB, so that a large value doesn't block smaller ones. Then bucket by
    /// bucket, so that few buckets differ if the link is lost meanwhile.
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

    /// Fills a message with due items, and with a piece of a large value.
    /// - Returns: the items, without the piece.
    private func fill(
        _ message: inout KeyMessage, for peer: inout KeyPeer, _ budget: inout KeyBudget
    ) -> [KeyPeer.Sent] {
        guard peer.unconfirmedMessages.count < KeyLimits.unconfirmedMessagesMax, peer.dueCount > 0 else { return [] }
        var sent: [KeyPeer.Sent] = []
        for place in peer.order(sort) {
            guard let entry = table.records[place].entry, refusal(table.records[place].rule) == nil,
                !peer.isConfirmed(place)
            else {
                peer.dequeue(place)
                continue
            }
            let item = KeyMessage.Item(key: table.records[place].name, entry: entry)
            if item.byteCount + entry.version.author.utf8.count > configuration.messageBytes {
                addPiece(of: item, at: place, to: &message, for: &peer, &budget)
            } else if message.items.count < KeyLimits.listMax, budget.take(item) {
                message.items.append(item)
                sent.append(.init(place: place, version: entry.version))
            } else {
                break
            }
        }
        return sent
    }

    /// Adds a piece of a large value, of at most a quarter of a message. Sends one large value at a time, and its next
    /// piece only after the peer has confirmed this one, so that smaller values can be sent in between.
    private func addPiece(
        of item: KeyMessage.Item, at place: Int, to message: inout KeyMessage, for peer: inout KeyPeer,
        _ budget: inout KeyBudget
    ) {
        guard let bytes = item.entry.bytes, message.piece == nil else { return }
        let sent = KeyPeer.Sent(place: place, version: item.entry.version)
        let upload = peer.upload ?? KeyPeer.Upload(item: sent)
        guard upload.item == sent, !upload.isInFlight, upload.offset < bytes.count else { return }
        let count = min(bytes.count - upload.offset, max(configuration.messageBytes / 4, 1), budget.bytes)
        guard count > 0, budget.take(count) else { return }
        let start = bytes.startIndex + upload.offset
        message.piece = .init(
            name: item.name, offset: upload.offset, total: bytes.count, bytes: Data(bytes[start..<start + count]))
        peer.upload = upload
        peer.upload?.isInFlight = true
    }

    func digest() -> KeyDigest {
        var digest = KeyDigest()
        for place in table.records.indices where isShareable(place) && !isRemovalConfirmed(place) {
            digest.add(table.records[place])
        }
        return digest
    }
}
