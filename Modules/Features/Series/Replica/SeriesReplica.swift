import MeshIdentity
package import MeshStorage
import MeshWire

// Replicates series between devices. A series is append-only and has one writer, so two sample numbers describe the samples
// that a device has. Terms (Docs/Guides/Series.md):
//   holding  the samples that a device has stored: the number of the first one, and the number after the last one
//   request  asks one peer for samples that its holding has and this device lacks
//   piece    samples of one series, encoded as a `SeriesBlock`
//   fetch    the requests that one peer hasn't answered completely yet
// A device sends new samples together with its holding. A peer that lacks more samples of it requests them.
// An acknowledgement is also a holding: the receiver announces how far it has stored the series.

/// All series of a session, as a value without I/O. Recorded samples and peers' messages go in; batches and messages come out.
/// The bytes of complete blocks are in the store, which the caller reads and writes.
package struct SeriesReplica: Sendable {
    let peerID: String
    /// The incarnation under which this device records; nil before the first sample.
    private(set) var incarnation: UInt64?
    private let makeIncarnation: @Sendable () -> UInt64
    private let prefix: String
    private let byteCountMax: Int
    private(set) var streams: [SeriesStream] = []
    private(set) var places: [SeriesID: Int] = [:]
    /// Series by peer and digest.
    private var idsByDigest: [PeerDigest: [SeriesID]] = [:]
    /// Number of series of each peer.
    private var counts: [String: Int] = [:]
    /// The series into which this device records, by name.
    private var recordingPlaces: [String: Int] = [:]
    /// The retention by name. It applies to this device's series of all launches.
    private var retention: [String: SeriesRetention] = [:]
    /// Digests of this device's series that retention removed, from earlier launches, oldest first. Peers may hold them.
    private var removed: [UInt64] = []
    /// Removed series that peers have announced since the last answer.
    private var announcedRemoved: [UInt64: SeriesMessage.Holding] = [:]
    private var nextNumber = 0
    /// The batch that `batchCommitted` hasn't confirmed. `erasures` has operations that must precede the next batch.
    private var pendingBatch = StoreBatch()
    private var erasures = StoreBatch()
    /// True if the store may have committed some or all of `pendingBatch`.
    private var isCommitUncertain = false

    // State of the exchange with peers.
    /// The end of each holding as last announced, by place. `sentEnds` has the end of the samples last sent.
    private var announcedEnds: [Int: UInt64] = [:]
    private var sentEnds: [Int: UInt64] = [:]
    /// The end of each peer's holdings.
    private var heldBy: [String: [Int: UInt64]] = [:]
    /// Series of which a peer has more samples.
    private var wanted: [SeriesID: Wanted] = [:]
    private var fetch: Fetch?
    private var lastRequested: SeriesID?
    /// True if a peer lacks an acknowledgement: it repeated a holding that is stored here, or it holds a removed series.
    package private(set) var owesRepeatedAcknowledgement = false
    /// The error because of which `load` set a series aside. The series' bytes stay in the store.
    package private(set) var damage: StorageError?
    /// Number of received samples dropped for lack of space.
    package private(set) var refusedCount = 0

    private struct Wanted {
        var peerID: String
        var first: UInt64
        var next: UInt64
        /// Requests in a row that brought no samples.
        var failedRequestCount = 0
    }

    /// The last request.
    private struct Fetch {
        var peerID: String
        /// The end of each requested range that hasn't arrived completely.
        var ends: [SeriesID: UInt64]
        var hasProgressed = true
        /// Exchanges since the request.
        var exchanges = 0
    }

    package static var peersMax: Int { 64 }
    /// Maximum number of series recorded by others. Each peer may have half as many.
    private static var foreignMax: Int { SeriesLimits.seriesMax * 3 / 4 }
    /// Maximum number of removed series to remember.
    private static var removedMax: Int { SeriesLimits.seriesMax }
    /// Maximum number of samples per batch.
    private static var batchMax: Int { 8 * SeriesLimits.blockSamples }
    /// Number of exchanges after which another peer is asked, even if this one is still sending.
    private static var fetchMax: Int { 8 }
    /// Number of unanswered requests after which a peer isn't asked until it announces the samples again.
    private static var failedRequestsMax: Int { 3 }
    /// Maximum number of samples per request.
    package static var requestMax: UInt64 { 16 * UInt64(SeriesLimits.blockSamples) }

    /// - Parameters:
    ///   - prefix: the prefix of all names in the store.
    ///   - byteCountMax: maximum number of stored bytes of this device's series, and again of all others.
    ///   - makeIncarnation: returns a random number.
    package init(peerID: String, prefix: String, byteCountMax: Int, makeIncarnation: @escaping @Sendable () -> UInt64) {
        self.peerID = peerID
        self.prefix = prefix
        self.byteCountMax = byteCountMax
        self.makeIncarnation = makeIncarnation
    }

    /// Loads all series. Sets aside a series whose parts don't fit together (`damage`). Complexity: O(blocks).
    /// - Throws: the store's errors.
    package mutating func load(from store: any SessionStore) throws {
        for head in try store.catalog(prefix: prefix).keys {
            guard let number = Int(head.dropFirst(prefix.count)), number >= 0, number < .max,
                let bytes = try store.value(for: head)
            else { continue }
            nextNumber = max(nextNumber, number + 1)
            do {
                let stored = try CompactCodec().decode(StoredSeries.self, from: bytes)
                let names = SeriesNames(prefix: prefix, number: number)
                add(try SeriesStream.load(stored, names, from: store))
            } catch let error where !(error is StorageError) {
                damage = StorageError(
                    .damaged,
                    "series \(number) can't be read and is set aside; restore the store from a copy to get it back",
                    cause: error)
            }
        }
        // Without the list, peers give removed series back, and retention removes them again.
        let bytes = try store.value(for: removedKey)
        removed = bytes.flatMap { try? CompactCodec().decode([UInt64].self, from: $0) } ?? []
    }

    private var removedKey: String { prefix + "removed" }

    @discardableResult
    private mutating func add(_ stream: SeriesStream) -> Int {
        places[stream.id] = streams.count
        idsByDigest[PeerDigest(stream.id), default: []].append(stream.id)
        counts[stream.id.peerID, default: 0] += 1
        streams.append(stream)
        return streams.count - 1
    }

    private mutating func makeStream(_ id: SeriesID, _ columns: [SeriesColumn], first: UInt64) -> Int {
        defer { nextNumber += 1 }
        return add(
            SeriesStream(
                id: id, columns: columns, names: SeriesNames(prefix: prefix, number: nextNumber), first: first))
    }

    // MARK: - Recording

    /// Records a sample. Complexity: O(numbers in the sample).
    /// - Throws: `WireError` for a sample that a series can't hold, `StorageError.Code.oversized` beyond a limit.
    package mutating func record<Sample>(_ sample: Sample, in series: Series<Sample>, at time: Int64) throws {
        let known = recordingPlaces[series.name]
        let row = try SampleRow(sample, like: known.map { streams[$0].columns } ?? [])
        let place = try known.flatMap { streams[$0].columns == row.columns ? $0 : nil } ?? begin(series, row.columns)
        guard streams[place].unwritten.count < SeriesLimits.unwrittenMax else {
            throw StorageError(
                .oversized,
                "\(SeriesLimits.unwrittenMax) samples of '\(series.name)' wait to be written; wait until they are")
        }
        streams[place].append(row, at: time)
    }

    private mutating func begin<Sample>(_ series: Series<Sample>, _ columns: [SeriesColumn]) throws -> Int {
        let incarnation = incarnation ?? makeIncarnation()
        self.incarnation = incarnation
        let id = SeriesID(peerID: peerID, incarnation: incarnation, name: series.name, columns: columns.digest)
        try id.check()
        retention[series.name] = series.keeping
        if case .newest(let count) = series.keeping {
            let isFull = places[id] == nil && streams.count >= SeriesLimits.seriesMax
            erasures.append(contentsOf: try trim(series.name, to: count, removesOldest: isFull).operations)
        }
        guard ownByteCount < byteCountMax else {
            throw StorageError(
                .oversized, "series have \(ownByteCount) bytes, the limit is \(byteCountMax); keep fewer samples")
        }
        guard places[id] != nil || streams.count < SeriesLimits.seriesMax else {
            throw StorageError(
                .oversized, "the session has \(streams.count) series, the limit is \(SeriesLimits.seriesMax)")
        }
        let place = places[id] ?? makeStream(id, columns, first: 0)
        recordingPlaces[series.name] = place
        return place
    }

    private var ownByteCount: Int { streams.reduce(0) { $0 + ($1.id.peerID == peerID ? $1.byteCount : 0) } }

    /// Indicates whether this device writes to the series in this incarnation.
    private func isOwn(_ id: SeriesID) -> Bool { id.peerID == peerID && id.incarnation == incarnation }

    // MARK: - Writing

    package var hasUnwritten: Bool {
        isCommitUncertain || !erasures.isEmpty || streams.contains { $0.hasUnbatchedSamples }
    }

    /// Returns the operations to commit; empty if there are none. Call `batchCommitted` or `batchFailed` before the next call.
    package mutating func nextBatch() throws -> StoreBatch {
        pendingBatch.append(contentsOf: erasures.operations)
        erasures = StoreBatch()
        // Encoding more samples at once would block the main actor for too long.
        var capacity = Self.batchMax
        var names: Set<String> = []
        for place in streams.indices where streams[place].hasUnbatchedSamples && capacity > 0 {
            try streams[place].addSamples(to: &pendingBatch, capacity: &capacity)
            if streams[place].id.peerID == peerID { names.insert(streams[place].id.name) }
        }
        for name in names.sorted() {
            guard case .newest(let count) = retention[name] else { continue }
            pendingBatch.append(contentsOf: try trim(name, to: count).operations)
        }
        return pendingBatch
    }

    /// Removes the oldest samples of a name, including those of earlier launches.
    ///
    /// Only samples in the store or in a batch count as kept: a crash may lose the others.
    /// - Parameter removesOldest: true to free a place for one more series: if `count` removes no series, the oldest is
    ///   removed.
    /// - Returns: the operations that remove the samples from the store.
    private mutating func trim(_ name: String, to count: Int, removesOldest: Bool = false) throws -> StoreBatch {
        var batch = StoreBatch()
        var remaining = UInt64(clamping: count)
        var gone: [Int] = []
        let ordered = ownPlaces(of: name)
        for place in ordered {
            let stream = streams[place]
            if remaining == 0, isRemovable(place) {
                gone.append(place)
            } else {
                streams[place].dropBlocks(before: stream.batchedEnd - min(stream.batchedEnd, remaining), in: &batch)
            }
            remaining -= min(remaining, stream.batchedEnd - stream.first)
        }
        if removesOldest, gone.isEmpty, let oldest = ordered.last(where: isRemovable) { gone = [oldest] }
        guard !gone.isEmpty else { return batch }
        // Removes the oldest first, because that is the order of `removed`.
        for place in gone.reversed() {
            streams[place].remove(in: &batch)
            removed.append(streams[place].id.longDigest)
        }
        removed.removeFirst(max(0, removed.count - Self.removedMax))
        batch.set(try CompactCodec().encode(removed), for: removedKey)
        remove(Set(gone))
        return batch
    }

    /// Returns the places of this device's series of a name, the newest first.
    private func ownPlaces(of name: String) -> [Int] {
        streams.indices.filter { streams[$0].id.peerID == peerID && streams[$0].id.name == name }.sorted {
            let (left, right) = (streams[$0], streams[$1])
            // This launch's series come first, even if the clock was set back.
            let (isLeft, isRight) = (isOwn(left.id), isOwn(right.id))
            return isLeft == isRight ? (right.latest, right.id) < (left.latest, left.id) : isLeft
        }
    }

    /// Indicates whether a series can be removed completely. A series of this launch can't be removed, because its next
    /// sample would get a number that an earlier sample had.
    private func isRemovable(_ place: Int) -> Bool { !isOwn(streams[place].id) && streams[place].unwritten.isEmpty }

    private mutating func remove(_ gone: Set<Int>) {
        for place in gone {
            let id = streams[place].id
            idsByDigest[PeerDigest(id)]?.removeAll { $0 == id }
            if idsByDigest[PeerDigest(id)]?.isEmpty == true { idsByDigest[PeerDigest(id)] = nil }
            counts[id.peerID, default: 0] -= 1
            wanted[id] = nil
            fetch?.ends[id] = nil
        }
        if fetch?.ends.isEmpty == true { fetch = nil }
        let kept = streams.indices.filter { !gone.contains($0) }
        let newPlaces = Dictionary(uniqueKeysWithValues: kept.enumerated().map { ($1, $0) })
        func moved(_ ends: [Int: UInt64]) -> [Int: UInt64] {
            Dictionary(uniqueKeysWithValues: ends.compactMap { place, end in newPlaces[place].map { ($0, end) } })
        }
        streams = kept.map { streams[$0] }
        places = Dictionary(uniqueKeysWithValues: streams.enumerated().map { ($1.id, $0) })
        recordingPlaces = recordingPlaces.compactMapValues { newPlaces[$0] }
        announcedEnds = moved(announcedEnds)
        sentEnds = moved(sentEnds)
        heldBy = heldBy.mapValues { moved($0) }
    }

    /// True if the caller must first remove operations that the store has already done (`StoreBatch.removingCommitted`).
    package var isRetry: Bool { isCommitUncertain }

    package mutating func batchCommitted() {
        isCommitUncertain = false
        pendingBatch = StoreBatch()
        for place in streams.indices { streams[place].batchCommitted() }
        if ownByteCount >= byteCountMax { recordingPlaces = [:] }
    }

    /// Notes that the commit failed, so the store may have done all, some or none of the batch.
    package mutating func batchFailed() { isCommitUncertain = !pendingBatch.isEmpty }

    /// Continues with another, empty store, and keeps the sample numbers. The old store keeps a valid beginning of each
    /// series.
    package mutating func switchToEmptyStore() {
        for place in streams.indices { streams[place].switchToEmptyStore() }
    }

    // MARK: - Reading

    /// Returns the series with a name, of one peer or (nil) of all, including those of earlier incarnations.
    package func streams(named name: String, by peerID: String?) -> [SeriesReading] {
        streams.filter { $0.id.name == name && (peerID == nil || $0.id.peerID == peerID) }.sorted { $0.id < $1.id }
            .map { SeriesReading(stream: $0) }
    }

    package func summary(named name: String, by peerID: String?) -> SeriesSummary {
        streams.filter { $0.id.name == name && (peerID == nil || $0.id.peerID == peerID) }.sorted { $0.id < $1.id }
            .reduce(into: SeriesSummary()) { $0.add($1.summary) }
    }

    /// Returns the ID of the series into which this device now records under a name.
    package func ownID(of name: String) -> SeriesID? { recordingPlaces[name].map { streams[$0].id } }

    /// The extent of each series on this device, including samples that aren't stored yet.
    package var extents: [Extent] {
        streams.map { stream in
            Extent(
                id: stream.id, first: stream.first, written: stream.written, next: stream.next,
                reading: SeriesReading(stream: stream))
        }
    }

    package struct Extent: Sendable {
        package let id: SeriesID
        package let first: UInt64
        /// The number after the last stored sample.
        package let written: UInt64
        package let next: UInt64
        package let reading: SeriesReading
    }

    /// The status of each series.
    package var statuses: [SeriesStatus] {
        streams.enumerated().map { place, stream in
            SeriesStatus(
                name: stream.id.name, peerID: stream.id.peerID, isOwn: isOwn(stream.id),
                count: Int(clamping: stream.count),
                storedCount: Int(clamping: stream.written - min(stream.written, stream.first)),
                byteCount: stream.byteCount,
                heldThrough: heldBy.compactMapValues { $0[place].map { Int(clamping: $0) } },
                end: Int(clamping: stream.next))
        }
    }
}

