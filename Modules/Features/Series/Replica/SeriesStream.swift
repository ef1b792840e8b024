import MeshIdentity
import MeshStorage
import MeshWire

/// One series on this device. Complete blocks are in the store, and pieces of the last block are in memory and in the store.
/// Samples that aren't written yet are in memory.
struct SeriesStream: Sendable {
    let id: SeriesID
    let columns: [SeriesColumn]
    let names: SeriesNames
    /// The number of the first sample held, at the beginning of a block.
    private(set) var first: UInt64
    /// Pieces of the incomplete block, in order.
    private(set) var tail: [Piece] = []
    /// Number of samples in `tail`.
    private var tailCount = 0
    /// The journal that stores `tail`.
    private var tailJournal: StoreJournal
    /// Complete blocks, from `first` on.
    private(set) var spans: [Span] = []
    private var completeSummary: BlockSummary
    private var tailSummary: BlockSummary
    /// Complete blocks that are in a batch that hasn't been confirmed, by position in the journal. Their samples are part
    /// of `unwritten` too, except those that were stored as pieces.
    private(set) var unwrittenBlocks: [UInt64: [UInt8]] = [:]
    /// Samples not known to be in the store. The first `batchedCount` are in a batch that hasn't been confirmed.
    private(set) var unwritten: SampleTable
    private var batchedCount = 0
    private(set) var byteCount = 0
    private(set) var isStored: Bool

    struct Piece: Sendable {
        let first: UInt64
        let count: Int
        let bytes: [UInt8]
    }

    /// A complete block's size, and its earliest and latest time.
    struct Span: Hashable, Sendable {
        let earliest: Int64
        let latest: Int64
        let byteCount: Int
    }

    static var blockSamples: UInt64 { UInt64(SeriesLimits.blockSamples) }

    init(id: SeriesID, columns: [SeriesColumn], names: SeriesNames, first: UInt64) {
        self.id = id
        self.columns = columns
        self.names = names
        tailJournal = StoreJournal(names.tail, from: 0)
        self.first = first
        completeSummary = BlockSummary(columnCount: columns.count)
        tailSummary = completeSummary
        unwritten = SampleTable(columns: columns)
        isStored = false
    }

    var completeEnd: UInt64 { first + UInt64(spans.count) * Self.blockSamples }
    /// The number after the last sample that is stored or in a batch.
    var batchedEnd: UInt64 { completeEnd + UInt64(tailCount) }
    /// The number after the last stored sample.
    var written: UInt64 { batchedEnd - UInt64(batchedCount) }
    /// The number of the next sample.
    var next: UInt64 { batchedEnd + UInt64(unwritten.count - batchedCount) }
    var hasUnbatchedSamples: Bool { unwritten.count > batchedCount }
    /// The latest time of a sample that is stored or in a batch; `Int64.min` if there is none.
    var latest: Int64 { max(completeSummary.latest, tailSummary.latest) }
    /// Number of samples held.
    var count: UInt64 { next - first }

    var summary: SeriesSummary {
        // Adds block by block, as for stored blocks, because the order of additions decides the last bit of a sum.
        var (all, last) = (completeSummary, tailSummary)
        var start = batchedCount
        var lacking = SeriesLimits.blockSamples - tailCount
        while start < unwritten.count {
            let end = min(start + lacking, unwritten.count)
            last.add(unwritten[start..<end])
            if end == start + lacking {
                all.add(last)
                last = BlockSummary(columnCount: columns.count)
            }
            (start, lacking) = (end, SeriesLimits.blockSamples)
        }
        all.add(last)
        return all.named(columns)
    }

    // MARK: - Adding samples

    mutating func append(_ row: SampleRow, at time: Int64) { unwritten.append(row, at: time) }

    mutating func append(_ table: SampleTable) { unwritten.append(contentsOf: table) }

    // MARK: - Storing

