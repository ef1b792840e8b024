public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshStorage
import MeshWire

// Layout of a session in a store (Docs/Guides/Storage.md, "What a session writes"):
//
// - head: everything of an engine that is neither base nor log, with the list of sources. A value.
// - base: the state at a confirmed position, and the sequence up to which it includes each source. A value.
// - log: one journal per source with its records above the base. A record's position is its sequence.
// - effects: a journal of confirmed events whose side effects haven't run.
//
// The compact codec encodes all of it. Each save is one atomic batch.

/// One session of one feature in a store. Turns the engine's changes into batches, and loads the engine's image.
///
/// ```swift
/// var archive = try SessionArchive<State, Event>(store: store, sessionID: id, featureID: "workout")
/// let image = try archive.load()                    // nil: this store has none, so take a new incarnation
/// …
/// if let persistence = directives.persist { try archive.save(persistence, of: engine) }
/// ```
///
/// An archive is a value, owned by the code that drives the engine.
public struct SessionArchive<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// The store that holds the session's journals and values. Its calls block: keep the archive off the main thread.
    public let store: any SessionStore
    /// The ID of the archived session.
    public let sessionID: UUID
    /// The feature that the session belongs to.
    public let featureID: String
    /// The prefix of all names that this archive uses in the store.
    let prefix: String
    /// The source of each journal; a journal's number is its index here.
    private var sources: [SessionSource] = []
    /// The journals' names, cached because they are needed with every event.
    private var journals: [String] = []
    /// All journals that the store may have; nil until the store's catalog was read.
    private var stored: Set<String>?
    /// The next position of each journal; 0 before its first entry.
    private var next: [UInt64] = []
    /// The due side effects, one entry each, so that adding or removing one costs the same no matter how many wait.
    private var effects: StoreJournal
    /// True if the head still contains due side effects, from an earlier layout.
    private var headHasEffects = false
    /// Own events that were already encoded for sending and go into the next batch, by sequence.
    private var encoded: [UInt64: [UInt8]] = [:]
    private var encodedSource: SessionSource?
    private let codec = CompactCodec()

    /// Creates the archive of one session of one feature. Reads nothing yet: call `load()`.
    ///
    /// - Throws: `StorageError.Code.oversized` if the feature ID is too long for the names in the store.
    public init(store: any SessionStore, sessionID: UUID, featureID: String) throws {
        self.store = store
        self.sessionID = sessionID
        self.featureID = featureID
        prefix = Self.prefix(featureID, sessionID)
        effects = StoreJournal(prefix + "effects")
        guard prefix.utf8.count + 40 <= StoreLimits.nameBytesMax else {
            throw StorageError(.oversized, "the feature ID has \(featureID.utf8.count) bytes; use a shorter one")
        }
    }

    private static func prefix(_ featureID: String, _ sessionID: UUID) -> String {
        "session/\(featureID)/\(sessionID.uuidString)/"
    }

    /// Returns the prefix of all names of a session's series in a store.
    package static func seriesPrefix(_ featureID: String, _ sessionID: UUID) -> String {
        prefix(featureID, sessionID) + "series/"
    }

    private var headKey: String { prefix + "head" }
    private var baseKey: String { prefix + "base" }
    private func journal(_ number: Int) -> String { "\(prefix)log/\(number)" }

    // MARK: - Saving

    /// Writes the changes, and returns when the store has them.
    /// - Throws: `StorageError`, or the error of a state or an event that can't be encoded.
    public mutating func save<Reducer, Policy>(
        _ persistence: SessionPersistence, of engine: SessionSyncEngine<State, Event, Reducer, Policy>
    ) throws {
        try store.commit(try batch(persistence, of: engine))
    }

    /// Returns the batch that `save` would commit. Commit each batch once, in the order of creation.
    public mutating func batch<Reducer, Policy>(
        _ persistence: SessionPersistence, of engine: SessionSyncEngine<State, Event, Reducer, Policy>
    ) throws -> StoreBatch {
        defer { encoded = [:] }
        var batch = StoreBatch()
        if persistence.replacesEverything {
            // If the archive wasn't loaded, it doesn't know all journals, so ask the store.
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
        // The base comes first: it may skip entries that were never written, before later ones are appended.
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

    /// Returns true if the head must be written: to announce the first effect, or to drop the effects it lists itself.
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
        // Fill sequences that the source skipped when it joined, because a journal has no holes.
        if next[number] > 0, next[number] < record.sequence {
            guard record.sequence - next[number] <= SessionMembership.skipMax else {
                throw StorageError(
                    .oversized, "\(record.source) skips \(record.sequence - next[number]) sequences")
            }
            for void in next[number]..<record.sequence { batch.append([], to: journals[number], at: void) }
        }
        batch.append(bytes, to: journals[number], at: record.sequence)
        next[number] = try position(after: record.sequence)
    }

    /// Keeps an own event's bytes, encoded with this archive's codec, until the next batch stores them.
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

    /// Adds the head. Uses the oldest layout that fits, so that earlier versions of the library can read it while no
    /// side effects are due and the membership hasn't changed.
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

    /// Returns the image as last saved; nil if the store has none.
    ///
    /// Complexity: O(stored bytes of this session).
    /// - Throws: `StorageError`: `damaged` if parts contradict each other, `unreadableState` if a state or an event
    ///   can't be decoded as the app's type, `newerSchema` if a newer version of the library wrote it, and the store's
    ///   own errors.
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
            throw damaged("a number is out of range", cause: error)
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
        guard effects.next <= StoreLimits.positionMax else {
            throw damaged("the positions of side effects are out of range")
        }
        try store.forEachEntry(of: effects.name) { entry in
            do {
                let stored = try entry.bytes.withUnsafeBytes { try codec.decode(direct: StoredEffect.self, from: $0) }
                guard max(stored.position, stored.sequence) <= SequenceBounds.highest else {
                    throw WireError(.missingField, "a stored effect without a valid position")
                }
                image.head.sideEffectsDue.append(try stored.effect(of: sources, codec))
            } catch let error as UnreadableValue {
                throw unreadable("the event of side effect \(entry.position)", error)
            } catch {
                throw damaged("side effect \(entry.position) can't be read", cause: error)
            }
        }
    }

    /// Adds the log, and derives the values that have changed since the head was written.
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
        // Only own stamps count: a peer's stamp may lie so far ahead that the clock doesn't follow it.
        let lastOwn = image.log.last { $0.source == image.head.source }?.stamp ?? .zero
        image.head.clock = max(image.head.clock, lastOwn)
    }

    /// Returns the last sequence held of a source.
    ///
    /// Sequences up to `done` need no entry in the journal: they are in the base, or precede the source's first event.
    /// A source that was seen before it joined may have left some entries there.
    /// - Throws: `damaged` unless the journal has every entry after that.
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
            throw damaged("events \(folded + 1) to \(last) of \(source) are incomplete")
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
                throw damaged("event \(entry.position) of \(source) can't be read", cause: error)
            }
        }
    }

    private func decode<Value: Decodable>(_ bytes: [UInt8], _ name: String) throws -> Value {
        do {
            return try codec.decode(Value.self, from: bytes)
        } catch {
            throw damaged("the \(name) can't be read", cause: error)
        }
    }

    private func decodeBase(_ bytes: [UInt8]) throws -> SessionBase<State> {
        do {
            return try codec.decode(SessionBase<State>.self, from: bytes)
        } catch {
            // Errors in the base's own fields mean damage: only the state is of the app's type.
            guard let error = UnreadableValue(State.self, error, below: ["reduced", "state"]) else {
                throw damaged("the base can't be read", cause: error)
            }
            throw unreadable("the state", error)
        }
    }

    private func unreadable(_ what: String, _ error: UnreadableValue) -> StorageError {
        StorageError(
            .unreadableState,
            "session \(sessionID) of '\(featureID)': \(what) can't be read as \(error.place); another version of the "
                + "app wrote it. Update the app, or make the type decode it: see Docs/Guides/Determinism.md",
            cause: error.cause)
    }

    private func damaged(_ what: String, cause: (any Error)? = nil) -> StorageError {
        StorageError(
            .damaged,
            "session \(sessionID) of '\(featureID)': \(what); keep a copy of the store and start with an empty "
                + "one: peers restore the session",
            cause: cause)
    }

    // MARK: - Ending

    /// Erases the session from the store. Keeps the ID of a session that has ended (`SessionTombstones`).
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

    /// Returns the sessions of a feature that a store holds.
    /// - Throws: `StorageError`.
    public static func sessionIDs(of featureID: String, in store: any SessionStore) throws -> [UUID] {
        let prefix = "session/\(featureID)/"
        return try store.catalog(prefix: prefix).keys.compactMap { key in
            guard key.hasSuffix("/head") else { return nil }
            return UUID(uuidString: String(key.dropFirst(prefix.count).dropLast("/head".count)))
        }
    }
}
