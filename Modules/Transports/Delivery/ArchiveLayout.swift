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
    var peers: [String: Int] = [:]
    /// The numbers of the peers that are guests.
    var guests: Set<Int> = []
    var channels: [Channel: Int] = [:]
    /// The differences between positions in the journal and numbers of an outbox.
    var offsets: [Source: UInt64] = [:]
    var sources: [Source: Int] = [:]
    /// The numbers under which newest snapshots are stored, by peer and feature. Each has one number, but earlier
    /// versions may have stored several.
    var newest: [Channel: [Int]] = [:]
    /// Channels that the latest batch names for the first time.
    var newChannels: [Channel] = []
    var nextNumber = 0
    var inbox = StoreJournal(ArchiveLayout.root + "inbox", from: 0)
    /// Positions of envelopes in the inbox. Subscribers must finish an envelope before it is removed.
    var inboxEnvelopes = FirstInFirstOut<UInt64>()
    /// Number of envelopes removed since the start.
    var inboxDone: UInt64 = 0

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
    var hasInbox: Bool { !inbox.isEmpty }

    /// - Parameter done: number of inbox elements that subscribers have finished since the start.
    mutating func batch(of changes: [DeliveryChange], done: UInt64) -> StoreBatch {
        var batch = StoreBatch()
        newChannels = []
        var cursors: [Source: UInt64] = [:]
        var order: [Source] = []
        for change in changes {
            switch change {
            case .met(let peer, let isGuest): write(peer, isGuest: isGuest, to: &batch)
            case .accepted(let peerID, let key, let number, let message, let expiresAt):
                let channel = channelNumber(Channel(peerID: peerID, featureID: key.featureID), in: &batch)
                let mark = WireMark(outbox: key.outbox, sequence: number, first: number, expiresAt: expiresAt)
                let position = number + (offsets[Source(peerID: peerID, key: key)] ?? 0)
                batch.append(frame(message, mark), to: "\(Self.root)to/\(channel)", at: position)
            case .truncated(let peerID, let key, let first):
                let channel = channelNumber(Channel(peerID: peerID, featureID: key.featureID), in: &batch)
                let mark = first + (offsets[Source(peerID: peerID, key: key)] ?? 0)
                batch.truncate("\(Self.root)to/\(channel)", below: mark)
            case .received(let peerID, let key, let number, let message):
                let source = Source(peerID: peerID, key: key)
                if cursors.updateValue(number + 1, forKey: source) == nil { order.append(source) }
                let mark = WireMark(outbox: key.outbox, sequence: number, first: number)
                let bytes = varint(UInt64(peerNumber(peerID, in: &batch))) + frame(message, mark)
                let position = inbox.append(bytes, in: &batch)
                if case .envelope = message { inboxEnvelopes.append(position) }
            case .published(let offer):
                let mark = WireMark(outbox: outbox, sequence: offer.version, first: offer.version, isLatest: true)
                let feature = offer.snapshot.metadata.featureID
                batch.set(frame(.snapshot(offer.snapshot), mark), for: "\(Self.root)published/\(Self.name(feature))")
            case .newest(let peerID, let snapshot, let mark):
                let feature = Channel(peerID: peerID, featureID: snapshot.metadata.featureID)
                let numbers = newest[feature] ?? [takeNumber()]
                newest[feature] = [numbers[0]]
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
        while inboxDone < done, inboxEnvelopes.takeFirst() != nil { inboxDone += 1 }
        let mark = inboxEnvelopes.first ?? inbox.next
        if mark > inbox.positions.lowerBound { inbox.truncate(below: mark, in: &batch) }
        return batch
    }

    /// Frees the inbox positions and names that the latest batch has taken, because it wasn't written.
    mutating func forget(_ changes: [DeliveryChange]) {
        for channel in newChannels { channels[channel] = nil }
        for case .received(_, _, _, let message) in changes.reversed() where hasInbox {
            inbox.removeLast()
            if case .envelope = message { inboxEnvelopes.removeLast() }
        }
    }

    private mutating func frame(_ message: WireMessage, _ mark: WireMark?) -> [UInt8] {
        // The message fits: it was within a frame's limits when it was accepted, or it arrived as a frame.
        (try? encoder.encode(message, mark: mark)) ?? []
    }

    private mutating func write(_ peer: SessionPeer, isGuest: Bool = false, to batch: inout StoreBatch) {
        let number = peers[peer.id] ?? takeNumber()
        peers[peer.id] = number
        batch.set(frame(.hello(WireHello(peer: peer)), nil), for: "\(Self.root)peer/\(number)")
        if isGuest {
            guests.insert(number)
            batch.set([1], for: "\(Self.root)guest/\(number)")
        } else if guests.remove(number) != nil {
            batch.removeValue(for: "\(Self.root)guest/\(number)")
        }
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
        newChannels.append(channel)
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
        for (feature, numbers) in newest where feature.peerID == peerID {
            for number in numbers { batch.removeValue(for: "\(Self.root)newest/\(number)") }
        }
        if let number = peers.removeValue(forKey: peerID) {
            batch.removeValue(for: "\(Self.root)peer/\(number)")
            if guests.remove(number) != nil { batch.removeValue(for: "\(Self.root)guest/\(number)") }
        }
        channels = channels.filter { $0.key.peerID != peerID }
        offsets = offsets.filter { $0.key.peerID != peerID }
        newest = newest.filter { $0.key.peerID != peerID }
    }

    private mutating func removeSources(
        _ cursors: inout [Source: UInt64], in batch: inout StoreBatch, where isGone: (Source) -> Bool
    ) {
        cursors = cursors.filter { !isGone($0.key) }
        for (source, number) in sources where isGone(source) {
            batch.removeValue(for: "\(Self.root)from/\(number)")
            sources[source] = nil
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
