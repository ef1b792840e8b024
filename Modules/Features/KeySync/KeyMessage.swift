import Foundation
import MeshIdentity
import MeshRegister

/// What one peer tells another about its keys.
struct KeyMessage: Hashable, Sendable {
    static let payloadType = "sessionmesh.keys/2"
    static let featureID = "sessionmesh.keys"

    struct Version: Hashable, Sendable {
        var key: String
        var version: StateVersion
    }

    struct Item: Hashable, Sendable {
        var key: String
        var entry: StateEntry

        var byteCount: Int { KeyReplica.size(key, entry) }
        var name: Version { Version(key: key, version: entry.version) }
    }

    /// A part of a value that is too large for one message.
    struct Piece: Hashable, Sendable {
        var name: Version
        var offset: Int
        var total: Int
        var bytes: Data
    }

    /// How much of a large value has come.
    struct PieceMark: Hashable, Sendable {
        var name: Version
        var count: Int
    }

    /// What the sender has seen of each author, as far as the receiver has confirmed it: only what it has not been told.
    struct Record: Hashable, Sendable {
        var seen = StateVector()
        /// The latest change of the receiver's own that the sender knows. Said in answers.
        var newest = HybridTimestamp.zero
    }

    /// Differs in each message, so that no link takes an answer for the one before it.
    var nonce: UInt64
    /// `request_sync`: of each bucket what the asker has.
    var digests: [UInt64]?
    /// The request that this answers.
    var answers: UInt64?
    /// Nothing, or nothing that differs: the answer to who asked.
    var isAcknowledgement = false
    /// Not all that differs is listed; who asked has to ask again.
    var isPartial = false
    /// Buckets that differ, with the prints of all that the sender has in them.
    var buckets: [Int] = []
    var prints: [UInt64] = []
    /// The message whose prints the sender has compared, and those of them that it lacks.
    var compared: UInt64?
    var wantedPrints: [UInt64] = []
    /// What the sender has where the receiver may have something else.
    var versions: [Version] = []
    var wants: [String] = []
    var items: [Item] = []
    var piece: Piece?
    var pieceMark: PieceMark?
    /// Messages whose items are durable at the sender, but for those that it refuses.
    var taken: [UInt64] = []
    var refused: [Version] = []
    /// Items that the sender still has for the receiver.
    var remaining = 0
    /// In a request it also says that the sender reads it in other messages.
    var record: Record?

    /// Whether a peer that keeps the rules can have sent it.
    var isSound: Bool {
        let counts = [buckets.count, wants.count, versions.count, items.count, refused.count]
        return counts.allSatisfy { $0 <= KeyLimits.listMax }
            && max(prints.count, wantedPrints.count, taken.count, remaining) <= KeyLimits.keysMax && remaining >= 0
            && digests.map { $0.count == KeyLimits.bucketCount } ?? true
            && buckets.allSatisfy { (0..<KeyLimits.bucketCount).contains($0) }
            && wants.allSatisfy { $0.utf8.count <= KeyLimits.nameBytesMax }
            && versions.allSatisfy(\.isSound) && refused.allSatisfy(\.isSound) && items.allSatisfy(\.isSound)
            && piece?.isSound ?? true && pieceMark?.name.isSound ?? true && record?.isSound ?? true
    }
}

extension KeyMessage.Version {
    var isSound: Bool { Self.isSound(key, version) }

    fileprivate static func isSound(_ key: String, _ version: StateVersion) -> Bool {
        KeyTable.canonical(key).utf8.count <= KeyLimits.nameBytesMax
            && version.author.utf8.count <= KeyLimits.authorBytesMax
            && version.stamp.isPlausible
    }
}

extension KeyMessage.Item {
    var isSound: Bool {
        KeyMessage.Version.isSound(key, entry.version) && entry.bytes?.count ?? 0 <= KeyLimits.valueBytesMax
    }
}

extension KeyMessage.Record {
    var isSound: Bool {
        seen.stamps.count <= KeyLimits.authorsMax
            && seen.stamps.allSatisfy { $0.key.utf8.count <= KeyLimits.authorBytesMax && $0.value.isPlausible }
    }
}

extension KeyMessage.Piece {
    var isSound: Bool {
        name.isSound && (1...KeyLimits.valueBytesMax).contains(total) && (0..<total).contains(offset) && !bytes.isEmpty
            && bytes.count <= total - offset
    }
}

/// Of what is in a bucket, without order: equal buckets have equal digests.
struct KeyDigest {
    private(set) var buckets = [UInt64](repeating: 0, count: KeyLimits.bucketCount)

    mutating func add(_ record: KeyTable.Record) { buckets[record.bucket] &+= record.versionHash }

    /// 48 bits that tell a key in one version from all others, of which the lowest eight are the bucket's number.
    static func print(_ versionHash: UInt64, in bucket: Int) -> UInt64 {
        (versionHash & 0xffff_ffff_ff00) | UInt64(bucket)
    }

    static func bucket(of key: String) -> Int { bucket(ofPrint: hash(key.utf8)) }

    static func bucket(ofPrint print: UInt64) -> Int { Int(print & 0xff) }

    static func hash(_ version: StateVersion, of nameHash: UInt64) -> UInt64 {
        let hash = (hash(version.author.utf8, from: nameHash) ^ version.stamp.rawValue) &* 0x9e37_79b9_7f4a_7c15
        return hash ^ (hash >> 31)
    }

    /// FNV-1a, mixed once more (Fowler, Noll, Vo; the finalizer of SplitMix64).
    static func hash(_ bytes: String.UTF8View, from seed: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
        var hash = seed
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
        return hash ^ (hash >> 27)
    }
}
