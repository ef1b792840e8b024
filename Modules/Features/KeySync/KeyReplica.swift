import Foundation
import MeshIdentity
import MeshRegister

/// The keys of one peer: a pure value, told what the app, the peers and time say; `nextMessage` is what is to be sent.
///
/// Each key is a last-writer-wins register (MeshRegister). Peers find what differs by a digest tree of two levels: 256
/// digests, and 6 bytes of each key in the buckets that differ (Merkle, 1987; for the choice see Meyer, arXiv 2212.13567).
struct KeyReplica: Hashable, Sendable {
    let author: String
    var configuration = SyncConfiguration()
    var rules: [String: KeyRule] = [:]
    /// The link encrypts, and proves who is there.
    var isLinkSecured = false
    private(set) var entries: [String: StateEntry]
    var peers: [String: KeyPeer] = [:]
    private(set) var nonce: UInt64
    private(set) var byteCount = 0
    /// What has changed since it was last taken: to be written, and shown.
    var changed: Set<String> = []
    /// Peers of which `kept` has changed, and those of which something of a large value has come: to be written.
    var changedPeers: Set<String> = []
    var changedDownloads: Set<String> = []
    #if MUTATIONS
        private var mutation: KeyMutation?
    #endif

    static var areMutationsCompiledIn: Bool {
        #if MUTATIONS
            return true
        #else
            return false
        #endif
    }

    mutating func breakRule(_ rule: KeyMutation?) {
        #if MUTATIONS
            mutation = rule
        #endif
    }

    /// The rule that is broken there is broken here.
    mutating func breakRule(of other: KeyReplica) {
        #if MUTATIONS
            mutation = other.mutation
        #endif
    }

    init(author: String, entries: [String: StateEntry] = [:], nonce: UInt64 = 1) {
        self.author = author
        self.entries = entries
        self.nonce = nonce
        byteCount = entries.reduce(0) { $0 + Self.size($1.key, $1.value) }
    }

    func breaks(_ rule: KeyMutation) -> Bool {
        #if MUTATIONS
            return mutation == rule
        #else
            return false
        #endif
    }

    // MARK: - The app

    func value(_ key: String) -> Data? { entries[key]?.bytes }

    /// - Parameter bytes: nil removes the key.
    /// - Returns: false when it would not fit; nothing has changed then.
    mutating func set(_ bytes: Data?, _ key: String, at stamp: HybridTimestamp) -> Bool {
        guard key.utf8.count <= KeyLimits.nameBytesMax, bytes?.count ?? 0 <= KeyLimits.valueBytesMax else {
            return false
        }
        if breaks(.noTombstones), bytes == nil {
            entries[key] = nil
            return true
        }
        let entry = StateEntry(version: StateVersion(stamp: stamp, author: author), bytes: bytes)
        guard put(entry, key) else { return false }
        guard isAutomatic(key) || breaks(.manualIsAutomatic) else { return true }
        for id in peers.keys { peers[id]?.enqueue(key, entry.version) }
        return true
    }

    /// The app's own call: manual keys go too.
    mutating func send(_ keys: some Sequence<String>, overridingPolicy: Bool = false) {
        for key in keys where overridingPolicy || rule(key).isEligible {
            guard let version = entries[key]?.version else { continue }
            for id in peers.keys where peers[id]?.confirmed[key] != version { peers[id]?.enqueue(key, version) }
        }
    }

    /// Values of what may leave, as an answer would have them.
    var snapshot: [String: Data] {
        entries.filter { rule($0.key).isEligible && refusal($0.key) == nil }.compactMapValues(\.bytes)
    }

    // MARK: - Rules

    func rule(_ key: String) -> KeyRule { rules[key] ?? .unknown }

    /// Whether it may be in an answer.
    func isShareable(_ key: String) -> Bool {
        let rule = rule(key)
        guard rule.isEligible, refusal(key) == nil else { return false }
        return rule.policy == .manual || isAutomatic(key)
    }

    func isAutomatic(_ key: String) -> Bool {
        rule(key).isAutomatic(byteCount: entries[key]?.bytes?.count ?? 0, configuration)
    }

    /// Why a key may not leave at all.
    func refusal(_ key: String) -> KeyStatus? {
        let rule = rule(key)
        if rule.isSecured, !breaks(.securedLeaves) {
            guard rule.sharesSecured else { return .refused(reason: "it is secured; the app has not shared it") }
            guard isLinkSecured else { return .refused(reason: "it is secured; the link does not encrypt") }
        }
        return nil
    }

    func status(of key: String) -> KeyStatus? {
        guard let entry = entries[key] else { return nil }
        if breaks(.silentErrors) { return .synced }
        if let refusal = refusal(key) { return refusal }
        let rule = rule(key)
        guard rule.isEligible else { return .refused(reason: "its availability or policy keeps it here") }
        if peers.values.contains(where: { $0.refused[key] == entry.version }) {
            return .refused(reason: "a peer does not take it")
        }
        if !peers.isEmpty, peers.values.allSatisfy({ $0.confirmed[key] == entry.version }) { return .synced }
        let count = entry.bytes?.count ?? 0
        guard rule.policy != .automaticSmall || count <= configuration.maxAutoSyncSize else {
            return .tooLarge(bytes: count, limit: configuration.maxAutoSyncSize)
        }
        return .pending
    }

    // MARK: - What it holds

    static func size(_ key: String, _ entry: StateEntry) -> Int { key.utf8.count + (entry.bytes?.count ?? 0) + 32 }

    mutating func put(_ entry: StateEntry, _ key: String) -> Bool {
        let size = byteCount - (entries[key].map { Self.size(key, $0) } ?? 0) + Self.size(key, entry)
        guard size <= KeyLimits.totalBytesMax, entries[key] != nil || entries.count < KeyLimits.keysMax else {
            return false
        }
        entries[key] = entry
        byteCount = size
        changed.insert(key)
        return true
    }

    /// Every known peer has the removal: it is told to nobody any more, and stays for late copies of the value only.
    func isSettled(_ key: String, _ entry: StateEntry) -> Bool {
        entry.bytes == nil && !peers.isEmpty && peers.values.allSatisfy { $0.confirmed[key] == entry.version }
    }

    mutating func prune() {
        guard entries.count(where: { $0.value.bytes == nil }) > KeyLimits.removedMax else { return }
        let settled = entries.filter { isSettled($0.key, $0.value) }.sorted { $0.value.version < $1.value.version }
        for (key, entry) in settled.dropLast(KeyLimits.removedMax / 2) {
            entries[key] = nil
            byteCount -= Self.size(key, entry)
            changed.insert(key)
            for id in peers.keys { peers[id]?.confirmed[key] = nil }
        }
    }

    var progress: KeyProgress {
        peers.values.reduce(KeyProgress()) { sum, peer in
            var progress = peer.progress
            progress.waiting = peer.due.count + peer.sent.count
            return sum + progress
        }
    }

    mutating func drawNonce() -> UInt64 {
        if !breaks(.sameNonce) { nonce &+= 1 }
        return nonce
    }
}