// MARK: - Sending

extension SeriesReplica {
    /// Forgets what a peer (nil: every peer) knows, because it may have relaunched without its store.
    package mutating func forgetKnowledge(of peerID: String?) {
        if let peerID { heldBy[peerID] = nil } else { heldBy = [:] }
        announcedEnds = [:]
        if fetch?.peerID == peerID { fetch = nil }
    }

    /// Indicates whether this device or a reachable peer lacks samples, or new samples haven't been announced.
    package func needsExchange(with reachable: Set<String>) -> Bool {
        lacksSamples(from: reachable) || hasUnannouncedSamples || hasUnacknowledgedSamples(for: reachable)
    }

    /// Indicates whether each of these peers has reported this device's series, so that it recognizes the digest.
    package func isKnown(_ id: SeriesID, by peerIDs: Set<String>) -> Bool {
        guard let place = places[id], self.id(of: id.digest, of: peerID) == id else { return false }
        return !peerIDs.isEmpty && peerIDs.allSatisfy { heldBy[$0]?[place] != nil }
    }

    /// Returns the only series of a peer with that digest; nil if there is none or more than one.
    package func id(of digest: UInt32, of peerID: String) -> SeriesID? {
        let ids = idsByDigest[PeerDigest(peerID: peerID, digest: digest)] ?? []
        return ids.count == 1 ? ids[0] : nil
    }

