public import MeshIdentity

/// Everything an engine knows of one source.
@usableFromInline
struct SourceRecord: Sendable {
    @usableFromInline let source: SessionSource
    /// The place of the source among all known ones; decides between equal stamps.
    @usableFromInline var rank = 0
    /// A stable fingerprint of the source for the chain.
    @usableFromInline let digest: UInt64

    /// The last sequence up to which everything is held.
    @usableFromInline var held: UInt64 = 0
    /// The highest stamp of what is held of it above the base; of the local one as far as a copy brought it.
    @usableFromInline var lastStamp = HybridTimestamp.zero
    /// Where its sequence begins in this group.
    @usableFromInline var first: UInt64 = 1
    /// The last sequence that the base includes.
    @usableFromInline var folded: UInt64 = 0
    /// The last sequence that the caller has been told to persist.
    @usableFromInline var persisted: UInt64 = 0

    /// A member whose promises bound the cut.
    @usableFromInline fileprivate(set) var isOpen = false
    /// It has authored nothing at or below this stamp.
    @usableFromInline fileprivate(set) var floor = HybridTimestamp.zero
    /// The view by which it became a member.
    @usableFromInline fileprivate(set) var joinedView: UInt64 = 0
    /// What it has said of views.
    var statement: ViewStatement?
    /// The members as it reports them.
    var report = MemberReport()
    /// It is of a version that says nothing of views.
    var knowsNoViews = false
    /// How often it has asked for a copy.
    var copyAsks = 0
    /// It lost its store, or was let go; `final` is the last of its events that counts.
    @usableFromInline fileprivate(set) var isClosed = false
    @usableFromInline fileprivate(set) var final: UInt64 = 0

    @usableFromInline var promises = PromiseTable()
    /// Every other member has acknowledged this much of it; perhaps more.
    @usableFromInline var heldByAll: UInt64 = 0
    /// What this member holds, by slot.
    @usableFromInline var acknowledged: [UInt64] = []
    /// The stamp of its latest control: what comes with an earlier one is old news.
    var lastSaid = HybridTimestamp.zero

    /// How much this member has said that it has confirmed.
    var position: UInt64 = 0
    /// It has said that it knows of the session's end.
    var hasEnded = false

    /// The number that it has to return to prove that it lives.
    @usableFromInline var token: UInt32?
    /// The number that it wants to have returned.
    @usableFromInline var echo: UInt32?
    @usableFromInline var isForked = false
    /// Its clock is far ahead of the local one, and the caller knows.
    @usableFromInline var isToldFarAhead = false
    @usableFromInline var lastHeard: ClockEcho?
    var roundTrips = RoundTrips()

    init(_ source: SessionSource) {
        self.source = source
        digest = StableHash(Array("\(source)".utf8)).low
    }

    @inlinable
    func acknowledges(_ slot: Int, _ sequence: UInt64) -> Bool {
        slot < acknowledged.count && acknowledged[slot] >= sequence
    }

    /// How far that member holds what is written by the source.
    @usableFromInline
    func acknowledged(_ slot: Int) -> UInt64 { slot < acknowledged.count ? acknowledged[slot] : 0 }

    mutating func acknowledge(_ slot: Int, _ sequence: UInt64) {
        while acknowledged.count <= slot { acknowledged.append(0) }
        acknowledged[slot] = max(acknowledged[slot], sequence)
    }
}

/// The sources of a session in the order in which they were met; slot 0 is the local one.
///
/// There are two, hardly ever more than a few: a source is found by looking at each.
@usableFromInline
struct SourceTable: Sendable {
    @usableFromInline var records: [SourceRecord]
    /// By slot: up to which stamp a member has promised to write nothing more than is held of it. The highest number for the
    /// local source, whose clock says so, and for those that are no members. By itself, as each event looks at all of it.
    @usableFromInline var promised: [UInt64] = [.max]

    /// Slots by their ranks.
    private(set) var inOrder = [0]

    /// The local one and 1024 others.
    static var countMax: Int { 1025 }

    init(local: SessionSource) {
        records = [SourceRecord(local)]
    }

