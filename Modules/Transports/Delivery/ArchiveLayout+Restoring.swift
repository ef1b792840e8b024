import MeshBus
import MeshIdentity
import MeshStorage
import MeshTransport
import MeshWire

extension ArchiveLayout {
    struct Arrivals {
        var envelopes: [AnySessionSyncEnvelope] = []
        var snapshots: [AnySessionSyncSnapshot] = []
    }

    /// - Throws: `StorageError`, `damaged` for what nobody here can have written.
    mutating func restore(
        _ core: inout DeliveryCore, from store: any SessionStore, _ now: DeliveryTime
    ) throws -> Arrivals {
        let catalog = try store.catalog(prefix: Self.root)
        var arrivals = Arrivals()
        var peersByNumber: [Int: SessionPeer] = [:]
        var features: [Int: (peer: Int, featureID: String)] = [:]
        for key in catalog.keys {
            guard let bytes = try store.value(for: key) else { continue }
            let parts = key.split(separator: "/", maxSplits: 2).map(String.init)
            guard parts.count == 3, let number = Int(parts[2]), parts[1] == "peer" else { continue }
            guard case .hello(let hello) = try read(bytes).message else { throw Self.damaged(key) }
            peersByNumber[number] = hello.peer
            peers[hello.peer.id] = number
            nextNumber = max(nextNumber, number)
        }
        for number in peersByNumber.keys.sorted() { if let peer = peersByNumber[number] { core.restore(peer) } }

        func peer(_ reader: inout WireReader, _ key: String) throws -> SessionPeer {
            guard let peer = peersByNumber[Int(clamping: try reader.readVarint())] else { throw Self.damaged(key) }
            return peer
        }

        for key in catalog.keys {
            guard let bytes = try store.value(for: key) else { continue }
            let parts = key.split(separator: "/", maxSplits: 2).map(String.init)
            guard parts.count == 3 else { continue }
            if let number = Int(parts[2]) { nextNumber = max(nextNumber, number) }
            switch (parts[1], Int(parts[2])) {
            case ("to", let number?):
                try bytes.withUnsafeBytes { bytes in
                    var reader = WireReader(bytes)
                    let index = Int(clamping: try reader.readVarint())
                    features[number] = (index, try reader.readText())
                }
            case ("from", let number?):
                try bytes.withUnsafeBytes { bytes in
                    var reader = WireReader(bytes)
                    let peer = try peer(&reader, key)
                    guard let outbox = UInt32(exactly: try reader.readVarint()) else { throw Self.damaged(key) }
                    let next = max(try reader.readVarint(), 1)
                    let source = IncomingChannel.Key(outbox: outbox, featureID: try reader.readText())
                    sources[Source(peerID: peer.id, key: source)] = number
                    core.restore(next: next, of: source, from: peer)
                }
            case ("newest", let number?):
                try bytes.withUnsafeBytes { bytes in
                    var reader = WireReader(bytes)
                    let peer = try peer(&reader, key)
                    let frame = try decode(try reader.readRaw(reader.remaining))
                    guard case .snapshot(let snapshot) = frame.message, let mark = frame.mark else {
                        throw Self.damaged(key)
                    }
                    let source = IncomingChannel.Key(outbox: mark.outbox, featureID: snapshot.metadata.featureID)
                    sources[Source(peerID: peer.id, key: source)] = number
                    core.restore(newest: mark.sequence, of: source, from: peer)
                    arrivals.snapshots.append(snapshot)
                }
            case ("published", _):
                let frame = try read(bytes)
                guard case .snapshot(let snapshot) = frame.message, let mark = frame.mark else {
                    throw Self.damaged(key)
                }
                core.restore(LatestOffer(version: mark.sequence, snapshot: snapshot))
            default: break
            }
        }
        for journal in catalog.journals { try restore(journal, &core, &arrivals, store, features, peersByNumber, now) }
        try restorePending(&core, store, now)
        return arrivals
    }

    private mutating func restore(
        _ journal: StoreCatalog.Journal, _ core: inout DeliveryCore, _ arrivals: inout Arrivals,
        _ store: any SessionStore, _ features: [Int: (peer: Int, featureID: String)], _ peers: [Int: SessionPeer],
        _ now: DeliveryTime
    ) throws {
        if journal.name == Self.inbox {
            (inboxFirst, inboxNext) = (journal.positions.lowerBound, journal.positions.upperBound)
            for entry in try store.allEntries(of: journal.name) {
                let frame = try entry.bytes.withUnsafeBytes { bytes in
                    var reader = WireReader(bytes)
                    _ = try reader.readVarint()
                    return try decode(try reader.readRaw(reader.remaining))
                }
                switch frame.message {
                case .envelope(let envelope):
                    arrivals.envelopes.append(envelope)
                    inboxEnvelopes.append(entry.position)
                case .snapshot(let snapshot): arrivals.snapshots.append(snapshot)
                case .hello, .snapshotRequest, .goodbye, .report: throw Self.damaged(journal.name)
                }
            }
            return
        }
        let parts = journal.name.split(separator: "/").map(String.init)
        guard parts.count == 3, parts[1] == "to", let number = Int(parts[2]), let (index, featureID) = features[number],
            let peer = peers[index]
        else { throw Self.damaged(journal.name) }
        channels[Channel(peerID: peer.id, featureID: featureID)] = number
        var entries: [(message: WireMessage, byteCount: Int, expiresAt: UInt64?)] = []
        for entry in try store.allEntries(of: journal.name) {
            let frame = try read(entry.bytes)
            entries.append((frame.message, frame.message.payloadBytes, frame.mark?.expiresAt))
        }
        core.restore(entries, from: max(journal.positions.lowerBound, 1), featureID: featureID, for: peer, now)
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

    private static func damaged(_ name: String) -> StorageError {
        StorageError(.damaged, "'\(name)' is not what delivery writes")
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
    /// The rest, as text.
    fileprivate mutating func readText() throws -> String {
        String(decoding: try readRaw(remaining), as: UTF8.self)
    }
}
