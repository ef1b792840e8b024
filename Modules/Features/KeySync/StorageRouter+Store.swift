import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
import MeshTransport
import MeshWire

// The store's layout, loading and writing.
extension StorageRouter {
    private static let entryPrefix = "sessionmesh.keys/entry/"
    /// Keys are stored by bucket, as they are sent. So a message touches few pages of the store.
    private static let bucketPrefixes = (0..<KeyLimits.bucketCount).map {
        entryPrefix + ($0 < 16 ? "0" : "") + String($0, radix: 16) + "/"
    }

    /// Returns the store's name for a key's entry.
    static func storeKey(of name: String) -> String { bucketPrefixes[KeyDigest.bucket(of: name)] + name }
    private static let authorKey = "sessionmesh.keys/author"
    private static let recordKey = "sessionmesh.keys/record"

    func load(_ connection: any SessionConnection) throws {
        var (entries, seen, isDamaged) = ([String: StateEntry](), StateVector(), false)
        var misplaced: [String: String] = [:]
        let newAuthor = StateVersion.author(
            peerID: connection.transport.localPeer.id, incarnation: UInt32(truncatingIfNeeded: random()))
        var author: String?
        if let store = connection.store {
            author = try store.value(for: Self.authorKey).map { String(decoding: $0, as: UTF8.self) }
            seen = try store.value(for: Self.recordKey).flatMap { try? StateVector(stored: $0) } ?? seen
            for key in try store.catalog(prefix: Self.entryPrefix).keys {
                let stored = String(Substring(key.utf8.dropFirst(Self.entryPrefix.utf8.count + 3)))
                guard key == Self.storeKey(of: stored) else {
                    isDamaged = true
                    reportUnreadable(
                        "the store has an entry under a wrong name", of: String(key.dropFirst(Self.entryPrefix.count)))
                    continue
                }
                let name = KeyTable.canonical(stored)
                if !name.utf8.elementsEqual(stored.utf8) { misplaced[key] = name }
                do {
                    let entry = try StateEntry(stored: try store.value(for: key) ?? [])
                    if entries[name].map(entry.wins(over:)) ?? true { entries[name] = entry }
                } catch {
                    isDamaged = true
                    reportUnreadable(
                        "the stored value can't be read and stays until you set a new one: \(error)", of: name)
                }
            }
        }
        // If an entry is damaged, the record would claim that it was removed. So the record starts over.
        var loaded = KeyReplica(
            author: author ?? newAuthor, nextAuthor: author == nil ? nil : newAuthor, entries: entries,
            seen: isDamaged ? StateVector() : seen, catalog: replica, nonce: random())
        (loaded.configuration, loaded.removedMax) = (replica.configuration, replica.removedMax)
        if let limit = connection.transport.capabilities.maximumPayloadSize {
            // Leaves space for names, authors and prints in a message.
            loaded.configuration.messageBytes = max(min(loaded.configuration.messageBytes, limit * 3 / 4), 1)
        }
        loaded.isLinkSecured = connection.transport.capabilities.isSecured
        if let store = connection.store {
            peerStore = try KeyPeerStore(store)
            loaded.restore(peerStore.peers)
            peerStore.peers = []
        }
        for entry in entries.values { connection.resume(at: entry.version.stamp) }
        // Earlier versions stored a name in whichever Unicode normal form they saw first.
        for name in misplaced.values {
            if let entry = entries[name] { _ = loaded.put(entry, name, at: loaded.table.place(of: name)) }
        }
        var refused: [(name: String, error: any Error)] = []
        // Values that came over an earlier connection.
        for (name, entry) in replica.entries where loaded.entries[name].map({ entry.wins(over: $0) }) ?? true {
            connection.resume(at: entry.version.stamp)
            if loaded.put(entry, name, at: loaded.table.place(of: name)) == nil {
                refused.append((name, KeySyncError(.tooLarge(key: name, bytes: entry.bytes?.count ?? 0))))
            }
        }
        for change in pendingChanges.changes {
            let present = loaded.table.entry(change.name)?.bytes
            // Skips removals of nothing, and defaults that the app set before it knew of a stored value.
            if present == nil ? change.data == nil : change.isDefault() { continue }
            let place = loaded.setRule(change.rule, of: change.name)
            do { try write(change, at: place, to: &loaded, connection) } catch { refused.append((change.name, error)) }
        }
        let changes = pendingChanges.changes
        (replica, pendingChanges, storedRecord, storedAuthor) = (loaded, PendingKeyChanges(), seen, author)
        for change in changes { reportIfNotSent(change) }
        for (name, error) in refused { reportRefused(error, of: name) }
        try persist(removing: misplaced.keys.sorted())
        show(replica.table.records.map(\.name))
    }

