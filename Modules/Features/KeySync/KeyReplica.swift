import Foundation
import MeshIdentity
import MeshRegister

// The replica of stored keys. Each key is a last-writer-wins register (MeshRegister): the entry with the later version wins.
//
// Two peers find their differences with a digest tree of two levels (Merkle, 1987; Meyer, arXiv 2212.13567, explains the
// choice): 256 digests, then 6 bytes for each key in the buckets that differ. Each key has a status at each peer, such as
// confirmed or refused. While a status is unknown, retries ask the peer. The record tells a removed value from a new one
// (`KeyReplica+Record`). Docs/Internals/KeyMessages.md explains the exchange and why it ends.

/// The stored keys of this peer, as a value without I/O. Call its methods for changes of the app, for messages and
/// reachability of peers, and for time that has passed. Then send the messages that `nextMessage` returns.
struct KeyReplica: Hashable, Sendable {
    var author: String
    /// The author to switch to if `author` may not continue. Nil if `author` is new.
    var nextAuthor: String?
    /// The record: for each author, a stamp up to which all changes were seen.
    var seen: StateVector
    /// The latest stamp of this peer's own changes.
    var newestOwn = HybridTimestamp.zero
    var configuration = SyncConfiguration()
    var removedMax = KeyLimits.removedMax
    /// True if the link encrypts and authenticates peers.
    var isLinkSecured = false
    private(set) var table: KeyTable
    var peers: [String: KeyPeer] = [:]
    private(set) var nonce: UInt64
    /// Peers whose stored state, or whose received part of a large value, must be written.
    var changedPeers: Set<String> = []
    var changedDownloads: Set<String> = []

    /// - Parameters:
    ///   - nextAuthor: an author that no peer knows; nil if no peer knows `author`.
    ///   - catalog: a replica whose registered keys are adopted.
    init(
        author: String, nextAuthor: String? = nil, entries: [String: StateEntry] = [:], seen: StateVector = .init(),
        catalog: KeyReplica? = nil, nonce: UInt64 = 1
    ) {
        self.author = author
        self.nextAuthor = nextAuthor
        self.seen = seen
        self.nonce = nonce
        table = KeyTable(entries, catalog: catalog?.table)
        newestOwn = newest(of: StateVersion(stamp: .zero, author: author).peerID)
    }

    /// The entries by name. Complexity: O(keys).
    var entries: [String: StateEntry] {
        table.records.reduce(into: [:]) { if let entry = $1.entry { $0[$1.name] = entry } }
    }

    /// The names that the app has registered. Complexity: O(keys).
    var registered: [String] { table.records.filter { $0.catalogRule != nil }.map(\.name) }

    /// - Returns: the key's place.
    @discardableResult
    mutating func setRule(_ rule: KeyRule, of key: String) -> Int { table.setRule(rule, of: key) }

    // MARK: - The app

    func value(_ key: String) -> Data? { table.entry(key)?.bytes }

    /// - Parameter bytes: nil removes the key.
    /// - Returns: false if the value doesn't fit. Then nothing has changed.
    mutating func set(_ bytes: Data?, _ key: String, at stamp: HybridTimestamp, isDefault: Bool = false) -> Bool {
        set(bytes, at: table.makePlace(of: key), stamp, isDefault: isDefault)
    }

    /// Changes a key that has a place.
    /// - Parameter isDefault: true for the app's default value. If nothing is stored, it loses to any peer's change.
    mutating func set(_ bytes: Data?, at place: Int, _ stamp: HybridTimestamp, isDefault: Bool = false) -> Bool {
        let key = table.records[place].name
        guard KeyLimits.permits(bytes, of: key) else { return false }
        let (rule, present) = (table.records[place].rule, table.records[place].entry)
        let isWeak = isDefault && present?.bytes == nil
        let isHeld = !rule.isAutomatic(byteCount: bytes?.count ?? 0, configuration) || refusal(rule) != nil
        let version = makeVersion(isWeak ? present?.version.stamp.successor ?? .zero : stamp, isHeld: isHeld)
        guard put(StateEntry(version: version, bytes: bytes), key, at: place) != nil else { return false }
        guard isAutomatic(place) else { return true }
        forEachPeer { $0.enqueue(place) }
        return true
    }

    /// Queues keys that the app sends explicitly, including `manual` ones, for all peers.
    mutating func send(_ keys: some Sequence<String>, overridingPolicy: Bool = false) {
        for key in keys {
            guard let place = table.place(of: key), table.records[place].entry != nil,
                overridingPolicy || table.records[place].rule.isEligible
            else { continue }
            forEachPeer { if !$0.isConfirmed(place) { $0.enqueue(place) } }
        }
    }