    /// Adds samples that are in no batch yet: pieces, and a block whenever one is complete.
    /// - Parameter capacity: maximum number of samples to add. Reduced by the number added.
    mutating func addSamples(to batch: inout StoreBatch, capacity: inout Int) throws {
        if !isStored {
            batch.set(try CompactCodec().encode(StoredSeries(id: id, columns: columns)), for: names.head)
            isStored = true
        }
        while hasUnbatchedSamples, capacity > 0 {
            let lacking = SeriesLimits.blockSamples - tailCount
            let table = unwritten[batchedCount..<batchedCount + min(lacking, capacity, unwritten.count - batchedCount)]
            batchedCount += table.count
            capacity -= table.count
            if tail.isEmpty, table.count == SeriesLimits.blockSamples {
                try close(table, into: &batch)
            } else if table.count == lacking {
                var block = try tailTable(from: completeEnd)
                block.append(contentsOf: table)
                try close(block, into: &batch)
            } else {
                try addPiece(table, into: &batch)
            }
        }
    }

    /// Adds a piece. Merges pieces once there are `piecesMax`, because samples stored one by one take as many bytes as events.
    private mutating func addPiece(_ table: SampleTable, into batch: inout StoreBatch) throws {
        tailSummary.add(table)
        var (first, whole) = (batchedEnd, table)
        if tail.count >= Self.piecesMax {
            (first, whole) = (completeEnd, try tailTable(from: completeEnd))
            whole.append(contentsOf: table)
            tailJournal.removeAll(in: &batch)
            clearTail()
        }
        let piece = Piece(first: first, count: whole.count, bytes: SeriesBlock.bytes(of: whole))
        tailJournal.append(StoredPiece(first: first, block: piece.bytes).bytes, in: &batch)
        add(piece)
    }

    private static var piecesMax: Int { 32 }

    private mutating func close(_ table: SampleTable, into batch: inout StoreBatch) throws {
        let position = completeEnd / Self.blockSamples
        let bytes = SeriesBlock.bytes(of: table)
        let summary = BlockSummary(table)
        batch.append(bytes, to: names.blocks, at: position)
        unwrittenBlocks[position] = bytes
        let span = StoredSpan(byteCount: bytes.count, summary: summary)
        batch.append(try CompactCodec().encode(span), to: names.spans, at: position)
        if !tail.isEmpty { tailJournal.removeAll(in: &batch) }
        clearTail()
        byteCount += bytes.count
        tailSummary = BlockSummary(columnCount: columns.count)
        add(span)
    }

    private mutating func add(_ piece: Piece) {
        tail.append(piece)
        tailCount += piece.count
        byteCount += piece.bytes.count
    }

    private mutating func clearTail() {
        byteCount -= tail.reduce(0) { $0 + $1.bytes.count }
        (tail, tailCount) = ([], 0)
    }

    private mutating func add(_ span: StoredSpan) {
        spans.append(Span(earliest: span.summary.earliest, latest: span.summary.latest, byteCount: span.byteCount))
        completeSummary.add(span.summary)
    }

    /// Notes that the store has committed the batch.
    mutating func batchCommitted() {
        unwritten.removeFirst(batchedCount)
        batchedCount = 0
        unwrittenBlocks = [:]
    }

    /// Drops complete blocks at the beginning.
    mutating func dropBlocks(before sample: UInt64, in batch: inout StoreBatch) {
        let count = Int(clamping: (min(sample, completeEnd) - min(first, sample)) / Self.blockSamples)
        guard count > 0 else { return }
        byteCount -= spans.prefix(count).reduce(0) { $0 + $1.byteCount }
        spans.removeFirst(count)
        first += UInt64(count) * Self.blockSamples
        unwrittenBlocks = unwrittenBlocks.filter { $0.key >= first / Self.blockSamples }
        batch.truncate(names.blocks, below: first / Self.blockSamples)
        batch.truncate(names.spans, below: first / Self.blockSamples)
    }

    /// Removes the whole series from the store. The caller must then drop this value.
    ///
    /// - Precondition: All samples are in the store.
    func remove(in batch: inout StoreBatch) {
        for journal in [names.blocks, names.spans, names.tail] { batch.erase(journal) }
        batch.removeValue(for: names.head)
    }

