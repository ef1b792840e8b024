import MeshBase

/// A record that another host has sent.
struct CachedRecord: Sendable {
    var record: DNSRecord
    let source: IPAddress
    /// The position in the order of arrival: larger than that of every record received before.
    var order: UInt64
    var receivedAt: Duration
    var expiresAt: Duration
    /// The time to ask for the record again; nil to let it expire.
    var refreshAt: Duration?
    var refreshes = 0

    /// Returns true if the record may be listed as a known answer (RFC 6762 section 7.1): over half its lifetime is
    /// left.
    func isFresh(_ now: Duration) -> Bool { (expiresAt - now) * 2 > .seconds(Int64(record.lifetime)) }

    func needsRefresh(by time: Duration) -> Bool { refreshAt.map { $0 <= time } ?? false }

    /// The remaining lifetime, in whole seconds.
    func remaining(_ now: Duration) -> UInt32 { UInt32(clamping: max(expiresAt - now, .zero).components.seconds) }
}

/// The records heard on one interface (RFC 6762 section 10): services of one type, and the addresses of their hosts.
///
/// - Bounds: `serviceLimit` pointers, `recordLimit` records in all, 32 per instance or host. At one of the first two
///   limits, the sender with the most cached records loses its oldest, so a sender that floods the cache evicts its own
///   records. At the third, new records are refused.
/// - The caller inserts only records that a pointer leads to. Lifetimes are capped at 75 minutes.
struct RecordCache: Sendable {
    let serviceLimit: Int
    let recordLimit: Int
    private(set) var count = 0
    private(set) var pointerCount = 0
    /// The earliest time at which a record expires or must be refreshed; nil if the cache is empty.
    private(set) var nextDue: Duration?
    /// The records by owner name: an instance or a host. Pointers are listed under the instance to which they point.
    private var records: [DNSName: [CachedRecord]] = [:]
    /// The number of SRV records that name each host.
    private var countByTarget: [DNSName: Int] = [:]
    private var evicted: [DNSRecord] = []
    private var order: UInt64 = 0

    init(serviceLimit: Int, recordLimit: Int) {
        self.serviceLimit = max(serviceLimit, 1)
        self.recordLimit = max(recordLimit, 4)
    }

    subscript(name: DNSName) -> [CachedRecord] { records[name] ?? [] }

    func isTarget(_ host: DNSName) -> Bool { countByTarget[host] != nil }

    /// The pointers, in order of arrival. O(n log n)
    var pointers: [CachedRecord] {
        records.values.joined().filter { $0.record.type == .ptr }.sorted { $0.order < $1.order }
    }

    /// The instances on that host, in order of arrival. O(n)
    func instances(on host: DNSName) -> [DNSName] {
        records.values.joined()
            .filter { if case .service(_, _, _, host) = $0.record.data { true } else { false } }
            .sorted { $0.order < $1.order }.map(\.record.name)
    }

    static let lifetimeMax: UInt32 = 4500
    private static let limitByName = 32
}

// MARK: - Receiving

extension RecordCache {
    enum Outcome { case unchanged, renewed, added, refused }

    private static func key(of record: DNSRecord) -> DNSName {
        if case .pointer(let instance) = record.data { instance } else { record.name }
    }

    /// Caches a record that the caller has checked to be relevant. O(1), O(n) when full.
    /// - Parameters:
    ///   - mayAdd: Called before a new record is added; returns false to refuse it.
    mutating func insert(
        _ record: DNSRecord, from source: IPAddress, _ now: Duration, _ random: inout SplitMix64,
        mayAdd: () -> Bool
    ) -> Outcome {
        var record = record
        record.lifetime = min(record.lifetime, Self.lifetimeMax)
        let key = Self.key(of: record)
        let place = records[key]?.firstIndex { $0.record.isSame(as: record) }
        guard record.lifetime > 0 else {
            // A goodbye: keep the record for a second, so that other hosts can object (section 10.1).
            if let place { expire(key, place, by: now + .seconds(1)) }
            return .unchanged
        }
        if record.flushesCache { flush(key, keeping: record, now) }
        if let place {
            order += 1
            records[key]?[place].renew(record, order: order, now, &random)
            noteDue(records[key]?[place])
            return .renewed
        }
        guard mayAdd() else { return .refused }
        guard (records[key]?.count ?? 0) < Self.limitByName else { return .refused }
        evictIfFull(addingPointer: record.type == .ptr)
        order += 1
        var cached = CachedRecord(record: record, source: source, order: order, receivedAt: now, expiresAt: now)
        cached.renew(record, order: order, now, &random)
        add(cached, key)
        return .added
    }

    /// Lets older records of the same name, type and class expire in a second (section 10.2). Records received within
    /// the last second stay.
    private mutating func flush(_ key: DNSName, keeping record: DNSRecord, _ now: Duration) {
        for place in (records[key] ?? []).indices {
            guard let other = records[key]?[place], other.record.type == record.type,
                other.record.recordClass == record.recordClass, other.record.name == record.name,
                !other.record.isSame(as: record), other.receivedAt + .seconds(1) < now
            else { continue }
            expire(key, place, by: now + .seconds(1))
        }
    }

