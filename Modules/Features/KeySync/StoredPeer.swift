import Foundation
import MeshIdentity
import MeshRegister
import MeshWire

/// The part of a `KeyPeer` that is kept in the store.
struct StoredPeer: Hashable, Sendable {
    var id: String
    /// Higher for a peer that was met later. The peer that has been away longest is forgotten first.
    var order: UInt64 = 0
    /// Digests of the buckets of which the peer had every key; 0 for the others. They may be out of date, or the peer may
    /// have lost its store. Then statuses are wrong until the peer answers a request. Until then the peer ignores a record
    /// that claims too much (`KeyReplica.join(_:in:from:)`).
    var digests = [UInt64](repeating: 0, count: KeyLimits.bucketCount)
    /// The received part of a large value.
    var download: KeyPeer.Download?
}

extension KeyReplica {
    /// Returns the peer's state for the store, or nil if the peer was forgotten. Complexity: O(keys).
    func storedPeer(_ id: String) -> StoredPeer? {
        guard let peer = peers[id] else { return nil }
        var digest = KeyDigest()
        var isWhole = [Bool](repeating: true, count: KeyLimits.bucketCount)
        for place in table.records.indices where isShareable(place) {
            digest.add(table.records[place])
            if !peer.isConfirmed(place) { isWhole[table.records[place].bucket] = false }
        }
        return StoredPeer(
            id: id, order: peer.order, digests: zip(digest.buckets, isWhole).map { $1 ? $0 : 0 },
            download: peer.download)
    }

    /// Restores peers from the store. Call it once the rules are known. Keys that a peer's digests don't confirm stay pending
    /// until the peer has been compared.
    mutating func restore(_ stored: [StoredPeer]) {
        guard !stored.isEmpty else { return }
        let shared = table.records.indices.filter(isShareable)
        var digest = KeyDigest()
        for place in shared { digest.add(table.records[place]) }
        for known in stored.prefix(KeyLimits.peersMax) {
            var peer = KeyPeer()
            (peer.order, peer.download) = (known.order, known.download)
            for place in shared {
                let bucket = table.records[place].bucket
                if digest.buckets[bucket] == known.digests[bucket] { peer.confirm(place) }
            }
            peers[known.id] = peer
        }
    }

    /// Forgets the peer that has been away longest, if `peersMax` are known. A removal that it hasn't seen, but all others have,
    /// may be forgotten from then on.
    /// - Returns: false if all known peers are reachable.
    mutating func evictPeerIfNeeded() -> Bool {
        guard peers.count >= KeyLimits.peersMax else { return true }
        let away = peers.filter { !$0.value.isReachable }
        guard let (id, _) = away.min(by: { ($0.value.order, $0.key) < ($1.value.order, $1.key) }) else { return false }
        forget(id)
        return true
    }
}

// MARK: - In the store

extension StoredPeer {
    /// Encodes the peer for the store, without the received part of a large value.
    func stored() -> [UInt8] {
        var writer = WireWriter(capacity: 64 + 8 * KeyLimits.bucketCount)
        writer.write(1 as UInt8)
        writer.write(id)
        writer.writeVarint(order)
        for digest in digests { writer.write(digest) }
        return writer.array()
    }

    /// - Throws: `WireError`.
    init(stored bytes: [UInt8]) throws {
        self = try bytes.withUnsafeBytes { bytes throws(WireError) in
            var reader = WireReader(bytes)
            let layout = try reader.readUInt8()
            guard layout == 1 else {
                throw WireError(.unsupportedVersion, "the peer has layout \(layout); this version reads 1")
            }
            var peer = StoredPeer(id: try reader.readString(), order: try reader.readVarint())
            for bucket in peer.digests.indices { peer.digests[bucket] = try reader.readUInt64() }
            guard reader.isAtEnd else { throw WireError(.corrupted, "the peer has extra bytes") }
            return peer
        }
    }
}

extension KeyPeer.Download {
    /// Returns the bytes after the first `start` as a piece.
    func stored(from start: Int) -> [UInt8] {
        let part = bytes[(bytes.startIndex + start)...]
        let piece = KeyMessage.Piece(name: name, offset: start, total: total, bytes: Data(part))
        return KeyMessage(nonce: 0, piece: piece).packed()
    }

    /// - Returns: nil if a piece is missing or out of order.
    init?(stored pieces: [[UInt8]]) {
        var download: Self?
        for bytes in pieces {
            guard let message = try? bytes.withUnsafeBytes({ try KeyMessage(packed: $0) }), message.isSound,
                let piece = message.piece
            else { return nil }
            var next = download ?? Self(name: piece.name, total: piece.total)
            guard next.name == piece.name, next.total == piece.total, next.bytes.count == piece.offset else {
                return nil
            }
            next.bytes.append(piece.bytes)
            download = next
        }
        guard let download else { return nil }
        self = download
    }
}