    private struct PeerDigest: Hashable {
        let peerID: String
        let digest: UInt32

        init(peerID: String, digest: UInt32) { (self.peerID, self.digest) = (peerID, digest) }
        init(_ id: SeriesID) { self.init(peerID: id.peerID, digest: id.digest) }
    }

    /// Indicates whether a reachable peer has samples that this device lacks.
    package func lacksSamples(from reachable: Set<String>) -> Bool {
        wanted.contains { reachable.contains($0.value.peerID) }
    }

    /// True if samples were stored that no message has announced.
    private var hasUnannouncedSamples: Bool { streams.indices.contains(where: isUnannounced) }

    /// True if samples recorded by others were stored and not yet acknowledged.
    package var owesAcknowledgement: Bool { streams.indices.contains { isUnannounced($0) && !isOwn(streams[$0].id) } }

    private func isUnannounced(_ place: Int) -> Bool { announcedEnds[place] ?? 0 != streams[place].written }

    /// Indicates whether a reachable peer hasn't acknowledged all samples stored here.
    package func hasUnacknowledgedSamples(for reachable: Set<String>) -> Bool {
        streams.indices.contains {
            streams[$0].written > streams[$0].first && hasUnacknowledgedSamples(at: $0, for: reachable)
        }
    }

    private func hasUnacknowledgedSamples(at place: Int, for reachable: Set<String>) -> Bool {
        reachable.contains { heldBy[$0]?[place] ?? 0 < streams[place].written }
    }

