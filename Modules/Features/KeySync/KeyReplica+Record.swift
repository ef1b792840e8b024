import MeshIdentity
import MeshRegister

/// What this peer has seen of each author: every version up to a stamp, or a newer one of the same key.
///
/// Forgotten removals leave nothing else behind. A value that the record covers and that is missing here was removed or
/// replaced; the peer that offers it has an older store. A value above the record is new. So is one of an author that the
/// record doesn't know: a device that was used alone, or one beyond `KeyLimits.authorsMax`.
///
/// Invariant: of a key that the record covers and that is missing, the covered version is not the newest one. A peer
/// therefore states what the other has confirmed, and nothing above the first version that it has not.
extension KeyReplica {
    /// Whether a value that is missing here was removed. A default has no stamp, so nothing is known of it.
    func isRemoved(_ entry: StateEntry) -> Bool {
        guard !entry.isDefault, entry.bytes != nil else { return false }
        return seen.covers(entry.version) && entry.version.author.utf8.count < KeyLimits.authorBytesMax
    }

    /// The record as far as one peer has confirmed it. Complexity: O(keys).
    private func record(for peer: KeyPeer) -> StateVector {
        var unconfirmed: [String: HybridTimestamp] = [:]
        for place in table.records.indices where !peer.isConfirmed(place) {
            guard let entry = table.records[place].entry, !entry.isDefault else { continue }
            let version = entry.version.ofValue
            unconfirmed[version.author] = min(unconfirmed[version.author] ?? version.stamp, version.stamp)
        }
        var record = StateVector()
        for (author, stamp) in seen.stamps {
            let end = unconfirmed[author].map { min(stamp, $0.predecessor) } ?? stamp
            if end > .zero { record.note(StateVersion(stamp: end, author: author)) }
        }
        return record
    }

    /// Adds to a message what the peer has not been told of the record.
    func addRecord(to message: inout KeyMessage, for peer: inout KeyPeer, _ id: String) {
        let isHandshake = message.digests != nil || message.answers != nil
        guard message.digests != nil || peer.readsRecords, isHandshake || message.remaining == 0 else { return }
        let record = record(for: peer)
        var room = configuration.messageBytes / 4
        let untold = record.stamps.filter { peer.told.stamps[$0.key] ?? .zero < $0.value }
        // What has no room goes with the next message.
        let fitting = untold.sorted { ($0.value, $0.key) > ($1.value, $1.key) }.prefix {
            room -= $0.key.utf8.count + 16
            return room >= 0
        }
        let news = StateVector(Dictionary(fitting.map { ($0.key, $0.value) }, uniquingKeysWith: max))
        guard isHandshake || !news.stamps.isEmpty else { return }
        peer.told.join(news)
        message.record = .init(seen: news, newest: message.answers == nil ? .zero : newest(of: id))
    }

    /// The latest stamp that is known here of a peer's own changes.
    func newest(of id: String) -> HybridTimestamp {
        let prefix = id + "#"
        let entries = table.records.lazy.compactMap { $0.entry?.version }.filter { $0.author.hasPrefix(prefix) }
        let authors = seen.stamps.lazy.filter { $0.key.hasPrefix(prefix) }
        return max(entries.map(\.stamp).max() ?? .zero, authors.map(\.value).max() ?? .zero)
    }

    /// A record counts once the peer's launch that states it has answered a question of this launch. A launch that hasn't, or a
    /// message that a platform has kept since, may speak of a store that this replica has lost.
    mutating func take(_ record: KeyMessage.Record, in message: KeyMessage, from peer: inout KeyPeer) {
        peer.readsRecords = true
        guard peer.followsAnswer(message.nonce) else { return }
        if record.newest > newestOwn { renewAuthor() }
        peer.hasVouched = true
        seen.join(record.seen)
        trimRecord()
    }

    mutating func trimRecord() {
        seen.trim(
            to: KeyLimits.authorsMax, bytes: KeyLimits.authorsBytesMax, keeping: [author, author + Self.heldSuffix])
    }
}

// MARK: - Authors

/// A restored store has lost changes that its author made. New ones of the same author would say that those were seen here.
/// So the author of a store goes on only once every known peer has said that it knows no later change of this peer.
/// Otherwise the next change draws a new author.
extension KeyReplica {
    /// Of values that don't leave by themselves. A peer may never have them, which must not hold back the record of others.
    static let heldSuffix = "+"

    private var isAuthorCertain: Bool {
        spareAuthor == nil || (!peers.isEmpty && peers.values.allSatisfy(\.hasVouched))
    }

    /// What a certain author has changed so far was all seen here.
    mutating func noteOwnChanges() {
        guard spareAuthor != nil, isAuthorCertain, newestOwn > .zero else { return }
        for author in [author, author + Self.heldSuffix] { seen.note(StateVersion(stamp: newestOwn, author: author)) }
    }

    mutating func renewAuthor() {
        guard let spare = spareAuthor else { return }
        (author, spareAuthor) = (spare, nil)
    }

    /// - Parameter stamp: later than everything that was seen, or of a weak change.
    mutating func drawVersion(_ stamp: HybridTimestamp, isHeld: Bool) -> StateVersion {
        if !isAuthorCertain { renewAuthor() }
        let version = StateVersion(stamp: stamp, author: isHeld ? author + Self.heldSuffix : author)
        newestOwn = max(newestOwn, stamp)
        if stamp > .zero { seen.note(version) }
        trimRecord()
        return version
    }
}

extension StateVersion {
    /// Follows this version immediately, in the order of all: a removal of just this value, the same on every peer.
    var removal: StateVersion { StateVersion(stamp: stamp, author: author + "\0") }

    /// The version of the value, if this is its removal.
    var ofValue: StateVersion {
        guard author.hasSuffix("\0") else { return self }
        return StateVersion(stamp: stamp, author: String(author.dropLast()))
    }
}

extension HybridTimestamp {
    fileprivate var predecessor: HybridTimestamp { HybridTimestamp(rawValue: rawValue == 0 ? 0 : rawValue - 1) }
}
