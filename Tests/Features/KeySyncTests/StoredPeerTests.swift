import Foundation
import MeshIdentity
import MeshRegister
import MeshStorage
import MeshWire
import Testing

@testable import MeshKeySync

@Suite struct StoredPeerTests {
    private static func download(_ count: Int, total: Int, stamp: UInt64 = 1 << 20) -> KeyPeer.Download {
        let version = StateVersion(stamp: HybridTimestamp(rawValue: stamp), author: "phone#1")
        let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        return .init(name: .init(key: "large", version: version), total: total, bytes: bytes)
    }

    private static func commit(
        _ downloads: [KeyPeer.Download?], to store: MemoryStore, of id: String = "phone"
    ) throws -> KeyPeer.Download? {
        var peerStore = try KeyPeerStore(store)
        for download in downloads {
            var batch = StoreBatch()
            peerStore.put(download, of: id, in: &batch)
            peerStore.put(StoredPeer(id: id), in: &batch)
            try store.commit(batch)
        }
        return try KeyPeerStore(store).peers.first?.download
    }

    @Test func `A record is read as written, and every truncated one is rejected`() throws {
        var peer = StoredPeer(id: "phone", order: 300)
        for bucket in peer.digests.indices { peer.digests[bucket] = UInt64(bucket) &* 0x9e37_79b9_7f4a_7c15 }
        let bytes = peer.stored()
        #expect(try StoredPeer(stored: bytes) == peer)
        for count in bytes.indices {
            #expect(throws: WireError.self) { try StoredPeer(stored: Array(bytes[..<count])) }
        }
        #expect(throws: WireError.self) { try StoredPeer(stored: bytes + [0]) }
    }

    @Test func `Pieces of any lengths are restored whole, and contradicting ones start over`() throws {
        let store = MemoryStore()
        for counts in [[10], [20, 50], [51, 52, 90]] {
            let last = counts.last ?? 0
            let downloads = counts.map { Self.download($0, total: 100) }
            #expect(try Self.commit(downloads, to: store) == Self.download(last, total: 100))
        }
        // A peer that states a false length, or sends another value.
        #expect(try Self.commit([Self.download(10, total: 40)], to: store) == Self.download(10, total: 40))
        #expect(
            try Self.commit([Self.download(30, total: 40, stamp: 2 << 20)], to: store)
                == Self.download(30, total: 40, stamp: 2 << 20))
        #expect(try Self.commit([nil], to: store) == nil)
        #expect(try store.catalog(prefix: "sessionmesh.keys/pieces/").journals.isEmpty)
    }

    @Test func `Beyond the maximum, the peers that are away longest are forgotten, and their places are free`() throws {
        let store = MemoryStore()
        var (replica, peerStore) = (KeyReplica(author: "phone#1"), KeyPeerStore())
        for number in 0..<3 * KeyLimits.peersMax {
            replica.meet("peer \(number)")
            replica.lose("peer \(number)")
            var batch = StoreBatch()
            for id in replica.changedPeers.sorted() where replica.peers[id] == nil { peerStore.remove(id, in: &batch) }
            for peer in replica.changedPeers.sorted().compactMap(replica.storedPeer) { peerStore.put(peer, in: &batch) }
            replica.changedPeers = []
            try store.commit(batch)
        }
        let known = Set(try KeyPeerStore(store).peers.map(\.id))
        let newest = (2 * KeyLimits.peersMax..<3 * KeyLimits.peersMax).map { "peer \($0)" }
        #expect(known == Set(newest) && Set(replica.peers.keys) == known)
        for id in newest { replica.meet(id) }
        replica.meet("one more")
        #expect(replica.peers["one more"] == nil)
    }

    @Test func `Peers' state written late or never doesn't mark a key as synced`() {
        var replica = KeyReplica(author: "phone#1")
        for key in ["a", "b"] { _ = replica.set(Data([1]), key, at: HybridTimestamp(rawValue: 1 << 20)) }
        replica.meet("watch")
        for place in replica.table.records.indices { replica.peers["watch"]?.confirm(place) }
        let stored = replica.storedPeer("watch").map { [$0] } ?? []
        _ = replica.set(Data([2]), "a", at: HybridTimestamp(rawValue: 2 << 20))
        var next = KeyReplica(author: "phone#1", entries: replica.entries)
        next.restore(stored)
        #expect(next.status(of: "a") == .pending && next.status(of: "b") == .synced)
    }
}