    /// True while a request is unanswered.
    package var isFetching: Bool { fetch != nil }

    /// The choice of series that a message names.
    package enum AnnouncementScope {
        /// Series with new samples, and series unknown to a reachable peer.
        case unannounced
        /// Series with new samples, and series that a reachable peer hasn't acknowledged completely.
        case unacknowledged
        case all
    }

    /// Ends a fetch that brought nothing, is too old, or has an unreachable peer. Call it once per exchange. After
    /// `failedRequestsMax` failed requests, this device stops asking the peer until the peer announces its samples
    /// again. The peer does so because this device hasn't acknowledged them.
    package mutating func expireFetch(reachable: Set<String>) {
        guard let fetch else { return }
        if !fetch.hasProgressed || fetch.exchanges >= Self.fetchMax || !reachable.contains(fetch.peerID) {
            self.fetch = nil
            for id in fetch.ends.keys {
                wanted[id]?.failedRequestCount += 1
                let isGivenUp = wanted[id].map { $0.failedRequestCount >= Self.failedRequestsMax } ?? true
                if isGivenUp || !reachable.contains(fetch.peerID) { wanted[id] = nil }
            }
        } else {
            self.fetch?.hasProgressed = false
            self.fetch?.exchanges += 1
        }
    }

    /// Returns the messages to send now.
    /// - Parameters:
    ///   - reachable: the reachable peers.
    ///   - pushesSamples: true to announce and send new samples of this device.
    ///   - answers: true to acknowledge samples recorded by others.
    ///   - limit: maximum number of bytes per message.
    package mutating func messages(
        reachable: Set<String>, scope: AnnouncementScope, pushesSamples: Bool, answers: Bool, limit: Int
    ) -> [SeriesMessage] {
        if answers { owesRepeatedAcknowledgement = false }
        var messages = nextRequest(limit: limit).map { [$0] } ?? []
        var empty = SeriesMessage()
        empty.canUseDigests = scope == .unannounced
        var message = empty
        var remainingBytes = limit
        func add(_ holding: SeriesMessage.Holding) {
            if message.holdings.count == SeriesMessage.holdingsMax || remainingBytes <= 0 {
                messages.append(message)
                message = empty
                remainingBytes = limit
            }
            message.holdings.append(holding)
            remainingBytes -= holding.id.estimatedByteCount
        }
        if answers {
            // Acknowledges a peer's holding with an empty holding that has the same end, so that the peer doesn't offer
            // it again.
            for holding in announcedRemoved.values.sorted(by: { $0.id < $1.id }) { add(holding) }
            announcedRemoved = [:]
        }
        for place in streams.indices {
            let stream = streams[place]
            let isIncluded =
                switch scope {
                // A peer that hasn't reported the series may have connected later.
                case .unannounced:
                    isUnannounced(place) && (isOwn(stream.id) ? pushesSamples : answers)
                        || reachable.contains { heldBy[$0]?[place] == nil }
                case .unacknowledged: isUnannounced(place) || hasUnacknowledgedSamples(at: place, for: reachable)
                case .all: true
                }
            // `dropBlocks` may drop blocks that aren't stored yet. Then `written` lies below `first`.
            guard stream.written > stream.first, isIncluded else { continue }
            announcedEnds[place] = stream.written
            add(.init(id: stream.id, first: stream.first, next: stream.written))
            if pushesSamples { push(place, into: &message, capacity: &remainingBytes) }
        }
        if !message.holdings.isEmpty { messages.append(message) }
        return messages
    }

