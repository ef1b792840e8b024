import MeshBase
import MeshIdentity
import MeshStorage
import MeshTransport
import MeshWire

extension ArchiveLayout {
    struct Arrivals {
        var envelopes: [AnySessionSyncEnvelope] = []
        var snapshots: [AnySessionSyncSnapshot] = []
    }

    /// The peers and channels that the store's numbers stand for, as far as they have been read.
    private struct Names {
        var peers: [Int: SessionPeer] = [:]
        /// The peer and the feature of each channel.
        var channels: [Int: (peer: SessionPeer, featureID: String)] = [:]

        func peer(_ reader: inout WireReader, _ key: String) throws -> SessionPeer {
            guard let peer = peers[Int(clamping: try reader.readVarint())] else { throw ArchiveLayout.damaged(key) }
            return peer
        }
    }

    /// - Throws: `StorageError`, with `damaged` for contents that delivery doesn't write.
    mutating func restore(
        _ core: inout DeliveryCore, from store: any SessionStore, _ now: DeliveryTime
    ) throws -> Arrivals {
        let catalog = try store.catalog(prefix: Self.root)
        var names = Names()
        var arrivals = Arrivals()
        // Peers come first, because everything else refers to them.
        for key in catalog.keys {
            guard let (kind, number) = Self.parts(of: key), kind == "peer", let number else { continue }
            try restorePeer(number, key, &names, from: store)
        }
        for number in names.peers.keys.sorted() { if let peer = names.peers[number] { core.restore(peer) } }
        // In the order of the numbers, so that the outbox that was heard first comes first.
        let others = catalog.keys.compactMap { key in Self.parts(of: key).map { (key, $0.kind, $0.number) } }
        for (key, kind, number) in others.sorted(by: { $0.2 ?? 0 < $1.2 ?? 0 }) where kind != "peer" {
            guard let bytes = try store.value(for: key) else { continue }
            tables.lastNumber = max(tables.lastNumber, number ?? 0)
            try bytes.withUnsafeBytes { bytes in
                var reader = WireReader(bytes)
                try restore(kind, number, &reader, key, &names, &core, &arrivals)
            }
        }
        for journal in catalog.journals {
            if journal.name == tables.inbox.name {
                tables.inbox.load(catalog)
                try restoreInbox(&arrivals, from: store)
            } else {
                try restoreChannel(journal, names, &core, from: store, now)
            }
        }
        try restorePending(&core, store, now)
        return arrivals
    }

    /// Returns the parts of `delivery/KIND/NUMBER`. Some kinds have a name instead of the number.
    private static func parts(of name: String) -> (kind: String, number: Int?)? {
        let parts = name.split(separator: "/", maxSplits: 2)
        return parts.count == 3 ? (String(parts[1]), Int(parts[2])) : nil
    }

    private mutating func restorePeer(
        _ number: Int, _ key: String, _ names: inout Names, from store: any SessionStore
    ) throws {
        guard let bytes = try store.value(for: key), case .hello(let hello) = try read(bytes).message else {
            throw Self.damaged(key)
        }
        names.peers[number] = hello.peer
        tables.peers[hello.peer.id] = number
        tables.lastNumber = max(tables.lastNumber, number)
    }

    private mutating func restore(
        _ kind: String, _ number: Int?, _ reader: inout WireReader, _ key: String, _ names: inout Names,
        _ core: inout DeliveryCore, _ arrivals: inout Arrivals
    ) throws {
        switch (kind, number) {
        case ("guest", let number?):
            guard let peer = names.peers[number] else { throw Self.damaged(key) }
            tables.guests.insert(number)
            core.restoreGuest(peer)
        case ("to", let number?):
            let peer = try names.peer(&reader, key)
            names.channels[number] = (peer, try reader.readText())
        case ("from", let number?):
            let peer = try names.peer(&reader, key)
            guard let outbox = UInt32(exactly: try reader.readVarint()) else { throw Self.damaged(key) }
            let next = max(try reader.readVarint(), 1)
            let source = ChannelKey(outbox: outbox, featureID: try reader.readText())
            tables.sources[Source(peerID: peer.id, key: source)] = number
            core.restore(next: next, of: source, from: peer)
        case ("newest", let number?):
            let peer = try names.peer(&reader, key)
            let (snapshot, mark) = try readSnapshot(&reader, key)
            tables.newest[Channel(peerID: peer.id, featureID: snapshot.metadata.featureID), default: []].append(number)
            core.restore(newest: snapshot, mark, from: peer)
            arrivals.snapshots.append(snapshot)
        case ("cancelled", _):
            let parts = key.dropFirst("\(Self.root)cancelled/".utf8.count).split(separator: "/")
            guard parts.count == 2, let channel = Int(parts[0]), let position = UInt64(parts[1]) else {
                throw Self.damaged(key)
            }
            tables.cancelled[channel, default: []].append(position)
        case ("published", _):
            let (snapshot, mark) = try readSnapshot(&reader, key)
            core.restore(LatestOffer(version: mark.sequence, snapshot: snapshot))
        default: break
        }
    }

