import MeshBus
import MeshIdentity
import MeshStorage
import MeshTransport
import MeshWire

/// What delivery's part of a store looks like. Everything is a frame of Docs/WireFormat.md, with its mark, that stands
/// alone; numbers in names are given once and kept.
///
/// | name | holds |
/// |---|---|
/// | `delivery/outbox` | the outbox, 4 bytes |
/// | `delivery/peer/P` | a hello: peer P |
/// | `delivery/to/C` | P as varint, then the feature: what channel C is |
/// | journal `delivery/to/C` | what peer P is to get of that feature; positions are the numbers |
/// | `delivery/from/S` | P, outbox, the next number, then the feature: how far source S has been taken |
/// | journal `delivery/inbox` | P as varint, then a frame: what has arrived and has not been taken by a subscriber |
/// | `delivery/published/FEATURE` | the newest own snapshot |
/// | `delivery/newest/S` | P as varint, then the newest snapshot of source S |
/// | `delivery/pending` | what waits for the first peer: each frame with its length before it |
struct ArchiveLayout: ~Copyable {
    private struct Source: Hashable {
        let peerID: String
        let key: IncomingChannel.Key
    }

    private struct Channel: Hashable {
        let peerID: String
        let featureID: String
    }

    private static let root = "delivery/"
    private static let inbox = root + "inbox"

    private var encoder: FrameEncoder
    private var decoder: FrameDecoder
    private var outbox: UInt32 = 0
    private var peers: [String: Int] = [:]
    private var channels: [Channel: Int] = [:]
    private var sources: [Source: Int] = [:]
    private var nextNumber = 0
    /// Where the inbox begins and where its next entry goes.
    private var inboxFirst: UInt64 = 0
    private var inboxNext: UInt64 = 0
    /// The positions of envelopes, which subscribers are to be done with before they are forgotten.
    private var inboxEnvelopes = FirstInFirstOut<UInt64>()
    /// Of how many envelopes since the start nothing is left.
    private var inboxDone: UInt64 = 0

    init(_ store: any SessionStore, _ setup: LineSetup) throws {
        encoder = setup.makeEncoder(interning: false)
        decoder = FrameDecoder(codecs: setup.codecs)
    }

    mutating func outbox(ifNew number: UInt32, in store: any SessionStore) throws -> UInt32 {
        if let bytes = try store.value(for: Self.root + "outbox"), bytes.count == 4 {
            outbox = bytes.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) }
        } else {
            outbox = number
            var batch = StoreBatch()
            batch.set(withUnsafeBytes(of: number.littleEndian) { Array($0) }, for: Self.root + "outbox")
            try store.commit(batch)
        }
        return outbox
    }
}

// MARK: - Writing

extension ArchiveLayout {
    var hasInbox: Bool { inboxNext > inboxFirst }

    /// - Parameter done: how many elements of the inbox subscribers are done with since the start.
    mutating func batch(of changes: [DeliveryChange], done: UInt64) -> StoreBatch {
        var batch = StoreBatch()
        var cursors: [Source: UInt64] = [:]
        var order: [Source] = []
        for change in changes {
            switch change {
            case .met(let peer): write(peer, to: &batch)
            case .accepted(let peerID, let featureID, let number, let message, let expiresAt):
                let channel = channelNumber(Channel(peerID: peerID, featureID: featureID), in: &batch)
                let mark = WireMark(outbox: outbox, sequence: number, first: number, expiresAt: expiresAt)
                batch.append(frame(message, mark), to: "\(Self.root)to/\(channel)", at: number)
            case .settled(let peerID, let featureID, let first):
                let channel = channelNumber(Channel(peerID: peerID, featureID: featureID), in: &batch)
                batch.truncate("\(Self.root)to/\(channel)", below: first)
            case .received(let peerID, let key, let number, let message):
                let source = Source(peerID: peerID, key: key)
                if cursors.updateValue(number + 1, forKey: source) == nil { order.append(source) }
                let mark = WireMark(outbox: key.outbox, sequence: number, first: number)
                batch.append(
                    varint(UInt64(peerNumber(peerID, in: &batch))) + frame(message, mark), to: Self.inbox, at: inboxNext
                )
                if case .envelope = message { inboxEnvelopes.append(inboxNext) }
                inboxNext += 1
            case .published(let offer):
                let mark = WireMark(outbox: outbox, sequence: offer.version, first: offer.version, isLatest: true)
                let feature = offer.snapshot.metadata.featureID
                batch.set(frame(.snapshot(offer.snapshot), mark), for: "\(Self.root)published/\(Self.name(feature))")
            case .newest(let peerID, let key, let version, let snapshot):
                let source = Source(peerID: peerID, key: key)
                let mark = WireMark(outbox: key.outbox, sequence: version, first: version, isLatest: true)
                batch.set(
                    varint(UInt64(peerNumber(peerID, in: &batch))) + frame(.snapshot(snapshot), mark),
                    for: "\(Self.root)newest/\(sourceNumber(source))")
            case .pending(let queue): write(queue, to: &batch)
            case .forgotten(let peerID): forget(peerID, in: &batch)
            }
        }
        for source in order {
            guard let next = cursors[source] else { continue }
            var bytes = varint(UInt64(peerNumber(source.peerID, in: &batch)))
            bytes += varint(UInt64(source.key.outbox)) + varint(next) + Array(source.key.featureID.utf8)
            batch.set(bytes, for: "\(Self.root)from/\(sourceNumber(source))")
        }
        while inboxDone < done, inboxEnvelopes.takeFirst() != nil { inboxDone += 1 }
        let mark = inboxEnvelopes.first ?? inboxNext
        if mark > inboxFirst {
            batch.truncate(Self.inbox, below: mark)
            inboxFirst = mark
        }
        return batch
    }