    /// Adds the samples since the last push, if they are still in memory. Otherwise peers that lack them send requests.
    private mutating func push(_ place: Int, into message: inout SeriesMessage, capacity: inout Int) {
        let stream = streams[place]
        guard isOwn(stream.id) else { return }
        let from = sentEnds[place] ?? 0
        sentEnds[place] = stream.written
        guard from < stream.written, from >= stream.completeEnd, let table = try? stream.tailTable(from: from) else {
            return
        }
        let count = Int(min(UInt64(table.count), stream.written - from))
        guard count > 0 else { return }
        let bytes = SeriesBlock.bytes(of: table[0..<count])
        guard bytes.count <= capacity else { return }
        capacity -= bytes.count
        message.pieces.append(
            .init(id: stream.id, columns: from == 0 ? stream.columns : nil, first: from, bytes: bytes))
    }

    /// Number of this device's samples that were stored since the last push.
    package var unsentCount: UInt64 {
        streams.indices.reduce(0) { sum, place in
            let stream = streams[place]
            guard isOwn(stream.id), isUnannounced(place), stream.written > stream.first else { return sum }
            return sum + stream.written - min(stream.written, sentEnds[place] ?? 0)
        }
    }

    /// Returns the next request, to one peer for many series; nil while a request is unanswered.
    /// - Parameter limit: maximum number of bytes per message.
    package mutating func nextRequest(limit: Int) -> SeriesMessage? {
        guard fetch == nil, !wanted.isEmpty else { return nil }
        // Round robin, so that a peer that doesn't deliver announced samples doesn't block others.
        let ids = wanted.keys.sorted()
        let start = ids.firstIndex { id in lastRequested.map { $0 < id } ?? true } ?? 0
        var message: SeriesMessage?
        var (samples, bytes) = (Self.requestMax, limit)
        for id in ids[start...] + ids[..<start] {
            guard let wanted = wanted[id], wanted.peerID == message?.receiver ?? wanted.peerID else { continue }
            let place = places[id]
            let from = max(place.map { streams[$0].next } ?? 0, wanted.first)
            guard from < wanted.next else {
                self.wanted[id] = nil
                continue
            }
            bytes -= id.estimatedByteCount
            if message != nil, bytes < 0 { break }
            let request = SeriesMessage.Request(
                id: id, first: from, count: min(wanted.next - from, samples), wantsColumns: place == nil)
            if message == nil { lastRequested = id }
            message = message ?? SeriesMessage(receiver: wanted.peerID)
            message?.requests.append(request)
            samples -= request.count
            if samples == 0 || message?.requests.count == SeriesMessage.requestsMax { break }
        }
        if let message, let peerID = message.receiver {
            let ends = message.requests.map { ($0.id, $0.first + $0.count) }
            fetch = Fetch(peerID: peerID, ends: Dictionary(uniqueKeysWithValues: ends))
        }
        return message
    }