    /// The values that may leave this device, by name.
    var snapshot: [String: Data] {
        table.records.reduce(into: [:]) { values, record in
            guard record.rule.isEligible, refusal(record.rule) == nil else { return }
            values[record.name] = record.entry?.bytes
        }
    }

    // MARK: - Rules

    /// Returns true if an answer may include the key.
    func isShareable(_ place: Int) -> Bool {
        guard table.records[place].entry != nil else { return false }
        let rule = table.records[place].rule
        guard rule.isEligible, refusal(rule) == nil else { return false }
        return rule.policy == .manual || isAutomatic(place)
    }

    func isAutomatic(_ place: Int) -> Bool {
        let byteCount = table.records[place].entry?.bytes?.count ?? 0
        return table.records[place].rule.isAutomatic(byteCount: byteCount, configuration)
    }

    /// Returns the reason why a secured key may not leave, or nil.
    func refusal(_ rule: KeyRule) -> KeyStatus? {
        guard rule.isSecured else { return nil }
        guard rule.sharesSecured else { return .refused(reason: "it is secured, and its sharesSecured is false") }
        guard isLinkSecured else { return .refused(reason: "it is secured, and the link doesn't encrypt") }
        return nil
    }

    func status(of key: String) -> KeyStatus? { table.place(of: key).flatMap(status) }

    private func status(of place: Int) -> KeyStatus? {
        guard let entry = table.records[place].entry else { return nil }
        let rule = table.records[place].rule
        if let refusal = refusal(rule) { return refusal }
        guard rule.isEligible else { return .refused(reason: "its availability or policy keeps it on this device") }
        if peers.values.contains(where: { $0.isRefused(place) }) { return .refused(reason: "a peer doesn't accept it") }
        if !peers.isEmpty, peers.values.allSatisfy({ $0.isConfirmed(place) }) { return .synced }
        let count = entry.bytes?.count ?? 0
        guard rule.policy != .automaticSmall || count <= configuration.maxAutoSyncSize else {
            return .tooLarge(bytes: count, limit: configuration.maxAutoSyncSize)
        }
        return .pending
    }

    // MARK: - Contents

    static func size(_ key: String, _ entry: StateEntry) -> Int { key.utf8.count + (entry.bytes?.count ?? 0) + 32 }

    /// - Parameter place: the key's place; nil if it has none yet.
    /// - Returns: the key's place; nil if the entry doesn't fit.
    mutating func put(_ entry: StateEntry, _ key: String, at place: Int?) -> Int? {
        guard table.hasRoom(for: entry, key, at: place) else { return nil }
        let place = place ?? table.makePlace(of: key)
        table.set(entry, at: place)
        forEachPeer { $0.replace(place) }
        return place
    }

    private mutating func clear(_ place: Int) {
        table.set(nil, at: place)
        forEachPeer { peer in
            peer.dequeue(place)
            peer.replace(place)
        }
    }

    /// Notes that all changes are in the store.
    mutating func markWritten() { table.markWritten() }

    mutating func forEachPeer(_ body: (inout KeyPeer) -> Void) {
        var index = peers.startIndex
        while index != peers.endIndex {
            body(&peers.values[index])
            peers.formIndex(after: &index)
        }
    }

    /// Returns true if every known peer has the removal. Then it is kept only to win over late copies of the value.
    func isRemovalConfirmed(_ place: Int) -> Bool {
        guard let entry = table.records[place].entry, entry.bytes == nil else { return false }
        return !peers.isEmpty && peers.values.allSatisfy { $0.isConfirmed(place) }
    }

    mutating func prune() {
        guard table.removedCount > removedMax else { return }
        let settled = table.records.indices.filter(isRemovalConfirmed).compactMap { place in
            table.records[place].version.map { (place: place, version: $0.version) }
        }
        .sorted { $0.version < $1.version }
        let covered = settled.filter { seen.covers($0.version.ofValue) }
        for (place, _) in settled.dropLast(KeyLimits.uncoveredMax) + covered.dropLast(removedMax / 2) {
            clear(place)
        }
    }

    var progress: KeyProgress {
        peers.values.reduce(KeyProgress()) { sum, peer in
            var progress = peer.progress
            progress.waiting = peer.waitingCount
            return sum + progress
        }
    }

    mutating func nextNonce() -> UInt64 {
        nonce &+= 1
        return nonce
    }
}
