import MeshBase
import MeshIdentity
import MeshStorage
import MeshTransport
import MeshWire

/// The format of delivery's part of a store. Messages are frames of Docs/Internals/WireFormat.md with their marks, each
/// readable without others. Numbers in names are assigned once and kept.
///
/// | name | holds |
/// |---|---|
/// | `delivery/peer/P` | a hello: peer P |
/// | `delivery/guest/P` | 1 byte: P was a guest when it was last connected |
/// | `delivery/to/C` | P as varint, then the feature: the peer and feature of channel C |
/// | journal `delivery/to/C` | messages of channel C, launch by launch; the marks have outbox and number |
/// | `delivery/cancelled/C/N` | 1 byte: the message at position N of channel C's journal was cancelled |
/// | `delivery/from/S` | P, outbox, the next number, then the feature: source S; a later one has a larger S |
/// | journal `delivery/inbox` | P as varint, then a frame: received messages that no subscriber has finished |
/// | `delivery/published/FEATURE` | this peer's newest snapshot |
/// | `delivery/newest/N` | P as varint, then the newest snapshot of one feature |
/// | `delivery/pending` | messages that wait for the first peer: each frame with its length before it |
///
/// Earlier versions had one outbox for all launches, in `delivery/outbox`, and used positions as numbers. This version
/// removes that name. So an earlier version that opens the store generates a new outbox, and counts the stored messages
/// as that outbox's.
struct ArchiveLayout: ~Copyable {
    struct Source: Hashable {
        let peerID: String
        let key: ChannelKey
    }

    struct Channel: Hashable {
        let peerID: String
        let featureID: String
    }

    static let root = "delivery/"

    var encoder: FrameEncoder
    var decoder: FrameDecoder
    /// The outbox of this launch.
    let outbox: UInt32
    var tables = Tables()
    /// The tables before the latest batch.
    private var before = Tables()

    /// The meaning of the store's names and positions.
    struct Tables {
        var peers: [String: Int] = [:]
        /// The numbers of the peers that are guests.
        var guests: Set<Int> = []
        var channels: [Channel: Int] = [:]
        /// The differences between positions in the journal and numbers of an outbox.
        var offsets: [Source: UInt64] = [:]
        /// The positions of cancelled messages that the journals still hold, by the channel's number.
        var cancelled: [Int: [UInt64]] = [:]
        var sources: [Source: Int] = [:]
        /// The numbers under which newest snapshots are stored, by peer and feature. Each has one number, but earlier
        /// versions may have stored several.
        var newest: [Channel: [Int]] = [:]
        var lastNumber = 0
        var inbox = StoreJournal(ArchiveLayout.root + "inbox", from: 0)
        /// Positions of envelopes in the inbox. Subscribers must finish an envelope before it is removed.
        var inboxEnvelopes = FirstInFirstOut<UInt64>()
        /// Number of envelopes removed since the start.
        var inboxDone: UInt64 = 0
    }

    init(_ store: any SessionStore, _ setup: LineSetup, outbox: UInt32) throws {
        encoder = setup.makeEncoder(interning: false)
        decoder = setup.makeDecoder()
        self.outbox = outbox
        if try store.value(for: Self.root + "outbox") != nil {
            var batch = StoreBatch()
            batch.removeValue(for: Self.root + "outbox")
            try store.commit(batch)
        }
    }
}

// MARK: - Writing

extension ArchiveLayout {
    var hasInbox: Bool { !tables.inbox.isEmpty }