    // MARK: - Receiving

    /// Processes a peer's message.
    /// - Parameters:
    ///   - message: a message that has passed `checked()`.
    ///   - isMember: true if the peer may announce and send samples that others recorded.
    /// - Returns: the requested samples, to be read from the store and sent.
    /// - Throws: `WireError` for malformed samples. Keeps the pieces before them.
    package mutating func receive(
        _ message: SeriesMessage, from peerID: String, isMember: Bool
    ) throws -> SeriesResponse? {
        guard heldBy[peerID] != nil || heldBy.count < Self.peersMax else { return nil }
        let budget = self.budget
        func hasBudget(_ id: SeriesID) -> Bool { id.peerID == self.peerID ? budget.own : budget.others }
        for holding in message.holdings {
            note(holding, from: peerID, isMember: isMember, hasBudget: hasBudget(holding.id))
        }
        for piece in message.pieces {
            try receive(piece, from: peerID, isMember: isMember, hasBudget: hasBudget(piece.id))
        }
        return response(to: message.requests, for: peerID)
    }

    private func response(to requests: [SeriesMessage.Request], for peerID: String) -> SeriesResponse? {
        var remaining = Self.requestMax
        var response = SeriesResponse(receiver: peerID)
        for request in requests where remaining > 0 {
            guard let place = places[request.id] else { continue }
            let count = min(request.count, remaining)
            remaining -= count
            response.parts.append(
                SeriesResponse.Part(
                    stream: streams[place], samples: request.first..<request.first + count,
                    hasColumns: request.wantsColumns))
        }
        return response.parts.isEmpty ? nil : response
    }

