import MeshIdentity
package import MeshStorage
import MeshWire

/// All series of a session, as a value: what is recorded and what peers say goes in; what is to be written and said comes out. The
/// bytes of whole blocks are in the store, which whoever drives this reads and writes.
package struct SeriesShelf: Sendable {
    let peerID: String
    /// Of this launch; nil before anything is recorded.
    private(set) var life: UInt64?
    private let newLife: @Sendable () -> UInt64
    private let prefix: String
    private let byteCountMax: Int
    private(set) var streams: [SeriesStream] = []
    private(set) var places: [SeriesID: Int] = [:]
    /// The series of each peer and digest.
    private var idsByDigest: [PeerDigest: [SeriesID]] = [:]
    /// How many each peer has recorded.
    private var counts: [String: Int] = [:]
    /// Where what is recorded under a name goes now.
    private var own: [String: Int] = [:]
    private var retention: [Int: SeriesRetention] = [:]
    private var nextNumber = 0
    /// What was taken and not settled, and what goes before the next that is taken.
    private var underWay = StoreBatch()
    private var erasures = StoreBatch()
    /// Whether that is in the store, nobody knows.
    private var isInDoubt = false

    // What is said.
    /// Up to where others have been told of each, and up to where of samples themselves.
    private var told: [Int: UInt64] = [:]
    private var pushed: [Int: UInt64] = [:]
    /// What each peer has said that it holds.
    private var heldBy: [String: [Int: UInt64]] = [:]
    /// Series of which a peer holds more.
    private var wanted: [SeriesID: Wanted] = [:]
    private var fetch: Fetch?
    private var lastAsked: SeriesID?
    /// The recording peer repeated a holding, so it hasn't heard that this device holds the samples.
    package private(set) var isAskedAgain = false
    /// Why a series was set aside at load. Its bytes stay in the store.
    package private(set) var damage: StorageError?
    /// Samples that came and found no room.
    package private(set) var refusedCount = 0

    private struct Wanted {
        var peerID: String
        var first: UInt64
        var next: UInt64
        /// Requests in a row that brought nothing.
        var vainCount = 0
    }

    /// What was asked for last.
    private struct Fetch {
        var peerID: String
        /// Up to where, of what has not come yet.
        var ends: [SeriesID: UInt64]
        var isHeard = true
        /// How many there have been since.
        var exchanges = 0
    }

    package static var peersMax: Int { 64 }
    /// Of them others record at most so many, and one peer's are no more than half of these.
    private static var foreignMax: Int { SeriesLimits.seriesMax * 3 / 4 }
    /// Samples of one batch.
    private static var batchMax: Int { 8 * SeriesLimits.blockSamples }
    /// Exchanges after which somebody else is asked, however slowly what was asked for comes.
    private static var fetchMax: Int { 8 }
    /// Requests in vain after which a peer isn't asked until it says again that it has the samples.
    private static var vainMax: Int { 3 }
    /// Samples that are asked for at once.
    package static var requestMax: UInt64 { 16 * UInt64(SeriesLimits.blockSamples) }

    /// - Parameters:
    ///   - prefix: what the names of everything that is stored begin with.
    ///   - byteCountMax: of what this device records, and as much of what others do.
    ///   - newLife: a random number.
    package init(peerID: String, prefix: String, byteCountMax: Int, newLife: @escaping @Sendable () -> UInt64) {
        self.peerID = peerID
        self.prefix = prefix
        self.byteCountMax = byteCountMax
        self.newLife = newLife
    }

    /// A series whose parts don't fit together is set aside (`damage`), the others are loaded.
    /// - Throws: what the store throws. Complexity: O(blocks).
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
                    "series \(number) cannot be read and is set aside; restore the store from a copy to get it back",
                    cause: error)
            }
        }
    }

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

    /// Complexity: O(numbers of the sample).
    /// - Throws: `WireError` for what no series holds, `StorageError.Code.oversized` where there is no room.
    package mutating func record<Sample>(_ sample: Sample, in series: Series<Sample>, at time: Int64) throws {
        let known = own[series.name]
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
        let life = life ?? newLife()
        self.life = life
        let id = SeriesID(peerID: peerID, life: life, name: series.name, columns: columns.digest)
        try id.check()
        guard ownByteCount < byteCountMax else {
            throw StorageError(
                .oversized, "series have \(ownByteCount) bytes, the limit is \(byteCountMax); keep fewer samples")
        }
        guard places[id] != nil || streams.count < SeriesLimits.seriesMax else {
            throw StorageError(
                .oversized, "the session has \(streams.count) series, the limit is \(SeriesLimits.seriesMax)")
        }
        let place = places[id] ?? makeStream(id, columns, first: 0)
        own[series.name] = place
        retention[place] = series.keeping
        return place
    }

    private var ownByteCount: Int { streams.reduce(0) { $0 + ($1.id.peerID == peerID ? $1.byteCount : 0) } }

    /// Whether a series is written to by this device in this launch.
    private func isOwn(_ id: SeriesID) -> Bool { id.peerID == peerID && id.life == life }

    // MARK: - Writing

    package var hasUnwritten: Bool { isInDoubt || !erasures.isEmpty || streams.contains { $0.hasUntaken } }

    /// What the store is to do; empty when there is nothing. The one before has to be settled.
    package mutating func takeBatch() throws -> StoreBatch {
        underWay.append(contentsOf: erasures.operations)
        erasures = StoreBatch()
        // More at once would hold up whoever draws.
        var room = Self.batchMax
        for place in streams.indices where streams[place].hasUntaken && room > 0 {
            try streams[place].take(into: &underWay, room: &room)
            if case .newest(let count) = retention[place] {
                let next = streams[place].next
                streams[place].giveUp(before: next - min(next, UInt64(clamping: count)), in: &underWay)
            }
        }
        return underWay
    }

    /// Whether the batch has to be compared with what the store has (`StoreBatch.without`).
    package var isRetry: Bool { isInDoubt }

    package mutating func settle() {
        isInDoubt = false
        underWay = StoreBatch()
        for place in streams.indices { streams[place].settle() }
        if ownByteCount >= byteCountMax { own = [:] }
    }

    /// The store has not taken it, as far as is known.
    package mutating func putBack() { isInDoubt = !underWay.isEmpty }

    /// Goes on with another store, which has nothing, under the same numbers: whoever opens the old one finds a beginning of the
    /// same series.
    package mutating func leaveStore() {
        for place in streams.indices { streams[place].leaveStore() }
    }

    // MARK: - Reading

    /// Of a name, and of one peer or of all, those of earlier launches included.
    package func streams(named name: String, by peerID: String?) -> [SeriesReading] {
        streams.filter { $0.id.name == name && (peerID == nil || $0.id.peerID == peerID) }.sorted { $0.id < $1.id }
            .map { SeriesReading(stream: $0) }
    }

    package func summary(named name: String, by peerID: String?) -> SeriesSummary {
        streams.filter { $0.id.name == name && (peerID == nil || $0.id.peerID == peerID) }.sorted { $0.id < $1.id }
            .reduce(into: SeriesSummary()) { $0.add($1.summary) }
    }

    /// Where what is recorded under a name goes now.
    package func ownID(of name: String) -> SeriesID? { own[name].map { streams[$0].id } }

    /// What is held of each series, written or not.
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
        /// Those before it are in the store.
        package let written: UInt64
        package let next: UInt64
        package let reading: SeriesReading
    }

    /// What is held of each.
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