    private mutating func readSnapshot(
        _ reader: inout WireReader, _ key: String
    ) throws -> (AnySessionSyncSnapshot, WireMark) {
        let frame = try decode(try reader.readRaw(reader.remaining))
        guard case .snapshot(let snapshot) = frame.message, let mark = frame.mark else { throw Self.damaged(key) }
        return (snapshot, mark)
    }

    private mutating func restoreInbox(_ arrivals: inout Arrivals, from store: any SessionStore) throws {
        for entry in try store.allEntries(of: tables.inbox.name) {
            let frame = try entry.bytes.withUnsafeBytes { bytes in
                var reader = WireReader(bytes)
                _ = try reader.readVarint()
                return try decode(try reader.readRaw(reader.remaining))
            }
            switch frame.message {
            case .envelope(let envelope):
                arrivals.envelopes.append(envelope)
                tables.inboxEnvelopes.append(entry.position)
            case .snapshot(let snapshot): arrivals.snapshots.append(snapshot)
            case .hello, .snapshotRequest, .goodbye, .report: throw Self.damaged(tables.inbox.name)
            }
        }
    }

    private mutating func restoreChannel(
        _ journal: StoreCatalog.Journal, _ names: Names, _ core: inout DeliveryCore, from store: any SessionStore,
        _ now: DeliveryTime
    ) throws {
        guard let (kind, number) = Self.parts(of: journal.name), kind == "to", let number,
            let (peer, featureID) = names.channels[number]
        else { throw Self.damaged(journal.name) }
        tables.channels[Channel(peerID: peer.id, featureID: featureID)] = number
        let cancelled = Set(tables.cancelled[number] ?? [])
        func note(_ key: ChannelKey, beginsAt position: UInt64) {
            tables.offsets[Source(peerID: peer.id, key: key)] = position
        }
        note(ChannelKey(outbox: outbox, featureID: featureID), beginsAt: max(journal.positions.upperBound, 1) - 1)
        var entries: [DeliveryCore.RestoredEntry] = []
        var first: WireMark?
        func restoreLaunch() {
            guard let first else { return }
            let key = ChannelKey(outbox: first.outbox, featureID: featureID)
            core.restore(entries, from: first.sequence, of: key, for: peer, now)
        }
        for entry in try store.allEntries(of: journal.name) {
            let frame = try read(entry.bytes)
            guard let mark = frame.mark, (1...entry.position).contains(mark.sequence) else {
                throw Self.damaged(journal.name)
            }
            if mark.outbox != first?.outbox {
                restoreLaunch()
                (first, entries) = (mark, [])
                note(
                    ChannelKey(outbox: mark.outbox, featureID: featureID), beginsAt: entry.position - mark.sequence)
            }
            entries.append(
                .init(
                    message: frame.message, expiresAt: mark.expiresAt, isCancelled: cancelled.contains(entry.position)))
        }
        restoreLaunch()
    }

    private mutating func restorePending(
        _ core: inout DeliveryCore, _ store: any SessionStore, _ now: DeliveryTime
    ) throws {
        guard let bytes = try store.value(for: Self.root + "pending") else { return }
        try bytes.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            while reader.remaining > 0 {
                let frame = try decode(try reader.readRaw(try reader.readLength()))
                switch frame.message {
                case .envelope(let envelope):
                    try? core.pending.append(envelope, expiresAt: frame.mark?.expiresAt)
                case .snapshot(let snapshot):
                    try? core.pending.append(snapshot, expiresAt: frame.mark?.expiresAt)
                case .hello, .snapshotRequest, .goodbye, .report: throw Self.damaged(Self.root + "pending")
                }
            }
        }
    }

    private mutating func read(_ bytes: [UInt8]) throws -> WireFrame { try bytes.withUnsafeBytes { try decode($0) } }

    private mutating func decode(_ bytes: UnsafeRawBufferPointer) throws -> WireFrame {
        guard let frame = try decoder.decodeFrame(bytes) else { throw Self.damaged("a frame") }
        return frame
    }

    fileprivate static func damaged(_ name: String) -> StorageError {
        StorageError(.damaged, "'\(name)' has contents that delivery doesn't write")
    }
}

extension SessionStore {
    fileprivate func allEntries(of journal: String) throws -> [StoreEntry] {
        var entries: [StoreEntry] = []
        try forEachEntry(of: journal) { entries.append($0) }
        return entries
    }
}

extension WireReader {
    /// Reads the rest as text.
    fileprivate mutating func readText() throws -> String {
        String(decoding: try readRaw(remaining), as: UTF8.self)
    }
}