    /// Keeps only the block with the first sample not known to be stored, and everything after it.
    mutating func switchToEmptyStore() {
        let start = max(first, written / Self.blockSamples * Self.blockSamples)
        let count = min(spans.count, Int((start - first) / Self.blockSamples))
        byteCount -= spans.prefix(count).reduce(0) { $0 + $1.byteCount }
        spans.removeFirst(count)
        first = start
    }

    /// Drops all samples and continues at another sample number.
    mutating func restart(at sample: UInt64, in batch: inout StoreBatch) {
        for journal in [names.blocks, names.spans] { batch.erase(journal) }
        tailJournal.erase(in: &batch)
        let before = self
        self = SeriesStream(id: before.id, columns: before.columns, names: before.names, first: sample)
        // The journal continues its positions: they show whether a batch was committed (`StoreBatch.removingCommitted`).
        (isStored, tailJournal) = (before.isStored, before.tailJournal)
    }

    // MARK: - Reading

    /// Returns the samples in `tail`, from the given one on.
    func tailTable(from sample: UInt64) throws(WireError) -> SampleTable {
        var all = SampleTable(columns: columns)
        for piece in tail where piece.first + UInt64(piece.count) > sample {
            let table = try SeriesBlock.table(from: piece.bytes, columns: columns)
            all.append(contentsOf: table[Int(max(piece.first, sample) - piece.first)..<table.count])
        }
        return all
    }

    /// Returns the journal positions of complete blocks that may have samples in a time span.
    func blocks(in times: ClosedRange<Int64>) -> [UInt64] {
        spans.indices.filter { spans[$0].earliest <= times.upperBound && spans[$0].latest >= times.lowerBound }
            .map { first / Self.blockSamples + UInt64($0) }
    }

    /// Returns the samples in memory: those of the incomplete block, and those that are in no batch yet.
    func inMemoryTable() throws(WireError) -> SampleTable {
        var all = try tailTable(from: completeEnd)
        all.append(contentsOf: unwritten[batchedCount..<unwritten.count])
        return all
    }

    /// Loads a series from its journals.
    /// - Throws: `StorageError`, `WireError`.
    static func load(_ stored: StoredSeries, _ names: SeriesNames, from store: any SessionStore) throws -> SeriesStream
    {
        let catalog = try store.catalog(prefix: names.head + "/")
        func positions(_ journal: String) -> Range<UInt64> {
            catalog.journals.first { $0.name == journal }?.positions ?? 0..<0
        }
        let blocks = positions(names.blocks)
        guard positions(names.spans) == blocks, blocks.upperBound <= SeriesMessage.highest / blockSamples else {
            throw WireError(.corrupted, "blocks \(blocks) and spans \(positions(names.spans))")
        }
        var stream = SeriesStream(
            id: stored.id, columns: try stored.columns.checked(), names: names,
            first: blocks.lowerBound * blockSamples)
        stream.isStored = true
        try store.forEachEntry(of: names.spans) { entry in
            let span = try CompactCodec().decode(StoredSpan.self, from: entry.bytes)
            guard span.isWellFormed(columnCount: stream.columns.count) else {
                throw WireError(.corrupted, "span \(entry.position)")
            }
            stream.add(span)
        }
        stream.byteCount = stream.spans.reduce(0) { $0 + $1.byteCount }
        stream.tailJournal.load(catalog)
        try store.forEachEntry(of: names.tail) { entry in
            let piece = try StoredPiece(bytes: entry.bytes)
            let samples = try SeriesBlock.table(from: piece.block, columns: stored.columns)
            if stream.tail.isEmpty, stream.spans.isEmpty { stream.first = piece.first }
            guard piece.first == stream.batchedEnd, stream.first % blockSamples == 0,
                stream.tailCount + samples.count < SeriesLimits.blockSamples
            else { throw WireError(.corrupted, "a piece from \(piece.first) on") }
            stream.add(Piece(first: piece.first, count: samples.count, bytes: piece.block))
            stream.tailSummary.add(samples)
        }
        try SeriesMessage.check(end: stream.next)
        return stream
    }
}
