import Foundation
import MeshRegister

/// The keys that a replica knows. Each has a place: an index that is used instead of its name after one lookup.
struct KeyTable: Hashable, Sendable {
    struct Record: Hashable, Sendable {
        let name: String
        /// The hash of the name (`KeyDigest`). Its lowest eight bits are the bucket's number.
        let hash: UInt64
        /// The rule that the app has registered; nil if it hasn't registered the key.
        fileprivate(set) var catalogRule: KeyRule?
        fileprivate(set) var entry: StateEntry?
        /// The hash of the entry's version. A bucket's digest is the sum of them.
        fileprivate(set) var versionHash: UInt64 = 0
        /// True if the place is in `changed`.
        fileprivate(set) var isChanged = false

        var rule: KeyRule { catalogRule ?? .unknown }
        var bucket: Int { KeyDigest.bucket(ofPrint: hash) }
        var print: UInt64 { KeyDigest.print(versionHash, in: bucket) }
        var byteCount: Int { entry.map { KeyReplica.size(name, $0) } ?? 0 }
        /// True if the key has come from peers and the app hasn't registered it.
        var isUnknown: Bool { catalogRule == nil && entry != nil }
        var version: KeyMessage.Version? { entry.map { .init(key: name, version: $0.version) } }
    }

    private(set) var records: [Record] = []
    private var places: [String: Int] = [:]
    private var vacant: [Int] = []
    private(set) var entryCount = 0
    private(set) var byteCount = 0
    /// Number of entries that the app hasn't registered.
    private var unknownCount = 0
    private var unknownByteCount = 0
    /// Number of entries that are removals.
    private(set) var removedCount = 0
    /// Places whose entries have changed since `markWritten`, in the order of their first change.
    private(set) var changed: [Int] = []

    /// The changed places, bucket by bucket.
    var changedByBucket: [Int] {
        changed.map { (bucket: records[$0].bucket, place: $0) }.sorted { $0 < $1 }.map(\.place)
    }

    init(_ entries: [String: StateEntry] = [:], catalog: KeyTable? = nil) {
        if let catalog { self = catalog.catalog }
        for (name, entry) in entries.sorted(by: { $0.key < $1.key }) { set(entry, at: makePlace(of: name)) }
        markWritten()
    }

    func place(of name: String) -> Int? { places[name] }

    func entry(_ name: String) -> StateEntry? { places[name].flatMap { records[$0].entry } }

    /// - Returns: the key's place.
    @discardableResult
    mutating func setRule(_ rule: KeyRule, of name: String) -> Int {
        let place = makePlace(of: name)
        guard records[place].catalogRule != rule else { return place }
        countUnknown(place, -1)
        records[place].catalogRule = rule
        return place
    }

    /// The registered keys, without their entries.
    var catalog: KeyTable {
        if entryCount == 0, changed.isEmpty { return self }
        var catalog = KeyTable()
        for record in records { if let rule = record.catalogRule { catalog.setRule(rule, of: record.name) } }
        return catalog
    }

    /// Returns true if the entry replaces the current one.
    func isOlder(at place: Int, than entry: StateEntry) -> Bool {
        records[place].entry.map { entry.wins(over: $0) } ?? true
    }

    /// Returns true if the entry fits into the bounds for all keys and, if its key is unregistered, for such keys.
    func hasRoom(for entry: StateEntry, _ name: String, at place: Int?) -> Bool {
        let present = place.map { records[$0].byteCount } ?? 0
        let more = KeyReplica.size(name, entry) - present
        guard byteCount + more <= KeyLimits.totalBytesMax, present > 0 || entryCount < KeyLimits.keysMax else {
            return false
        }
        if let place, records[place].catalogRule != nil { return true }
        return unknownByteCount + more <= KeyLimits.unknownBytesMax
            && (present > 0 || unknownCount < KeyLimits.unknownKeysMax)
    }

    private mutating func countUnknown(_ place: Int, _ sign: Int) {
        guard records[place].isUnknown else { return }
        unknownCount += sign
        unknownByteCount += sign * records[place].byteCount
    }

    mutating func set(_ entry: StateEntry?, at place: Int) {
        countUnknown(place, -1)
        byteCount -= records[place].byteCount
        entryCount += (entry == nil ? 0 : 1) - (records[place].entry == nil ? 0 : 1)
        removedCount += (entry.isRemoval ? 1 : 0) - (records[place].entry.isRemoval ? 1 : 0)
        records[place].entry = entry
        records[place].versionHash = entry.map { KeyDigest.hash($0.version, of: records[place].hash) } ?? 0
        byteCount += records[place].byteCount
        countUnknown(place, 1)
        guard !records[place].isChanged else { return }
        records[place].isChanged = true
        changed.append(place)
    }

    /// Returns a name as it is sent and stored. Swift treats the Unicode normal forms of a name as equal, so all forms
    /// must get the same hash and bucket.
    static func canonical(_ name: String) -> String {
        name.utf8.allSatisfy { $0 < 0x80 } ? name : name.precomposedStringWithCanonicalMapping
    }

    mutating func makePlace(of name: String) -> Int {
        if let place = places[name] { return place }
        let name = Self.canonical(name)
        let record = Record(name: name, hash: KeyDigest.hash(name.utf8))
        let place = vacant.popLast() ?? records.count
        if place < records.count { records[place] = record } else { records.append(record) }
        places[name] = place
        return place
    }

    /// Notes that all changes are in the store. Frees the places of names with neither a rule nor an entry.
    mutating func markWritten() {
        for place in changed {
            records[place].isChanged = false
            guard records[place].entry == nil, records[place].catalogRule == nil else { continue }
            places[records[place].name] = nil
            vacant.append(place)
        }
        changed = []
    }
}

extension StateEntry? {
    var isRemoval: Bool { map { $0.bytes == nil } ?? false }
}