    private mutating func expire(_ key: DNSName, _ place: Int, by time: Duration) {
        guard let expiresAt = records[key]?[place].expiresAt else { return }
        records[key]?[place].expiresAt = min(expiresAt, time)
        records[key]?[place].refreshAt = nil
        noteDue(records[key]?[place])
    }

    private mutating func noteDue(_ cached: CachedRecord?) {
        guard let cached else { return }
        let due = min(cached.expiresAt, cached.refreshAt ?? cached.expiresAt)
        nextDue = min(nextDue ?? due, due)
    }
}

// MARK: - Time

extension RecordCache {
    /// Removes expired records and returns them with the records to ask for again, both in order of arrival. O(n log n)
    /// if something is due, else O(1).
    mutating func advance(_ now: Duration, _ random: inout SplitMix64) -> (expired: [DNSRecord], refresh: [DNSRecord]) {
        guard let nextDue, nextDue <= now else { return ([], []) }
        let due = records.values.joined()
            .filter { min($0.expiresAt, $0.refreshAt ?? $0.expiresAt) <= now }.sorted { $0.order < $1.order }
        var (expired, refresh): ([DNSRecord], [DNSRecord]) = ([], [])
        for cached in due {
            if cached.expiresAt <= now {
                expired.append(cached.record)
                remove(cached)
            } else {
                refresh.append(cached.record)
                postponeRefresh(cached.record, beyond: now, &random)
            }
        }
        findNextDue()
        return (expired, refresh)
    }

    /// Postpones the refresh of records that are due soon, because another host has just asked for them (section 7.3).
    mutating func noteAsked(_ name: DNSName, _ type: DNSType, by time: Duration, _ random: inout SplitMix64) {
        for cached in self[name] where cached.record.type == type && cached.needsRefresh(by: time) {
            postponeRefresh(cached.record, beyond: .zero, &random)
        }
    }

    /// Moves a record to its next refresh time after `now`. This skips the times that passed while the device slept.
    private mutating func postponeRefresh(_ record: DNSRecord, beyond now: Duration, _ random: inout SplitMix64) {
        let key = Self.key(of: record)
        guard let place = records[key]?.firstIndex(where: { $0.record.isSame(as: record) }) else { return }
        repeat {
            records[key]?[place].refreshes += 1
            records[key]?[place].scheduleRefresh(&random)
        } while records[key]?[place].refreshAt.map { $0 <= now } ?? false
    }

    private mutating func findNextDue() {
        nextDue = records.values.joined().map { min($0.expiresAt, $0.refreshAt ?? $0.expiresAt) }.min()
    }
}

extension CachedRecord {
    fileprivate mutating func renew(
        _ record: DNSRecord, order: UInt64, _ now: Duration, _ random: inout SplitMix64
    ) {
        self.record = record
        self.order = order
        receivedAt = now
        expiresAt = now + .seconds(Int64(record.lifetime))
        refreshes = 0
        scheduleRefresh(&random)
    }

    /// Schedules a refresh at 80, 85, 90 and 95 % of the lifetime, plus up to 2 % (section 5.2).
    fileprivate mutating func scheduleRefresh(_ random: inout SplitMix64) {
        // Records with a lifetime below 10 s aren't meant to be kept alive.
        guard refreshes < 4, record.lifetime >= 10 else {
            refreshAt = nil
            return
        }
        let share = 0.8 + 0.05 * Double(refreshes) + 0.02 * random.fraction()
        refreshAt = receivedAt + .seconds(Double(record.lifetime) * share)
    }
}

// MARK: - Counting

extension RecordCache {
    /// Returns the records that were evicted since the last call.
    mutating func takeEvicted() -> [DNSRecord] {
        defer { evicted = [] }
        return evicted
    }

    private mutating func evictIfFull(addingPointer isPointer: Bool) {
        if isPointer, pointerCount >= serviceLimit { evict(from: pointers) }
        if count >= recordLimit { evict(from: Array(records.values.joined())) }
    }

    /// Evicts the oldest record of the sender with the most candidates. On a tie, the higher address loses.
    private mutating func evict(from candidates: [CachedRecord]) {
        var counts: [IPAddress: Int] = [:]
        for cached in candidates { counts[cached.source, default: 0] += 1 }
        let loser = counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        let oldest = candidates.filter { $0.source == loser }.min { $0.order < $1.order }
        guard let oldest else { return }
        evicted.append(oldest.record)
        remove(oldest)
    }

    private mutating func add(_ cached: CachedRecord, _ key: DNSName) {
        records[key, default: []].append(cached)
        count += 1
        switch cached.record.data {
        case .pointer: pointerCount += 1
        case .service(_, _, _, let target): countByTarget[target, default: 0] += 1
        default: break
        }
        noteDue(cached)
    }

    private mutating func remove(_ cached: CachedRecord) {
        let key = Self.key(of: cached.record)
        guard let place = records[key]?.firstIndex(where: { $0.order == cached.order }) else { return }
        records[key]?.remove(at: place)
        if records[key]?.isEmpty == true { records[key] = nil }
        count -= 1
        switch cached.record.data {
        case .pointer: pointerCount -= 1
        case .service(_, _, _, let target):
            countByTarget[target, default: 1] -= 1
            if countByTarget[target] == 0 { countByTarget[target] = nil }
        default: break
        }
    }
}