    /// The slot of each entry of a list that is in the order of the sources, as a control's are; nil for one that is not known.
    /// O(sources + entries).
    func slots(of entries: [SourceSequence]) -> [Int?] {
        var place = 0
        return entries.map { entry in
            var next = place
            while next < inOrder.count {
                let slot = inOrder[next]
                next += 1
                guard records[slot].source == entry.source else { continue }
                place = next
                return slot
            }
            // It is out of order, or not known.
            return slot(of: entry.source)
        }
    }

    @inlinable
    subscript(slot: Int) -> SourceRecord {
        _read { yield records[slot] }
        _modify { yield &records[slot] }
    }

    @inlinable var indices: Range<Int> { records.indices }

    @inlinable
    func slot(of peerID: String, _ incarnation: UInt32) -> Int? {
        // Backwards: current incarnations come after earlier ones.
        var slot = records.count - 1
        while slot >= 0 {
            if records[slot].source.incarnation == incarnation, records[slot].source.peerID == peerID { return slot }
            slot -= 1
        }
        return nil
    }

    func slot(of source: SessionSource) -> Int? { slot(of: source.peerID, source.incarnation) }

    /// The round trips with a peer. Only the life that was heard last has any: all lives of a device have one clock.
    func roundTrips(with peerID: String) -> RoundTrips {
        placeOfRoundTrips(with: peerID).map { records[$0].roundTrips } ?? RoundTrips()
    }

    mutating func setRoundTrips(_ trips: RoundTrips, at slot: Int) {
        if records[slot].roundTrips.isEmpty, let former = placeOfRoundTrips(with: records[slot].source.peerID) {
            records[former].roundTrips = RoundTrips()
        }
        records[slot].roundTrips = trips
    }

    private func placeOfRoundTrips(with peerID: String) -> Int? {
        records.lastIndex { $0.source.peerID == peerID && !$0.roundTrips.isEmpty }
    }

    /// Without regard to a peer's share of the table.
    /// - Throws: `SessionSyncError.tooManySources`.
    mutating func slot(adding source: SessionSource) throws -> Int {
        if let slot = slot(of: source) { return slot }
        guard records.count < Self.countMax else { throw SessionSyncError.tooManySources(limit: Self.countMax - 1) }
        records.append(SourceRecord(source))
        promised.append(.max)
        rank()
        return records.count - 1
    }

    // MARK: - Members

    /// From here on its promises bound the cut, and what it holds decides what is confirmed.
    mutating func open(_ slot: Int, above floor: HybridTimestamp = .zero, since view: UInt64 = 0) {
        records[slot].isOpen = true
        records[slot].floor = floor
        records[slot].joinedView = view
        notePromise(of: slot)
        forgetHeldByAll()
    }

    /// - Parameter final: the last of its events that counts.
    mutating func close(_ slot: Int, after final: UInt64) {
        records[slot].isOpen = false
        records[slot].isClosed = true
        records[slot].final = final
        promised[slot] = .max
        forgetHeldByAll()
    }

    @inlinable
    mutating func take(_ promise: SequencePromise, of slot: Int) {
        records[slot].promises.take(promise, held: records[slot].held)
        notePromise(of: slot)
    }

    /// More is held of it now.
    @inlinable
    mutating func settlePromises(of slot: Int) {
        guard !records[slot].promises.pending.isEmpty else { return }
        records[slot].promises.settle(held: records[slot].held)
        notePromise(of: slot)
    }

    @inlinable
    mutating func notePromise(of slot: Int) {
        guard slot != 0, records[slot].isOpen else { return }
        promised[slot] = max(records[slot].promises.usable.rawValue, records[slot].floor.rawValue)
    }

    /// What the other members have promised, all of them.
    @inlinable var lowestPromise: HybridTimestamp {
        var lowest = UInt64.max
        for promise in promised where promise < lowest { lowest = promise }
        return HybridTimestamp(rawValue: lowest)
    }

    /// Acknowledgements only grow, so the least of them stays a bound until there are other members.
    private mutating func forgetHeldByAll() {
        for slot in records.indices { records[slot].heldByAll = 0 }
    }

