public import MeshIdentity

/// The engine's knowledge of one source.
@usableFromInline
struct SourceRecord: Sendable {
    @usableFromInline let source: SessionSource
    /// The source's position in the order of all known sources, which decides between equal stamps.
    @usableFromInline var rank = 0
    /// A stable fingerprint of the source, for the confirmation chain.
    @usableFromInline let digest: UInt64

    /// The last sequence up to which all events are held.
    @usableFromInline var held: UInt64 = 0
    /// The highest stamp of the source's held events above the base. The local source's own submissions don't raise it.
    @usableFromInline var lastStamp = HybridTimestamp.zero
    /// The first sequence of the source that counts in this group.
    @usableFromInline var first: UInt64 = 1
    /// The last sequence of the source that the base includes.
    @usableFromInline var folded: UInt64 = 0
    /// The last sequence of the source that the caller has been asked to persist.
    @usableFromInline var persisted: UInt64 = 0

    /// True for a member, whose promises bound the cut.
    @usableFromInline fileprivate(set) var isOpen = false
    /// The stamp at or below which the source has written nothing that counts.
    @usableFromInline fileprivate(set) var floor = HybridTimestamp.zero
    /// The view by which the source became a member.
    @usableFromInline fileprivate(set) var joinedView: UInt64 = 0
    /// The latest statement of the source about views.
    var statement: ViewStatement?
    /// The members as the source reports them.
    var report = MemberReport()
    /// True if the source's version knows no views.
    var knowsNoViews = false
    /// The number of times the source has requested a copy.
    var copyAsks = 0
    /// True if the source lost its store or was closed by a view. `final` is the last of its events that counts.
    @usableFromInline fileprivate(set) var isClosed = false
    @usableFromInline fileprivate(set) var final: UInt64 = 0

    @usableFromInline var promises = PromiseTable()
    /// Lower bound of the sequence that every other member has acknowledged of this source.
    @usableFromInline var heldByAll: UInt64 = 0
    /// The sequences that this member has acknowledged, by slot.
    @usableFromInline var acknowledged: [UInt64] = []
    /// The stamp of the source's latest control. Controls with an earlier stamp are outdated.
    var lastControlStamp = HybridTimestamp.zero

    /// The highest number of confirmed events that this member has reported.
    var position: UInt64 = 0
    /// True if the member has reported that it knows of the session's end.
    var hasEnded = false

    /// The token that the source must return to prove that it lives.
    @usableFromInline var token: UInt32?
    /// The token that the source wants to have returned.
    @usableFromInline var echo: UInt32?
    @usableFromInline var isForked = false
    /// True once the alarm has been raised that the source's clock is far ahead of the local one.
    @usableFromInline var hasRaisedFarAhead = false
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

    /// The last sequence of the given slot's source that this member has acknowledged.
    @usableFromInline
    func acknowledged(_ slot: Int) -> UInt64 { slot < acknowledged.count ? acknowledged[slot] : 0 }

    mutating func acknowledge(_ slot: Int, _ sequence: UInt64) {
        while acknowledged.count <= slot { acknowledged.append(0) }
        acknowledged[slot] = max(acknowledged[slot], sequence)
    }
}

/// The sources of a session, in the order in which they were met. Slot 0 is the local one.
///
/// Lookups are linear, because there are rarely more than a few sources.
@usableFromInline
struct SourceTable: Sendable {
    @usableFromInline var records: [SourceRecord]
    /// For each slot, the stamp up to which a member has promised to write nothing but what is held here. `.max` for
    /// the local source, whose clock is its bound, and for sources that aren't members. A separate array, because every
    /// event scans it.
    @usableFromInline var promised: [UInt64] = [.max]

    /// Slots by their ranks.
    private(set) var inOrder = [0]

    /// Maximum number of sources: the local one and 1024 others.
    static var countMax: Int { 1025 }

    init(local: SessionSource) {
        records = [SourceRecord(local)]
    }

    /// The slot of each entry of a list; nil for an unknown source. O(sources + entries) if the list is in source
    /// order, as in a control.
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
            // The entry is out of order, or its source is unknown.
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

    /// The round trips with a peer. Its incarnations share one clock, so only the one measured last has any.
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

