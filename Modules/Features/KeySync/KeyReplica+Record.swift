import MeshIdentity
import MeshRegister

// The record states, for each author, a stamp up to which this peer has seen every version, or a newer one of the same key.
//
// It is all that remains of forgotten removals. If a peer offers a value that is missing here and the record covers it,
// the value was removed or replaced, and the peer has an older store. A value above the record is new. So is a value
// whose author isn't in the record: its device was used without this peer, or the record had no space for the author
// (`KeyLimits.authorsMax`).
//
// Invariant: if the record covers a version of a missing key, that version isn't the newest one. So a peer states only
// stamps below the first version that the other hasn't confirmed. Docs/Internals/KeyMessages.md, "The record", has more.

/// The record of what this peer has seen.
extension KeyReplica {
    /// Returns true if a missing value was removed. Defaults have no stamp, so the record doesn't cover them.
    func isRemoved(_ entry: StateEntry) -> Bool {
        guard !entry.isDefault, entry.bytes != nil else { return false }
        return seen.covers(entry.version) && entry.version.author.utf8.count < KeyLimits.authorBytesMax
    }

    /// Returns the record, cut before each author's first version that the peer hasn't confirmed. Complexity: O(keys).
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

    /// Adds the part of the record that the peer wasn't sent yet.
    func addRecord(to message: inout KeyMessage, for peer: inout KeyPeer, _ id: String) {
        let isHandshake = message.digests != nil || message.answers != nil
        guard message.digests != nil || peer.supportsRecords, isHandshake || message.remaining == 0 else { return }
        let record = record(for: peer)
        var room = configuration.messageBytes / 4
        let unsent = record.stamps.filter { peer.sentRecord.stamps[$0.key] ?? .zero < $0.value }
        // Newest stamps first. The next message carries the rest.
        let fitting = unsent.sorted { ($0.value, $0.key) > ($1.value, $1.key) }.prefix {
            room -= $0.key.utf8.count + 16
            return room >= 0
        }
        let news = StateVector(Dictionary(fitting.map { ($0.key, $0.value) }, uniquingKeysWith: max))
        guard isHandshake || !news.stamps.isEmpty else { return }
        peer.sentRecord.join(news)
        message.record = .init(seen: news, newest: message.answers == nil ? .zero : newest(of: id))
    }

    /// Returns the latest stamp of a peer's own changes that is known here.
    func newest(of id: String) -> HybridTimestamp {
        let prefix = id + "#"
        let entries = table.records.lazy.compactMap { $0.entry?.version }.filter { $0.author.hasPrefix(prefix) }
        let authors = seen.stamps.lazy.filter { $0.key.hasPrefix(prefix) }
        return max(entries.map(\.stamp).max() ?? .zero, authors.map(\.value).max() ?? .zero)
    }

    /// Joins a peer's record, if the peer's launch has answered a request of this launch. Otherwise the record may refer to a
    /// store that this replica has lost, for example if a platform has delivered the message late.
    mutating func join(_ record: KeyMessage.Record, in message: KeyMessage, from peer: inout KeyPeer) {
        peer.supportsRecords = true
        guard peer.followsAnswer(message.nonce) else { return }
        if record.newest > newestOwn { renewAuthor() }
        peer.hasStatedNewestChange = true
        seen.join(record.seen)
        trimRecord()
    }

    mutating func trimRecord() {
        seen.trim(
            to: KeyLimits.authorsMax, bytes: KeyLimits.authorsBytesMax, keeping: [author, author + Self.heldSuffix])
    }
}

// MARK: - Authors

/// The author of this peer's changes. A store restored from a backup lacks its author's latest changes. If it continued
/// under that author, peers would mistake its new changes for changes that they have already seen. So a launch
/// continues under its author only once every known peer has stated that it knows no later change. Otherwise the next
/// change uses `nextAuthor`.
extension KeyReplica {
    /// The suffix of the author of values that aren't sent automatically. Peers may never get these values, so the
    /// record tracks them under an author of their own.
    static let heldSuffix = "+"

    private var isAuthorCertain: Bool {
        nextAuthor == nil || (!peers.isEmpty && peers.values.allSatisfy(\.hasStatedNewestChange))
    }

    /// Adds own changes to the record, once the author is certain.
    mutating func noteOwnChanges() {
        guard nextAuthor != nil, isAuthorCertain, newestOwn > .zero else { return }
        for author in [author, author + Self.heldSuffix] { seen.note(StateVersion(stamp: newestOwn, author: author)) }
    }

    mutating func renewAuthor() {
        guard let next = nextAuthor else { return }
        (author, nextAuthor) = (next, nil)
    }

    /// - Parameter stamp: later than all stamps seen, except for a default value.
    mutating func makeVersion(_ stamp: HybridTimestamp, isHeld: Bool) -> StateVersion {
        if !isAuthorCertain { renewAuthor() }
        let version = StateVersion(stamp: stamp, author: isHeld ? author + Self.heldSuffix : author)
        newestOwn = max(newestOwn, stamp)
        if stamp > .zero { seen.note(version) }
        trimRecord()
        return version
    }
}

extension StateVersion {
    /// The version of a removal of exactly this value. It immediately follows the value's and is the same on every peer.
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
