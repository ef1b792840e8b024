import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
import MeshTransport
import MeshWire

// The store.
extension StorageRouter {
    private static let entryPrefix = "sessionmesh.keys/entry/"
    /// By bucket, as keys travel: what comes in one message is then in few pages of a store, and not in all of them.
    private static let bucketPrefixes = (0..<KeyLimits.bucketCount).map {
        entryPrefix + ($0 < 16 ? "0" : "") + String($0, radix: 16) + "/"
    }

    /// Where a store has the entry of a key.
    static func storeKey(of name: String) -> String { bucketPrefixes[KeyDigest.bucket(of: name)] + name }
    private static let authorKey = "sessionmesh.keys/author"
    /// After which what is known of peers is written, unless something else is before.
    private static let keepingDelay = Duration.seconds(5)

    func load(_ connection: any SessionConnection) throws {
        var entries: [String: StateEntry] = [:]
        var author = StateVersion.author(
            peerID: connection.transport.localPeer.id, incarnation: UInt32(truncatingIfNeeded: random()))
        if let store = connection.store {
            if let kept = try store.value(for: Self.authorKey) {
                author = String(decoding: kept, as: UTF8.self)
            } else {
                var batch = StoreBatch()
                batch.set(Array(author.utf8), for: Self.authorKey)
                try store.commit(batch)
            }
            for key in try store.catalog(prefix: Self.entryPrefix).keys {
                let name = String(key.dropFirst(Self.entryPrefix.count + 3))
                guard key == Self.storeKey(of: name) else {
                    failures[String(key.dropFirst(Self.entryPrefix.count))] = "what is stored is not where a key is"
                    continue
                }
                do {
                    let bytes = try store.value(for: key) ?? []
                    entries[name] = try StateEntry(stored: bytes)
                } catch {
                    failures[name] = "what is stored cannot be read, and stays until it is set again: \(error)"
                }
            }
        }
        var loaded = KeyReplica(author: author, entries: entries, catalog: replica, nonce: random())
        loaded.configuration = replica.configuration
        loaded.breakRule(of: replica)
        if let limit = connection.transport.capabilities.maximumPayloadSize {
            // Names, authors and prints want room beside the values.
            loaded.configuration.messageBytes = max(min(loaded.configuration.messageBytes, limit * 3 / 4), 1)
        }
        loaded.isLinkSecured = connection.transport.capabilities.isSecured
        if let store = connection.store {
            shelf = try KeyShelf(store)
            loaded.restore(shelf.peers)
            shelf.peers = []
        }
        for entry in entries.values { connection.resume(at: entry.version.stamp) }
        // What an earlier connection has brought.
        for (name, entry) in replica.entries where loaded.entries[name].map({ entry.wins(over: $0) }) ?? true {
            connection.resume(at: entry.version.stamp)
            guard loaded.put(entry, name, at: loaded.table.place(of: name)) != nil else {
                throw KeySyncError(.tooLarge(key: name, bytes: entry.bytes?.count ?? 0))
            }
        }
        for (name, data) in early.changes {
            guard loaded.set(data, name, at: connection.stamp()) else {
                throw KeySyncError(.tooLarge(key: name, bytes: data?.count ?? 0))
            }
        }
        (replica, early) = (loaded, KeyDrafts())
        try persist()
        show(replica.table.records.map(\.name))
    }

    /// Writes what has changed, in one batch: values, pieces of large ones, and which peers there are.
    /// - Parameter includingPeers: also what is known of each.
    func persist(includingPeers: Bool = false) throws {
        guard let store = connection?.store else {
            replica.markWritten()
            (replica.changedPeers, replica.changedDownloads) = ([], [])
            return
        }
        var (batch, shelf) = (StoreBatch(), shelf)
        var writer = WireWriter()
        for place in replica.table.changedByBucket {
            let record = replica.table.records[place]
            let key = Self.bucketPrefixes[record.bucket] + record.name
            if let entry = record.entry {
                batch.set(entry.stored(by: &writer), for: key)
            } else {
                batch.removeValue(for: key)
            }
        }
        let due = replica.changedPeers.filter { includingPeers || !shelf.holds($0) || replica.peers[$0] == nil }
        // Those that are forgotten first: others may want their places.
        for id in due.sorted() where replica.peers[id] == nil { shelf.remove(id, in: &batch) }
        for id in replica.changedDownloads.sorted() { shelf.put(replica.peers[id]?.download, of: id, in: &batch) }
        for peer in due.sorted().compactMap(replica.kept) { shelf.put(peer, in: &batch) }
        guard !batch.isEmpty else { return }
        try store.commit(batch)
        self.shelf = shelf
        replica.markWritten()
        replica.changedPeers.subtract(due)
        replica.changedDownloads = []
    }

    /// What peers have confirmed is written once for all that comes meanwhile.
    func planKeeping(_ connection: any SessionConnection) {
        guard !replica.changedPeers.isEmpty, !isKeepingPlanned, connection.store != nil else { return }
        isKeepingPlanned = true
        connection.clock.wake(at: connection.clock.elapsed + Self.keepingDelay) { [weak self] in
            Task { await self?.keepPeers() }
        }
    }

    private func keepPeers() {
        isKeepingPlanned = false
        guard connection != nil else { return }
        // A store that refuses it is asked again at the next change.
        try? persist(includingPeers: true)
    }
}
