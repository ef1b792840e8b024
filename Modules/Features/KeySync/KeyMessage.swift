import Foundation
import MeshIdentity
import MeshRegister

// A key belongs to one of 256 buckets by the hash of its name. The digest of a bucket is the sum of the hashes of its keys'
// versions, so it doesn't depend on their order. A print identifies one version of one key in 48 bits. A nonce identifies a
// message. Docs/Internals/KeyMessages.md has the exchange and the layout of a message.

/// A message about stored keys between two peers.
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

    /// The number of bytes of a large value that have arrived.
    struct PieceMark: Hashable, Sendable {
        var name: Version
        var count: Int
    }

    /// The new part of the sender's record: for each author, a stamp up to which the sender has seen all changes. Leaves out
    /// changes that the receiver hasn't confirmed.
    struct Record: Hashable, Sendable {
        var seen = StateVector()
        /// The stamp of the receiver's latest own change that the sender knows. Set in answers.
        var newest = HybridTimestamp.zero
    }

    /// Different in each message, so that no link takes two messages for duplicates.
    var nonce: UInt64
    /// The sender's digest of each bucket. Set in a request (`request_sync`).
    var digests: [UInt64]?
    /// The nonce of the request that this message answers.
    var answers: UInt64?
    /// True in an answer if nothing differs.
    var isAcknowledgement = false
    /// True if the answer lists only some differences. The receiver must ask again.
    var isPartial = false
    /// The buckets that differ, with the prints of all the sender's keys in them.
    var buckets: [Int] = []
    var prints: [UInt64] = []
    /// The nonce of the message whose prints the sender has compared, and the prints that it lacks.
    var compared: UInt64?
    var wantedPrints: [UInt64] = []
    /// The sender's versions of keys that the receiver may have in other versions.
    var versions: [Version] = []
    var wants: [String] = []
    var items: [Item] = []
    var piece: Piece?
    var pieceMark: PieceMark?
    /// Nonces of received messages whose items the sender has made durable or lists in `refused`.
    var taken: [UInt64] = []
    var refused: [Version] = []
    /// Number of items that the sender still has for the receiver.
    var remaining = 0
    /// In a request, a record also announces that the sender reads records in other messages.
    var record: Record?

    /// Removes and returns the comparison of the receiver's prints, as a message without a nonce.
    mutating func takeComparison() -> KeyMessage {
        var comparison = KeyMessage(nonce: 0)
        swap(&comparison.compared, &compared)
        swap(&comparison.wantedPrints, &wantedPrints)
        swap(&comparison.versions, &versions)
        return comparison
    }

    /// False if a peer that follows the protocol can't have sent the message.
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

/// Digests of all buckets. Equal contents have equal digests, whatever their order.
struct KeyDigest {
    private(set) var buckets = [UInt64](repeating: 0, count: KeyLimits.bucketCount)

    mutating func add(_ record: KeyTable.Record) { buckets[record.bucket] &+= record.versionHash }

    /// Returns the 48 bits that identify one version of a key. The lowest eight are the bucket's number.
    static func print(_ versionHash: UInt64, in bucket: Int) -> UInt64 {
        (versionHash & 0xffff_ffff_ff00) | UInt64(bucket)
    }

    static func bucket(of key: String) -> Int { bucket(ofPrint: hash(key.utf8)) }

    static func bucket(ofPrint print: UInt64) -> Int { Int(print & 0xff) }

    static func hash(_ version: StateVersion, of nameHash: UInt64) -> UInt64 {
        let hash = (hash(version.author.utf8, from: nameHash) ^ version.stamp.rawValue) &* 0x9e37_79b9_7f4a_7c15
        return hash ^ (hash >> 31)
    }

    /// Returns FNV-1a (Fowler, Noll, Vo), followed by the first round of SplitMix64's finalizer.
    static func hash(_ bytes: String.UTF8View, from seed: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
        var hash = seed
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
        return hash ^ (hash >> 27)
    }
}