    private mutating func note(
        _ holding: SeriesMessage.Holding, from peerID: String, isMember: Bool, hasBudget: Bool
    ) {
        let id = holding.id
        let place = places[id]
        if let place {
            let before = heldBy[peerID]?[place] ?? 0
            // A holding without samples isn't a repetition: it acknowledges this device's holding.
            let isRepeated = holding.first < holding.next && before >= holding.next
            if id.peerID == peerID, isRepeated, streams[place].written >= holding.next {
                announcedEnds[place] = nil
                owesRepeatedAcknowledgement = true
            }
            heldBy[peerID, default: [:]][place] = holding.next
        } else if isMember, isRemoved(id) {
            return noteRemoved(id, end: holding.next)
        }
        guard hasBudget, !isOwn(id), id.peerID == peerID || isMember, place != nil || canAddSeries(id) else { return }
        let next = place.map { streams[$0].next } ?? 0
        guard holding.next > next, holding.next > holding.first else { return }
        guard holding.first % SeriesStream.blockSamples == 0 else { return }
        // The recording device has dropped the samples in between. Only that device may announce the new beginning.
        if place != nil, holding.first > next, id.peerID != peerID { return }
        guard wanted[id].map({ $0.next < holding.next }) ?? (wanted.count < SeriesLimits.seriesMax) else { return }
        wanted[id] = Wanted(peerID: peerID, first: holding.first, next: holding.next)
    }