// MARK: - What is said

extension SeriesShelf {
    /// A peer may have come that knows nothing.
    package mutating func greet(_ peerID: String?) {
        if let peerID { heldBy[peerID] = nil } else { heldBy = [:] }
        told = [:]
        if fetch?.peerID == peerID { fetch = nil }
    }

    /// A peer that can be reached lacks something, or this device does.
    package func isBehind(_ reachable: Set<String>) -> Bool {
        isWanting(of: reachable) || hasNews || isLacking(reachable)
    }

    /// Whether each of these peers knows an own series by its digest, because it has named that series.
    package func isKnown(_ id: SeriesID, by peerIDs: Set<String>) -> Bool {
        guard let place = places[id], self.id(of: id.digest, of: peerID) == id else { return false }
        return !peerIDs.isEmpty && peerIDs.allSatisfy { heldBy[$0]?[place] != nil }
    }

    /// The only series of a peer with that digest; nil if there is none, or more than one.
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

    /// This device lacks what a peer has that can be reached.
    package func isWanting(of reachable: Set<String>) -> Bool {
        wanted.contains { reachable.contains($0.value.peerID) }
    }

    /// Something has been written that no peer has been told of.
    private var hasNews: Bool { streams.indices.contains(where: isNews) }

    /// The same of what others recorded: they wait to hear that it has come.
    package var hasForeignNews: Bool { streams.indices.contains { isNews($0) && !isOwn(streams[$0].id) } }

    private func isNews(_ place: Int) -> Bool { told[place] ?? 0 != streams[place].written }