    /// If the batch isn't written, call `revert`.
    /// - Parameter done: number of inbox elements that subscribers have finished since the start.
    mutating func batch(of changes: [DeliveryChange], done: UInt64) -> StoreBatch {
        before = tables
        var batch = StoreBatch()
        let inboxEnd = tables.inbox.next
        var cursors: [Source: UInt64] = [:]
        var order: [Source] = []
        for change in changes {
            switch change {
            case .met(let peer, let isGuest): write(peer, isGuest: isGuest, to: &batch)
            case .accepted(let peerID, let key, let number, let message, let expiresAt):
                let channel = channelNumber(Channel(peerID: peerID, featureID: key.featureID), in: &batch)
                let mark = WireMark(outbox: key.outbox, sequence: number, first: number, expiresAt: expiresAt)
                let position = number + (tables.offsets[Source(peerID: peerID, key: key)] ?? 0)
                batch.append(frame(message, mark), to: "\(Self.root)to/\(channel)", at: position)
            case .truncated(let peerID, let key, let first):
                let channel = channelNumber(Channel(peerID: peerID, featureID: key.featureID), in: &batch)
                let mark = first + (tables.offsets[Source(peerID: peerID, key: key)] ?? 0)
                batch.truncate("\(Self.root)to/\(channel)", below: mark)
                forgetCancelled(channel, in: &batch) { $0 < mark }
            case .cancelled(let peerID, let key, let numbers):
                let channel = channelNumber(Channel(peerID: peerID, featureID: key.featureID), in: &batch)
                let offset = tables.offsets[Source(peerID: peerID, key: key)] ?? 0
                tables.cancelled[channel, default: []] += numbers.map { $0 + offset }
                for number in numbers { batch.set([1], for: Self.cancelledName(channel, number + offset)) }
            case .received(let peerID, let key, let number, let message):
                let source = Source(peerID: peerID, key: key)
                if cursors.updateValue(number + 1, forKey: source) == nil { order.append(source) }
                let mark = WireMark(outbox: key.outbox, sequence: number, first: number)
                let bytes = varint(UInt64(peerNumber(peerID, in: &batch))) + frame(message, mark)
                let position = tables.inbox.append(bytes, in: &batch)
                if case .envelope = message { tables.inboxEnvelopes.append(position) }
            case .published(let offer):
                let mark = WireMark(outbox: outbox, sequence: offer.version, first: offer.version, isLatest: true)
                let feature = offer.snapshot.metadata.featureID
                batch.set(frame(.snapshot(offer.snapshot), mark), for: "\(Self.root)published/\(Self.name(feature))")
            case .newest(let peerID, let snapshot, let mark):
                let feature = Channel(peerID: peerID, featureID: snapshot.metadata.featureID)
                let numbers = tables.newest[feature] ?? [takeNumber()]
                if tables.newest[feature]?.count != 1 { tables.newest[feature] = [numbers[0]] }
                for number in numbers.dropFirst() { batch.removeValue(for: "\(Self.root)newest/\(number)") }
                batch.set(
                    varint(UInt64(peerNumber(peerID, in: &batch))) + frame(.snapshot(snapshot), mark),
                    for: "\(Self.root)newest/\(numbers[0])")
            case .pending(let queue): write(queue, to: &batch)
            case .forgotten(let peerID):
                forget(peerID, in: &batch)
                removeSources(&cursors, in: &batch) { $0.peerID == peerID }
            case .outboxForgotten(let peerID, let outbox):
                removeSources(&cursors, in: &batch) { $0.peerID == peerID && $0.key.outbox == outbox }
            }
        }
        for source in order {
            guard let next = cursors[source] else { continue }
            var bytes = varint(UInt64(peerNumber(source.peerID, in: &batch)))
            bytes += varint(UInt64(source.key.outbox)) + varint(next) + Array(source.key.featureID.utf8)
            batch.set(bytes, for: "\(Self.root)from/\(sourceNumber(source))")
        }
        while tables.inboxDone < done, tables.inboxEnvelopes.takeFirst() != nil { tables.inboxDone += 1 }
        // Snapshots have no subscriber that finishes them. They stay until a later write.
        let mark = min(tables.inboxEnvelopes.first ?? inboxEnd, inboxEnd)
        if mark > tables.inbox.positions.lowerBound { tables.inbox.truncate(below: mark, in: &batch) }
        return batch
    }