    /// What was not written takes its places in the inbox with it.
    mutating func forget(_ changes: [DeliveryChange]) {
        for case .received(_, _, _, let message) in changes.reversed() where inboxNext > inboxFirst {
            inboxNext -= 1
            if case .envelope = message { inboxEnvelopes.removeLast() }
        }
    }

    private mutating func frame(_ message: WireMessage, _ mark: WireMark?) -> [UInt8] {
        // It was within the limits of a frame when it was accepted, or arrived as one.
        (try? encoder.encode(message, mark: mark)) ?? []
    }

    private mutating func write(_ peer: SessionPeer, to batch: inout StoreBatch) {
        let number = peers[peer.id] ?? takeNumber()
        peers[peer.id] = number
        batch.set(frame(.hello(WireHello(peer: peer)), nil), for: "\(Self.root)peer/\(number)")
    }

    private mutating func peerNumber(_ id: String, in batch: inout StoreBatch) -> Int {
        if let number = peers[id] { return number }
        write(SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "", topology: .unknown), to: &batch)
        return peers[id] ?? 0
    }

    private mutating func channelNumber(_ channel: Channel, in batch: inout StoreBatch) -> Int {
        if let number = channels[channel] { return number }
        let number = takeNumber()
        channels[channel] = number
        batch.set(
            varint(UInt64(peerNumber(channel.peerID, in: &batch))) + Array(channel.featureID.utf8),
            for: "\(Self.root)to/\(number)")
        return number
    }

    private mutating func sourceNumber(_ source: Source) -> Int {
        if let number = sources[source] { return number }
        let number = takeNumber()
        sources[source] = number
        return number
    }

    private mutating func takeNumber() -> Int {
        nextNumber += 1
        return nextNumber
    }

    private mutating func write(_ queue: PendingDeliveryQueue, to batch: inout StoreBatch) {
        var queue = queue
        var bytes: [UInt8] = []
        for (element, expiresAt) in queue.takeAll() {
            let message: WireMessage
            switch element {
            case .envelope(let envelope, _): message = .envelope(envelope)
            case .snapshot(let snapshot, _, _): message = .snapshot(snapshot)
            }
            let frame = frame(message, WireMark(outbox: outbox, sequence: 1, first: 1, expiresAt: expiresAt))
            bytes += varint(UInt64(frame.count)) + frame
        }
        if bytes.isEmpty {
            batch.removeValue(for: Self.root + "pending")
        } else {
            batch.set(bytes, for: Self.root + "pending")
        }
    }

    private mutating func forget(_ peerID: String, in batch: inout StoreBatch) {
        for (channel, number) in channels where channel.peerID == peerID {
            batch.erase("\(Self.root)to/\(number)")
            batch.removeValue(for: "\(Self.root)to/\(number)")
        }
        for (source, number) in sources where source.peerID == peerID {
            batch.removeValue(for: "\(Self.root)from/\(number)")
            batch.removeValue(for: "\(Self.root)newest/\(number)")
        }
        if let number = peers.removeValue(forKey: peerID) { batch.removeValue(for: "\(Self.root)peer/\(number)") }
        channels = channels.filter { $0.key.peerID != peerID }
        sources = sources.filter { $0.key.peerID != peerID }
    }

    /// A feature's name as a part of a store's name, which is bounded.
    private static func name(_ featureID: String) -> String {
        featureID.utf8.count <= 200 ? featureID : StableHash(Array(featureID.utf8)).hexadecimal
    }
}

extension StableHash {
    fileprivate var hexadecimal: String { String(high, radix: 16) + "-" + String(low, radix: 16) }
}

private func varint(_ value: UInt64) -> [UInt8] {
    var writer = WireWriter(capacity: 16)
    writer.writeVarint(value)
    return writer.array()
}

// MARK: - Reading

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