    /// A peer that can be reached has not said that it holds what is written here.
    package func isLacking(_ reachable: Set<String>) -> Bool {
        streams.indices.contains { streams[$0].written > streams[$0].first && isLacking($0, reachable) }
    }

    private func isLacking(_ place: Int, _ reachable: Set<String>) -> Bool {
        reachable.contains { heldBy[$0]?[place] ?? 0 < streams[place].written }
    }

    /// A peer holds more, and is being asked.
    package var isFetching: Bool { fetch != nil }

    /// Which series a message names.
    package enum Telling {
        /// Series with new samples, and those that a peer doesn't know yet.
        case news
        /// Also those of which a peer hasn't said that it holds all samples.
        case lacking
        case everything
    }

    /// With each exchange: what doesn't come is asked for again, and after some requests no longer. A peer that has it says so
    /// again, because this device has said that it lacks it.
    package mutating func ageFetch(reachable: Set<String>) {
        guard let fetch else { return }
        if !fetch.isHeard || fetch.exchanges >= Self.fetchMax || !reachable.contains(fetch.peerID) {
            self.fetch = nil
            for id in fetch.ends.keys {
                wanted[id]?.vainCount += 1
                let isVain = wanted[id].map { $0.vainCount >= Self.vainMax } ?? true
                if isVain || !reachable.contains(fetch.peerID) { wanted[id] = nil }
            }
        } else {
            self.fetch?.isHeard = false
            self.fetch?.exchanges += 1
        }
    }

    /// The messages to send now.
    /// - Parameters:
    ///   - reachable: peers.
    ///   - pushesSamples: new samples of this device, and how far they are.
    ///   - answers: how far those of others have come.
    ///   - limit: bytes in a message.
    package mutating func messages(
        reachable: Set<String>, telling: Telling, pushesSamples: Bool, answers: Bool, limit: Int
    ) -> [SeriesMessage] {
        if answers { isAskedAgain = false }
        var messages = nextRequest(limit: limit).map { [$0] } ?? []
        var empty = SeriesMessage()
        empty.mayAbbreviate = telling == .news
        var news = empty
        var room = limit
        for place in streams.indices {
            let stream = streams[place]
            let isTold =
                switch telling {
                // A peer that has said nothing may have come later.
                case .news:
                    isNews(place) && (isOwn(stream.id) ? pushesSamples : answers)
                        || reachable.contains { heldBy[$0]?[place] == nil }
                case .lacking: isNews(place) || isLacking(place, reachable)
                case .everything: true
                }
            // While its beginning is given up, what is written may end before it.
            guard stream.written > stream.first, isTold else { continue }
            told[place] = stream.written
            if news.holdings.count == SeriesMessage.holdingsMax || room <= 0 {
                messages.append(news)
                news = empty
                room = limit
            }
            news.holdings.append(.init(id: stream.id, first: stream.first, next: stream.written))
            room -= stream.id.estimatedByteCount
            if pushesSamples { push(place, into: &news, room: &room) }
        }
        if !news.holdings.isEmpty { messages.append(news) }
        return messages
    }

    /// Samples that are new since the last time, where they are in memory: else whoever lacks them asks.
    private mutating func push(_ place: Int, into message: inout SeriesMessage, room: inout Int) {
        let stream = streams[place]
        guard isOwn(stream.id) else { return }
        let from = pushed[place] ?? 0
        pushed[place] = stream.written
        guard from < stream.written, from >= stream.wholeEnd, let table = try? stream.tailTable(from: from) else {
            return
        }
        let count = Int(min(UInt64(table.count), stream.written - from))
        guard count > 0 else { return }
        let bytes = SeriesBlock.bytes(of: table[0..<count])
        guard bytes.count <= room else { return }
        room -= bytes.count
        message.pieces.append(
            .init(id: stream.id, columns: from == 0 ? stream.columns : nil, first: from, bytes: bytes))
    }

    /// How many own samples have been written since they were last told.
    package var unpushedCount: UInt64 {
        streams.indices.reduce(0) { sum, place in
            let stream = streams[place]
            guard isOwn(stream.id), isNews(place), stream.written > stream.first else { return sum }
            return sum + stream.written - min(stream.written, pushed[place] ?? 0)
        }
    }