    /// How much of it every other member has acknowledged. O(members).
    @usableFromInline
    mutating func countHeldByAll(_ slot: Int) -> UInt64 {
        var least = UInt64.max
        for other in records.indices.dropFirst() where other != slot && records[other].isOpen {
            least = min(least, records[other].acknowledged(slot))
        }
        records[slot].heldByAll = least
        return least
    }

    private mutating func rank() {
        let added = records.count - 1
        for slot in 0..<added {
            if records[slot].source < records[added].source {
                records[added].rank += 1
            } else {
                records[slot].rank += 1
            }
        }
        inOrder.insert(added, at: records[added].rank)
    }

    /// After records have gone.
    mutating func reorder(without removed: Set<Int>) {
        promised = promised.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
        inOrder = records.indices.sorted { records[$0].source < records[$1].source }
        for (rank, slot) in inOrder.enumerated() { records[slot].rank = rank }
    }

    /// Another source of the same peer of which events are held.
    func heldIncarnation(of source: SessionSource) -> Int? {
        records.indices.last { slot in
            let record = records[slot]
            return record.source.peerID == source.peerID && record.source != source && record.held > 0
                && !record.isClosed
        }
    }

    /// Where the source begins; everything before is void. 1 for one that is not known.
    func first(of source: SessionSource) -> UInt64 { slot(of: source).map { records[$0].first } ?? 1 }

    func openSlot(ofPeer peerID: String) -> Int? {
        records.firstIndex { $0.isOpen && $0.source.peerID == peerID }
    }

    var openSources: [SessionSource] { records.filter { $0.isOpen }.map { $0.source } }

    func vector(_ sequence: (SourceRecord) -> UInt64) -> SequenceVector { vector(of: Array(indices), sequence) }

    func vector(of slots: [Int], _ sequence: (SourceRecord) -> UInt64) -> SequenceVector {
        SequenceVector(
            slots.compactMap { slot in
                let value = sequence(records[slot])
                return value > 0 ? SourceSequence(source: records[slot].source, sequence: value) : nil
            })
    }

    /// The reference's key: the peer's id for its current incarnation, `peerID/incarnation` for earlier ones.
    func vectorKey(_ slot: Int) -> String {
        let source = records[slot].source
        let isEarlier =
            slot != 0
            && (source.peerID == records[0].source.peerID
                || records[(slot + 1)...].contains { $0.source.peerID == source.peerID })
        return isEarlier ? "\(source.peerID)/\(source.incarnation)" : source.peerID
    }

    var referenceVector: [String: UInt64] {
        var vector: [String: UInt64] = [:]
        for slot in records.indices where records[slot].held > 0 { vector[vectorKey(slot)] = records[slot].held }
        return vector
    }
}

/// What one source promised about its future events, and which of it counts.
///
/// "Nothing more from me at or below `stamp` beyond `sequence`" counts once everything up to `sequence` is held; until
/// then it waits. At most 8 wait: the middle ones are dropped, since a later promise says more.
@usableFromInline
struct PromiseTable: Sendable {
    @usableFromInline var usable = HybridTimestamp.zero
    @usableFromInline var pending: [SequencePromise] = []

    static let pendingMax = 8

    init() {}

    @inlinable
    mutating func take(_ promise: SequencePromise, held: UInt64) {
        guard promise.isUsable else { return }
        if promise.sequence <= held {
            if promise.stamp.rawValue > usable.rawValue { usable = promise.stamp }
        } else {
            wait(promise)
        }
    }

    @usableFromInline
    mutating func wait(_ promise: SequencePromise) {
        let place = pending.firstIndex { $0.sequence >= promise.sequence } ?? pending.count
        if place < pending.count, pending[place].sequence == promise.sequence {
            pending[place].stamp = max(pending[place].stamp, promise.stamp)
        } else {
            pending.insert(promise, at: place)
        }
        if pending.count > Self.pendingMax { pending.remove(at: Self.pendingMax / 2) }
    }

    /// More is held now.
    @inlinable
    mutating func settle(held: UInt64) {
        while let first = pending.first, first.sequence <= held {
            if first.stamp.rawValue > usable.rawValue { usable = first.stamp }
            pending.removeFirst()
        }
    }
}