    /// Adds a source without regard to its peer's share of the table.
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

    /// Makes the source a member: its promises bound the cut, and its acknowledgements count for confirmation.
    mutating func open(_ slot: Int, above floor: HybridTimestamp = .zero, since view: UInt64 = 0) {
        records[slot].isOpen = true
        records[slot].floor = floor
        records[slot].joinedView = view
        notePromise(of: slot)
        forgetHeldByAll()
    }

    /// - Parameter final: the last sequence of the source that counts.
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

    /// Lets waiting promises count, after more events of the source are held.
    @inlinable
    mutating func activatePromises(of slot: Int) {
        guard !records[slot].promises.pending.isEmpty else { return }
        records[slot].promises.activate(held: records[slot].held)
        notePromise(of: slot)
    }

    @inlinable
    mutating func notePromise(of slot: Int) {
        guard slot != 0, records[slot].isOpen else { return }
        promised[slot] = max(records[slot].promises.usable.rawValue, records[slot].floor.rawValue)
    }

    /// The lowest promise of all other members.
    @inlinable var lowestPromise: HybridTimestamp {
        var lowest = UInt64.max
        for promise in promised where promise < lowest { lowest = promise }
        return HybridTimestamp(rawValue: lowest)
    }

    /// Resets the cached bounds when members change. Otherwise they stay valid, because acknowledgements only grow.
    private mutating func forgetHeldByAll() {
        for slot in records.indices { records[slot].heldByAll = 0 }
    }

    /// The last sequence of the source that every other member has acknowledged; caches it. O(members).
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

    /// Renumbers after records have been removed.
    mutating func reorder(without removed: Set<Int>) {
        promised = promised.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
        inOrder = records.indices.sorted { records[$0].source < records[$1].source }
        for (rank, slot) in inOrder.enumerated() { records[slot].rank = rank }
    }

    /// The slot of another incarnation of the same peer that isn't closed and of which events are held.
    func heldIncarnation(of source: SessionSource) -> Int? {
        records.indices.last { slot in
            let record = records[slot]
            return record.source.peerID == source.peerID && record.source != source && record.held > 0
                && !record.isClosed
        }
    }

    /// The first sequence of the source that counts; everything before is void. 1 for an unknown source.
    func first(of source: SessionSource) -> UInt64 { slot(of: source).map { records[$0].first } ?? 1 }

    /// True if a source's next event may have that sequence. Its first one may have any.
    func maySkip(to next: UInt64, from last: UInt64) -> Bool {
        last == 0 || next <= last || next - last <= SessionMembership.skipMax
    }

    /// Raises the first sequence of a source that counts. Never lowers it: a lower one comes from an older copy of the
    /// source's store, and would leave a hole below what is held. Ignores a sequence that skips too many.
    mutating func raiseFirst(of slot: Int, to first: UInt64) {
        guard first >= records[slot].first, maySkip(to: first, from: records[slot].held) else { return }
        records[slot].first = first
        records[slot].held = max(records[slot].held, first - 1)
    }

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

    /// The source's key in vectors of the reference: the peer's ID for the current incarnation, `peerID/incarnation`
    /// for earlier ones.
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

/// The promises of one source about its future events (rule 2 of Docs/Internals/Convergence.md).
///
/// A promise counts once all events up to its `sequence` are held, and waits until then. At most 8 wait. Beyond that a
/// middle one is dropped, because a later promise says more.
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
            insertPending(promise)
        }
    }

    @usableFromInline
    mutating func insertPending(_ promise: SequencePromise) {
        let place = pending.firstIndex { $0.sequence >= promise.sequence } ?? pending.count
        if place < pending.count, pending[place].sequence == promise.sequence {
            pending[place].stamp = max(pending[place].stamp, promise.stamp)
        } else {
            pending.insert(promise, at: place)
        }
        if pending.count > Self.pendingMax { pending.remove(at: Self.pendingMax / 2) }
    }

    /// Lets waiting promises count whose sequence is held now.
    @inlinable
    mutating func activate(held: UInt64) {
        while let first = pending.first, first.sequence <= held {
            if first.stamp.rawValue > usable.rawValue { usable = first.stamp }
            pending.removeFirst()
        }
    }
}