    /// Writes all changes in one batch: values, pieces of large ones, and new or forgotten peers. Then shows received
    /// values.
    /// - Parameters:
    ///   - includingPeers: also writes the changed state of known peers.
    ///   - misplaced: names in the store to remove, because their entries have moved.
    func persist(includingPeers: Bool = false, removing misplaced: [String] = []) throws {
        try commitChanges(includingPeers, misplaced)
        guard !received.isEmpty else { return }
        let names = received.sorted()
        received = []
        show(names)
    }

    private func commitChanges(_ includingPeers: Bool, _ misplaced: [String]) throws {
        guard let store = connection?.store else {
            replica.markWritten()
            (replica.changedPeers, replica.changedDownloads) = ([], [])
            return
        }
        var (batch, peerStore) = (StoreBatch(), peerStore)
        var writer = WireWriter()
        for key in misplaced { batch.removeValue(for: key) }
        for place in replica.table.changedByBucket {
            let record = replica.table.records[place]
            let key = Self.bucketPrefixes[record.bucket] + record.name
            if let entry = record.entry {
                batch.set(entry.stored(by: &writer), for: key)
            } else {
                batch.removeValue(for: key)
            }
        }
        let due = replica.changedPeers.filter { includingPeers || !peerStore.holds($0) || replica.peers[$0] == nil }
        // Forgotten peers first, to free their numbers.
        for id in due.sorted() where replica.peers[id] == nil { peerStore.remove(id, in: &batch) }
        for id in replica.changedDownloads.sorted() { peerStore.put(replica.peers[id]?.download, of: id, in: &batch) }
        for peer in due.sorted().compactMap(replica.storedPeer) { peerStore.put(peer, in: &batch) }
        let (seen, author) = (replica.seen, replica.author)
        if author != storedAuthor { batch.set(Array(author.utf8), for: Self.authorKey) }
        // A record that is older than the entries is safe, as it claims less. It's never newer.
        if seen != storedRecord, includingPeers || !batch.isEmpty { batch.set(seen.stored(), for: Self.recordKey) }
        guard !batch.isEmpty else { return }
        do { try store.commit(batch) } catch {
            board.report(.storeFailed(of: KeyMessage.featureID, "stored keys can't be written", error))
            throw error
        }
        board.solve(.storeFailed)
        (storedRecord, storedAuthor) = (seen, author)
        self.peerStore = peerStore
        replica.markWritten()
        replica.changedPeers.subtract(due)
        replica.changedDownloads = []
    }

    /// Plans a later write of changed peers, and of values that the store couldn't write.
    func planWrite(_ connection: any SessionConnection) {
        guard connection.store != nil, !replica.changedPeers.isEmpty || !replica.table.changed.isEmpty else { return }
        writeTimer?.wake(at: writePlan.plan(at: connection.clock.elapsed))
    }

    func writePending() async {
        guard let connection, writePlan.takeDue(at: connection.clock.elapsed) else {
            writeTimer?.wake(at: writePlan.dueAt)
            return
        }
        let wasRefused = !replica.table.changed.isEmpty
        do {
            try persist(includingPeers: true)
            writePlan.reset()
        } catch {
            return planWrite(connection)
        }
        if wasRefused { await pump() }
    }
}

extension StateVector {
    func stored() -> [UInt8] {
        var writer = WireWriter()
        writer.write(1 as UInt8)
        writer.write(self)
        return writer.array()
    }

    /// - Throws: `WireError`.
    init(stored bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { bytes throws(WireError) in
            var reader = WireReader(bytes)
            let layout = try reader.readUInt8()
            guard layout == 1 else {
                throw WireError(.unsupportedVersion, "the record has layout \(layout); this version reads 1")
            }
            let vector = try reader.readVector()
            guard reader.isAtEnd else { throw WireError(.corrupted, "the record has extra bytes") }
            return vector
        }
    }
}
