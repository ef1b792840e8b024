import Foundation
import MeshIdentity
import MeshRegister

/// What one peer tells another about its keys.
struct KeyMessage: Hashable, Sendable, Codable {
    static let payloadType = "sessionmesh.keys/1"
    static let featureID = "sessionmesh.keys"

    struct Version: Hashable, Sendable, Codable {
        var key: String
        var version: StateVersion
    }

    struct Item: Hashable, Sendable, Codable {
        var key: String
        var entry: StateEntry

        var byteCount: Int { key.utf8.count + (entry.bytes?.count ?? 0) + 32 }
    }

    /// Differs in each message, so that no link takes an answer for the one before it.
    var nonce: UInt64
    /// `request_sync`: of each bucket what the asker has.
    var digests: [UInt64]?
    /// Nothing, or nothing that differs: the answer to who asked.
    var isAcknowledgement = false
    /// Buckets that differ, with all that the sender has in them.
    var buckets: [Int] = []
    var versions: [Version] = []
    var wants: [String] = []
    var items: [Item] = []
    var confirmed: [Version] = []
    var refused: [Version] = []

    /// Whether a peer that keeps the rules can have sent it.
    var isSound: Bool {
        let lists = [buckets.count, versions.count, wants.count, items.count, confirmed.count, refused.count]
        let named = versions + confirmed + refused + items.map { Version(key: $0.key, version: $0.entry.version) }
        return lists.allSatisfy { $0 <= KeyLimits.listMax }
            && digests.map { $0.count == KeyLimits.bucketCount } ?? true
            && buckets.allSatisfy { (0..<KeyLimits.bucketCount).contains($0) }
            && wants.allSatisfy { $0.utf8.count <= KeyLimits.nameBytesMax }
            && named.allSatisfy {
                $0.key.utf8.count <= KeyLimits.nameBytesMax
                    && $0.version.author.utf8.count <= KeyLimits.authorBytesMax && $0.version.stamp.isPlausible
            }
            && items.allSatisfy { $0.entry.bytes?.count ?? 0 <= KeyLimits.valueBytesMax }
    }
}

/// Of what is in a bucket, without order: equal buckets have equal digests.
struct KeyDigest {
    private(set) var buckets = [UInt64](repeating: 0, count: KeyLimits.bucketCount)

    static func bucket(of key: String) -> Int { Int(hash(key.utf8) & 0xff) }

    mutating func add(_ key: String, _ version: StateVersion) {
        var hash = Self.hash(version.author.utf8, from: Self.hash(key.utf8))
        hash = (hash ^ version.stamp.rawValue) &* 0x9e37_79b9_7f4a_7c15
        buckets[Self.bucket(of: key)] &+= hash ^ (hash >> 31)
    }

    /// FNV-1a, mixed once more (Fowler, Noll, Vo; the finalizer of SplitMix64).
    private static func hash(_ bytes: String.UTF8View, from seed: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
        var hash = seed
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
        return hash ^ (hash >> 27)
    }
}