    /// Indicates whether retention has removed this series of this device. Peers can't give it back.
    private func isRemoved(_ id: SeriesID) -> Bool {
        id.peerID == peerID && places[id] == nil && removed.contains(id.longDigest)
    }

    /// Notes that a peer holds a removed series and waits for an acknowledgement.
    private mutating func noteRemoved(_ id: SeriesID, end: UInt64) {
        let digest = id.longDigest
        // Moves the digest to the end of the list, because a full list drops its first digests.
        removed.removeAll { $0 == digest }
        removed.append(digest)
        let end = max(end, announcedRemoved[digest]?.next ?? 0)
        announcedRemoved[digest] = SeriesMessage.Holding(id: id, first: end, next: end)
        owesRepeatedAcknowledgement = true
    }

    /// True while more samples may be kept: of others, and of this device's earlier launches, which members give back. A
    /// member that lies may invent the latter, so they leave a quarter of the space to what this device records.
    private var budget: (own: Bool, others: Bool) {
        var (ownBytes, bytes, unwritten) = (0, 0, 0)
        for stream in streams {
            if stream.id.peerID == peerID { ownBytes += stream.byteCount } else { bytes += stream.byteCount }
            if !isOwn(stream.id) { unwritten += stream.unwritten.count }
        }
        let isWritten = unwritten < SeriesLimits.unwrittenMax
        return (ownBytes < byteCountMax / 4 * 3 && isWritten, bytes < byteCountMax && isWritten)
    }

    private func canAddSeries(_ id: SeriesID) -> Bool {
        streams.count - counts[peerID, default: 0] < Self.foreignMax
            && counts[id.peerID, default: 0] < Self.foreignMax / 2
    }

    private mutating func receive(
        _ piece: SeriesMessage.Piece, from peerID: String, isMember: Bool, hasBudget: Bool
    ) throws {
        let id = piece.id
        guard !isOwn(id), !isRemoved(id), id.peerID == peerID || isMember else { return }
        if fetch?.ends[id] != nil { fetch?.hasProgressed = true }
        wanted[id]?.failedRequestCount = 0
        let known = places[id]
        guard let columns = known.map({ streams[$0].columns }) ?? piece.columns else { return }
        guard known != nil || canAddSeries(id) && piece.first % SeriesStream.blockSamples == 0 else { return }
        let next = known.map { streams[$0].next } ?? piece.first
        let isNewBeginning = piece.first > next && id.peerID == peerID && wanted[id]?.first == piece.first
        guard piece.first <= next || isNewBeginning else { return }
        var table = try SeriesBlock.table(from: piece.bytes, columns: columns)
        try SeriesMessage.check(end: piece.first + UInt64(table.count))
        guard piece.first + UInt64(table.count) > next else { return }
        guard hasBudget else {
            refusedCount += table.count
            return
        }
        let place = known ?? makeStream(id, columns, first: piece.first)
        if isNewBeginning {
            streams[place].restart(at: piece.first, in: &erasures)
        } else {
            table.removeFirst(Int(next - piece.first))
        }
        streams[place].append(table)
        heldBy[peerID, default: [:]][place] = max(heldBy[peerID]?[place] ?? 0, streams[place].next)
        guard let end = fetch?.ends[id], streams[place].next >= end else { return }
        fetch?.ends[id] = nil
        if fetch?.ends.isEmpty == true { fetch = nil }
    }
}

/// The status of one series of one device.
public struct SeriesStatus: Hashable, Sendable {
    /// The name of the series.
    public let name: String
    /// The ID of the peer that records the series.
    public let peerID: String
    /// True if this session object records the series. False for series of other devices and of earlier launches.
    public let isOwn: Bool
    /// The number of samples held here.
    public let count: Int
    /// The number of held samples that are in the store.
    public let storedCount: Int
    /// The number of bytes that the stored samples take.
    public let byteCount: Int
    /// For each peer, by ID, the number of samples recorded up to the last one that it says it holds. Includes samples
    /// that were dropped since.
    public let heldThrough: [String: Int]
    /// The number of samples recorded up to the last one held here, including dropped ones.
    public let end: Int
}