    /// Takes back what the latest batch changed, because it wasn't written.
    mutating func revert() { tables = before }

    private mutating func frame(_ message: WireMessage, _ mark: WireMark?) -> [UInt8] {
        // The message fits: it was within a frame's limits when it was accepted, or it arrived as a frame.
        (try? encoder.encode(message, mark: mark)) ?? []
    }

    private mutating func write(_ peer: SessionPeer, isGuest: Bool = false, to batch: inout StoreBatch) {
        let number = tables.peers[peer.id] ?? takeNumber()
        tables.peers[peer.id] = number
        batch.set(frame(.hello(WireHello(peer: peer)), nil), for: "\(Self.root)peer/\(number)")
        if isGuest {
            tables.guests.insert(number)
            batch.set([1], for: "\(Self.root)guest/\(number)")
        } else if tables.guests.remove(number) != nil {
            batch.removeValue(for: "\(Self.root)guest/\(number)")
        }
    }

    private mutating func peerNumber(_ id: String, in batch: inout StoreBatch) -> Int {
        if let number = tables.peers[id] { return number }
        write(SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "", topology: .unknown), to: &batch)
        return tables.peers[id] ?? 0
    }

    private mutating func channelNumber(_ channel: Channel, in batch: inout StoreBatch) -> Int {
        if let number = tables.channels[channel] { return number }
        let number = takeNumber()
        tables.channels[channel] = number
        batch.set(
            varint(UInt64(peerNumber(channel.peerID, in: &batch))) + Array(channel.featureID.utf8),
            for: "\(Self.root)to/\(number)")
        return number
    }

    private mutating func sourceNumber(_ source: Source) -> Int {
        if let number = tables.sources[source] { return number }
        let number = takeNumber()
        tables.sources[source] = number
        return number
    }

    private mutating func takeNumber() -> Int {
        tables.lastNumber += 1
        return tables.lastNumber
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
        for (channel, number) in tables.channels where channel.peerID == peerID {
            batch.erase("\(Self.root)to/\(number)")
            batch.removeValue(for: "\(Self.root)to/\(number)")
            forgetCancelled(number, in: &batch) { _ in true }
        }
        for (feature, numbers) in tables.newest where feature.peerID == peerID {
            for number in numbers { batch.removeValue(for: "\(Self.root)newest/\(number)") }
        }
        if let number = tables.peers.removeValue(forKey: peerID) {
            batch.removeValue(for: "\(Self.root)peer/\(number)")
            if tables.guests.remove(number) != nil { batch.removeValue(for: "\(Self.root)guest/\(number)") }
        }
        tables.channels = tables.channels.filter { $0.key.peerID != peerID }
        tables.offsets = tables.offsets.filter { $0.key.peerID != peerID }
        tables.newest = tables.newest.filter { $0.key.peerID != peerID }
    }

    private mutating func forgetCancelled(_ channel: Int, in batch: inout StoreBatch, where isGone: (UInt64) -> Bool) {
        guard let positions = tables.cancelled[channel], positions.contains(where: isGone) else { return }
        for position in positions where isGone(position) {
            batch.removeValue(for: Self.cancelledName(channel, position))
        }
        tables.cancelled[channel]?.removeAll(where: isGone)
    }

    private static func cancelledName(_ channel: Int, _ position: UInt64) -> String {
        "\(root)cancelled/\(channel)/\(position)"
    }

    private mutating func removeSources(
        _ cursors: inout [Source: UInt64], in batch: inout StoreBatch, where isGone: (Source) -> Bool
    ) {
        cursors = cursors.filter { !isGone($0.key) }
        for (source, number) in tables.sources where isGone(source) {
            batch.removeValue(for: "\(Self.root)from/\(number)")
            tables.sources[source] = nil
        }
    }

    /// Returns a feature's name as a part of a store name, whose length is limited.
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
