public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshStorage
import MeshWire

/// One session of one feature in a store: what the engine asks to persist as batches, and the way back.
///
/// ```swift
/// var archive = try SessionArchive<State, Event>(store: store, sessionID: id, featureID: "workout")
/// let image = try archive.load()                    // nil: this store has none, so take a new incarnation
/// …
/// if let persistence = directives.persist { try archive.save(persistence, of: engine) }
/// ```
///
/// A journal for each source holds its records above the base, numbered by their sequences, and one more the side
/// effects that are due; the base and the head, which is everything else, are values. All bytes are `compact`. A value,
/// owned by the code that drives the engine.
public struct SessionArchive<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// The store that holds the session's journals and values. Its calls block: keep the archive off the main thread.
    public let store: any SessionStore
    /// The session that is kept.
    public let sessionID: UUID
    /// The feature that it belongs to.
    public let featureID: String
    /// What the names of everything that this archive stores begin with.
    let prefix: String
    /// The source of each journal; a journal's number is its place here.
    private var sources: [SessionSource] = []
    /// Their names, which are asked for with every event.
    private var journals: [String] = []
    /// Every journal that the store may have; nil until somebody has looked.
    private var stored: Set<String>?
    /// The position at which each goes on; 0 before its first entry.
    private var next: [UInt64] = []
    /// Side effects that are due, one entry for each, so that one costs the same however many wait.
    private var effects: StoreJournal
    /// Some are still in the head, where an earlier layout had them.
    private var headHasEffects = false
    /// Own events that were encoded for another purpose and go into the next batch, by sequence.
    private var encoded: [UInt64: [UInt8]] = [:]
    private var encodedSource: SessionSource?
    private let codec = CompactCodec()

    /// How many sequences a source may pass over: far more than it may have unconfirmed.
    private static var voidMax: UInt64 { 1 << 20 }

    /// Creates the archive of one session of one feature. Reads nothing yet: call `load()`.
    ///
    /// - Throws: `StorageError.Code.oversized` for a feature id of which no name can be made.
    public init(store: any SessionStore, sessionID: UUID, featureID: String) throws {
        self.store = store
        self.sessionID = sessionID
        self.featureID = featureID
        prefix = Self.prefix(featureID, sessionID)
        effects = StoreJournal(prefix + "effects")
        guard prefix.utf8.count + 40 <= StoreLimits.nameBytesMax else {
            throw StorageError(.oversized, "the feature id has \(featureID.utf8.count) bytes; use a shorter one")
        }
    }

    private static func prefix(_ featureID: String, _ sessionID: UUID) -> String {
        "session/\(featureID)/\(sessionID.uuidString)/"
    }

    /// Of everything that is stored of series.
    package static func seriesPrefix(_ featureID: String, _ sessionID: UUID) -> String {
        prefix(featureID, sessionID) + "series/"
    }

    private var headKey: String { prefix + "head" }
    private var baseKey: String { prefix + "base" }
    private func journal(_ number: Int) -> String { "\(prefix)log/\(number)" }

    // MARK: - Saving

    /// Writes what has changed, and returns when the store has it.
    /// - Throws: `StorageError`, or what a state or an event throws that cannot be encoded.
    public mutating func save<Reducer, Policy>(
        _ persistence: SessionPersistence, of engine: SessionSyncEngine<State, Event, Reducer, Policy>
    ) throws {
        try store.commit(try batch(persistence, of: engine))
    }

    /// Returns the batch that `save` would commit, for a caller that commits elsewhere. Batches have to be committed in
    /// the order in which they were made, each once.
    public mutating func batch<Reducer, Policy>(
        _ persistence: SessionPersistence, of engine: SessionSyncEngine<State, Event, Reducer, Policy>
    ) throws -> StoreBatch {
        defer { encoded = [:] }
        var batch = StoreBatch()
        if persistence.replacesEverything {
            // What an archive that was not loaded does not know of goes too.
            let stored = try (stored ?? Set(catalog().map(\.name))).union(journals)
            for name in stored { batch.erase(name) }
            self.stored = stored
            (sources, journals, next) = ([], [], [])
            try add(engine.baseImage, to: &batch)
            for record in engine.records.sorted(by: { $0.sequence < $1.sequence }) { try add(record, to: &batch) }
            try rewriteEffects(of: engine, in: &batch)
            try addHead(of: engine, to: &batch)
            return batch
        }
        // A base that passes over entries that were never written says so before the entries that follow.
        if persistence.movesBase { try add(engine.baseImage, to: &batch) }
        let known = sources.count
        for range in persistence.appended {
            for record in engine.records(in: range) { try add(record, to: &batch) }
        }
        let changesLayout = try addEffects(persistence, of: engine, to: &batch)
        if persistence.changesMembership || persistence.movesBase || sources.count > known || changesLayout {
            try addHead(of: engine, to: &batch)
        }
        return batch
    }

    /// - Returns: whether the head has to say that there are some, or that it has none itself any more.
    private mutating func addEffects<Reducer, Policy>(
        _ persistence: SessionPersistence, of engine: SessionSyncEngine<State, Event, Reducer, Policy>,
        to batch: inout StoreBatch
    ) throws -> Bool {
        if headHasEffects {
            try rewriteEffects(of: engine, in: &batch)
            return true
        }
        if persistence.sideEffectsMarked > 0 { effects.removeFirst(persistence.sideEffectsMarked, in: &batch) }
        let wasEmpty = effects.isEmpty
        try append(engine.sideEffectRecords(last: persistence.sideEffectsAdded), to: &batch)
        return wasEmpty && !effects.isEmpty
    }

    private mutating func rewriteEffects<Reducer, Policy>(
        of engine: SessionSyncEngine<State, Event, Reducer, Policy>, in batch: inout StoreBatch
    ) throws {
        effects.erase(in: &batch)
        headHasEffects = false
        try append(engine.sideEffectRecords(last: .max), to: &batch)
    }

    private mutating func append(_ due: [SessionConfirmedRecord<Event>], to batch: inout StoreBatch) throws {
        for effect in due {
            let stored = try StoredEffect(effect, source: number(of: effect.record.source), codec)
            effects.append(try codec.encode(direct: stored), in: &batch)
        }
    }

    private func catalog() throws -> [StoreCatalog.Journal] { try store.catalog(prefix: "\(prefix)log/").journals }

    private mutating func add(_ base: SessionBase<State>, to batch: inout StoreBatch) throws {
        batch.set(try codec.encode(base), for: baseKey)
        for folded in base.vector.entries where folded.sequence > 0 {
            let number = number(of: folded.source)
            let first = try position(after: folded.sequence)
            batch.truncate(journals[number], below: first)
            next[number] = max(next[number], first)
        }
    }

    private mutating func add(_ record: SessionRecord<Event>, to batch: inout StoreBatch) throws {
        let bytes = try codec.encode(direct: StoredRecord(record, codec, encoded: encodedEvent(record)))
        let number = number(of: record.source)
        // Sequences that a source passed over when it joined: a journal has no holes.
        if next[number] > 0, next[number] < record.sequence {
            guard record.sequence - next[number] <= Self.voidMax else {
                throw StorageError(
                    .oversized, "\(record.source) passes over \(record.sequence - next[number]) sequences")
            }
            for void in next[number]..<record.sequence { batch.append([], to: journals[number], at: void) }
        }
        batch.append(bytes, to: journals[number], at: record.sequence)
        next[number] = try position(after: record.sequence)
    }

    /// An own event as this archive would encode it, until the next batch.
    mutating func keep(_ bytes: [UInt8], of source: SessionSource, _ sequence: UInt64) {
        if encodedSource != source { encoded = [:] }
        encodedSource = source
        encoded[sequence] = bytes
    }

    private func encodedEvent(_ record: SessionRecord<Event>) -> [UInt8]? {
        encoded.isEmpty || record.source != encodedSource ? nil : encoded[record.sequence]
    }

    private func position(after sequence: UInt64) throws(StorageError) -> UInt64 {
        guard sequence < StoreLimits.positionMax else {
            throw StorageError(.oversized, "sequence \(sequence), the limit is \(StoreLimits.positionMax)")
        }
        return sequence + 1
    }

    /// While no side effects are due, and the group is as it was founded, earlier versions of the library can read it.
    private func addHead<Reducer, Policy>(
        of engine: SessionSyncEngine<State, Event, Reducer, Policy>, to batch: inout StoreBatch
    ) throws {
        let engineHead = engine.head(sideEffectsDue: [])
        let version = engineHead.view != nil ? StoredLayout.current : effects.isEmpty ? 1 : 2
        let head = StoredHead(version: version, head: engineHead, sources: sources)
        batch.set(try codec.encode(head), for: headKey)
        if engineHead.hasEnded {
            SessionTombstones.mark(sessionID, of: featureID, endedAt: engineHead.clock, in: &batch)
        }
    }

    private mutating func number(of source: SessionSource) -> Int {
        if let number = sources.firstIndex(of: source) { return number }
        journals.append(journal(sources.count))
        sources.append(source)
        next.append(0)
        return sources.count - 1
    }

    // MARK: - Loading

    /// The image as it was when it was last saved; nil when the store has none.
    ///
    /// Complexity: O(what is stored of this session).
    /// - Throws: `StorageError`: `damaged` for parts that do not fit together, `unreadableState` for a state or an event that the app's
    ///   types can't be made of, `newerSchema` for what a newer version of the library has written, and what the store
    ///   throws. Nothing has been changed then.
    public mutating func load() throws -> SessionEngineImage<State, Event>? {
        let catalog = try catalog()
        stored = Set(catalog.map(\.name))
        guard let headBytes = try store.value(for: headKey) else { return nil }
        let layout: StoredLayout = try decode(headBytes, "head")
        guard layout.version <= StoredLayout.current else {
            throw StorageError(
                .newerSchema,
                "session \(sessionID) has layout \(layout.version), this library reads \(StoredLayout.current); update the app"
            )
        }
        let stored: StoredHead<Event> = try decode(headBytes, "head")
        guard let baseBytes = try store.value(for: baseKey) else { throw damaged("the base is missing") }
        let base = try decodeBase(baseBytes)
        do {
            try stored.head.checkNumbers()
            try base.checkNumbers()
        } catch {
            throw damaged("its numbers are not an engine's", cause: error)
        }
        sources = stored.sources
        journals = sources.indices.map(journal)
        next = journals.map { _ in 0 }
        var image = SessionEngineImage(head: stored.head, base: base, log: [])
        try addLog(catalog, to: &image)
        try addEffects(to: &image)
        return image
    }

    private mutating func addEffects(to image: inout SessionEngineImage<State, Event>) throws {
        headHasEffects = !image.head.sideEffectsDue.isEmpty
        try effects.load(from: store)
        guard effects.next <= StoreLimits.positionMax else { throw damaged("side effects have impossible places") }
        try store.forEachEntry(of: effects.name) { entry in
            do {
                let stored = try entry.bytes.withUnsafeBytes { try codec.decode(direct: StoredEffect.self, from: $0) }
                guard max(stored.position, stored.sequence) <= SequenceBounds.highest else {
                    throw WireError(.missingField, "a stored effect without a place")
                }
                image.head.sideEffectsDue.append(try stored.effect(of: sources, codec))
            } catch let error as UnreadableValue {
                throw unreadable("the event of side effect \(entry.position)", error)
            } catch {
                throw damaged("side effect \(entry.position) cannot be read", cause: error)
            }
        }
    }

    /// The log, and what follows from it since the head was written.
    private mutating func addLog(
        _ catalog: [StoreCatalog.Journal], to image: inout SessionEngineImage<State, Event>
    ) throws {
        let positions = Dictionary(
            catalog.map { ($0.name, $0.positions) }, uniquingKeysWith: { first, _ in first })
        var held: [SourceSequence] = []
        for (number, source) in sources.enumerated() {
            let name = journals[number]
            let written = positions[name] ?? 0..<0
            next[number] = written.upperBound
            let last = try last(of: source, written, in: image)
            held.append(SourceSequence(source: source, sequence: last))
            if !written.isEmpty { try addRecords(of: source, in: name, to: &image.log) }
        }
        image.log.sort { ($0.stamp, $0.source, $0.sequence) < ($1.stamp, $1.source, $1.sequence) }
        image.head.held = SequenceVector(
            held + image.head.held.entries.filter { entry in !sources.contains(entry.source) })
        image.head.sequence = max(image.head.sequence, image.head.held[image.head.source])
        // A peer's stamp may lie further ahead than the clock follows.
        let lastOwn = image.log.last { $0.source == image.head.source }?.stamp ?? .zero
        image.head.clock = max(image.head.clock, lastOwn)
    }

    /// The last sequence held of a source.
    ///
    /// Up to `done` nothing has to be in the journal: it is in the base, or lies before the source's first sequence and
    /// stands for no event. A source that was seen before it joined has left a beginning there, which ends anywhere.
    /// - Throws: `damaged` unless the journal has everything between there and the end.
    private func last(
        of source: SessionSource, _ written: Range<UInt64>, in image: SessionEngineImage<State, Event>
    ) throws -> UInt64 {
        let folded = image.base.vector[source]
        let first = image.head.membership.first.first { $0.source == source }?.sequence ?? 1
        let done = max(folded, max(first, 1) - 1)
        let last = max(folded, max(written.upperBound, 1) - 1, image.head.held[source])
        let isWhole = last <= done || (written.lowerBound <= done + 1 && last < written.upperBound)
        guard isWhole, written.upperBound <= SequenceBounds.highest, written.isEmpty || written.lowerBound > folded
        else {
            throw damaged("events \(folded + 1) to \(last) of \(source) are not all there")
        }
        return last
    }

    private func addRecords(of source: SessionSource, in journal: String, to log: inout [SessionRecord<Event>]) throws {
        try store.forEachEntry(of: journal) { entry in
            guard !entry.bytes.isEmpty else { return }
            do {
                let stored = try entry.bytes.withUnsafeBytes {
                    try codec.decode(direct: StoredRecord.self, from: $0)
                }
                log.append(try stored.record(of: source, sequence: entry.position, codec))
            } catch let error as UnreadableValue {
                throw unreadable("event \(entry.position) of \(source)", error)
            } catch {
                throw damaged("event \(entry.position) of \(source) cannot be read", cause: error)
            }
        }
    }

    private func decode<Value: Decodable>(_ bytes: [UInt8], _ name: String) throws -> Value {
        do {
            return try codec.decode(Value.self, from: bytes)
        } catch {
            throw damaged("the \(name) cannot be read", cause: error)
        }
    }

    private func decodeBase(_ bytes: [UInt8]) throws -> SessionBase<State> {
        do {
            return try codec.decode(SessionBase<State>.self, from: bytes)
        } catch {
            // The base's own fields are the library's.
            guard let error = UnreadableValue(State.self, error, below: ["reduced", "state"]) else {
                throw damaged("the base cannot be read", cause: error)
            }
            throw unreadable("the state", error)
        }
    }

    private func unreadable(_ what: String, _ error: UnreadableValue) -> StorageError {
        StorageError(
            .unreadableState,
            "session \(sessionID) of '\(featureID)': \(what) can't be read as \(error.place); another version of the app has "
                + "written it. Update the app, or let the type read it: see Docs/Guides/Determinism.md",
            cause: error.cause)
    }

    private func damaged(_ what: String, cause: (any Error)? = nil) -> StorageError {
        StorageError(
            .damaged,
            "session \(sessionID) of '\(featureID)': \(what); keep a copy of the store and begin with a new one, the "
                + "peers bring the session back",
            cause: cause)
    }

    // MARK: - Ending

    /// Forgets the session: what it stored is gone when this returns, but for its id if it has ended (`SessionTombstones`).
    /// - Throws: `StorageError`.
    public mutating func erase() throws {
        var batch = StoreBatch()
        let catalog = try store.catalog(prefix: prefix)
        for key in catalog.keys { batch.removeValue(for: key) }
        for journal in catalog.journals { batch.erase(journal.name) }
        try store.commit(batch)
        (sources, journals, next) = ([], [], [])
        (effects, headHasEffects) = (StoreJournal(effects.name), false)
    }

    /// The sessions of a feature that a store holds.
    /// - Throws: `StorageError`.
    public static func sessionIDs(of featureID: String, in store: any SessionStore) throws -> [UUID] {
        let prefix = "session/\(featureID)/"
        return try store.catalog(prefix: prefix).keys.compactMap { key in
            guard key.hasSuffix("/head") else { return nil }
            return UUID(uuidString: String(key.dropFirst(prefix.count).dropLast("/head".count)))
        }
    }
}