    /// What is to be asked for next, of one peer at a time and many series at once; nil while that is under way.
    /// - Parameter limit: bytes in a message.
    package mutating func nextRequest(limit: Int) -> SeriesMessage? {
        guard fetch == nil, !wanted.isEmpty else { return nil }
        // In turn, so that a peer that does not give what it promised keeps nobody waiting.
        let ids = wanted.keys.sorted()
        let start = ids.firstIndex { id in lastAsked.map { $0 < id } ?? true } ?? 0
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
            if message == nil { lastAsked = id }
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

    // MARK: - What is heard

    /// What a peer says.
    /// - Parameters:
    ///   - message: checked.
    ///   - isMember: it may tell of what others recorded.
    /// - Returns: what it asks for, to be read and sent.
    /// - Throws: `WireError` for samples that are none. What came before them is kept.
    package mutating func receive(
        _ message: SeriesMessage, from peerID: String, isMember: Bool
    ) throws -> SeriesServing? {
        guard heldBy[peerID] != nil || heldBy.count < Self.peersMax else { return nil }
        let hasBudget = self.hasBudget
        for holding in message.holdings { note(holding, from: peerID, isMember: isMember, hasBudget: hasBudget) }
        for piece in message.pieces { try take(piece, from: peerID, isMember: isMember, hasBudget: hasBudget) }
        return serving(message.requests, to: peerID)
    }

    private func serving(_ requests: [SeriesMessage.Request], to peerID: String) -> SeriesServing? {
        var room = Self.requestMax
        var serving = SeriesServing(receiver: peerID)
        for request in requests where room > 0 {
            guard let place = places[request.id] else { continue }
            let count = min(request.count, room)
            room -= count
            serving.parts.append(
                SeriesServing.Part(
                    stream: streams[place], samples: request.first..<request.first + count,
                    hasColumns: request.wantsColumns))
        }
        return serving.parts.isEmpty ? nil : serving
    }

    private mutating func note(
        _ holding: SeriesMessage.Holding, from peerID: String, isMember: Bool, hasBudget: Bool
    ) {
        let id = holding.id
        let place = places[id]
        if let place {
            let before = heldBy[peerID]?[place] ?? 0
            if id.peerID == peerID, before >= holding.next, streams[place].written >= holding.next {
                told[place] = nil
                isAskedAgain = true
            }
            heldBy[peerID, default: [:]][place] = holding.next
        }
        guard hasBudget, !isOwn(id), id.peerID == peerID || isMember, place != nil || hasRoom(for: id) else { return }
        let next = place.map { streams[$0].next } ?? 0
        guard holding.next > next, holding.next > holding.first else { return }
        guard holding.first % SeriesStream.blockSamples == 0 else { return }
        // What would come next here was given up by who records it: it will go on from there.
        if place != nil, holding.first > next, id.peerID != peerID { return }
        guard wanted[id].map({ $0.next < holding.next }) ?? (wanted.count < SeriesLimits.seriesMax) else { return }
        wanted[id] = Wanted(peerID: peerID, first: holding.first, next: holding.next)
    }

    /// Of others, in the store and on the way there.
    private var hasBudget: Bool {
        let foreign = streams.lazy.filter { $0.id.peerID != peerID }
        let (bytes, unwritten) = foreign.reduce((0, 0)) { ($0.0 + $1.byteCount, $0.1 + $1.unwritten.count) }
        return bytes < byteCountMax && unwritten < SeriesLimits.unwrittenMax
    }

    private func hasRoom(for id: SeriesID) -> Bool {
        streams.count - counts[peerID, default: 0] < Self.foreignMax
            && counts[id.peerID, default: 0] < Self.foreignMax / 2
    }

    private mutating func take(
        _ piece: SeriesMessage.Piece, from peerID: String, isMember: Bool, hasBudget: Bool
    ) throws {
        let id = piece.id
        guard !isOwn(id), id.peerID == peerID || isMember else { return }
        if fetch?.ends[id] != nil { fetch?.isHeard = true }
        wanted[id]?.vainCount = 0
        let known = places[id]
        guard let columns = known.map({ streams[$0].columns }) ?? piece.columns else { return }
        guard known != nil || hasRoom(for: id) && piece.first % SeriesStream.blockSamples == 0 else { return }
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
    /// Recorded by this session since it was made or opened: what it records goes there.
    public let isOwn: Bool
    /// Samples that are held.
    public let count: Int
    /// The number of held samples that are in the store.
    public let storedCount: Int
    /// The number of bytes that the stored samples take.
    public let byteCount: Int
    /// The number of samples that each peer says it holds, including samples dropped since.
    public let heldThrough: [String: Int]
    /// The number of samples recorded before the last one held here, that one included.
    public let end: Int
}
