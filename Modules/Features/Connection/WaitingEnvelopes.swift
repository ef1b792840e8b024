import MeshBase
import MeshIdentity
import MeshStorage
import MeshWire

/// Envelopes for features that don't exist yet, in order of arrival.
///
/// The transport considers these envelopes delivered, so it doesn't keep them. If there is a store, each feature's
/// envelopes are kept in a journal of frames (Docs/Internals/WireFormat.md) until a handler has returned. If the store
/// fails, they wait in memory.
///
/// At most 256 envelopes wait for a feature; then its oldest is dropped. All envelopes together belong to at most 64
/// features and take at most 16 MiB, including their names and `entryBytes` for each. Beyond that, new envelopes are
/// dropped.
struct WaitingEnvelopes: ~Copyable, Sendable {
    static let envelopesMax = 256
    static let featuresMax = 64
    static let bytesMax = 16 << 20
    /// Number of bytes that an envelope takes in addition to its payload and names.
    static let entryBytes = 512
    static let root = "sessionmesh.connection/waiting/"

    struct Entry: Sendable {
        let envelope: AnySessionSyncEnvelope
        /// The position in the feature's journal; nil if the envelope is only in memory.
        let position: UInt64?
    }

    private let store: (any SessionStore)?
    private var encoder = FrameEncoder(codec: CompactCodec())
    private let codecs: [any PayloadCodec]
    private var features: [String: [Entry]] = [:]
    /// Number of bytes of all entries.
    private var bytes = 0
    /// The journals of features that have one.
    private var journals: [String: StoreJournal] = [:]
    private var isLoaded = false

    /// - Parameter codecs: used in addition to the library's own.
    init(_ store: (any SessionStore)?, _ codecs: [any PayloadCodec]) {
        self.store = store
        let own: [any PayloadCodec] = [CompactCodec(), JSONCodec()]
        self.codecs = own + codecs.filter { codec in !own.contains { $0.id == codec.id } }
    }

    /// Keeps an envelope until its feature has a handler. Ignores a duplicate.
    /// - Returns: the dropped envelope, which may be this one; nil if none was dropped.
    mutating func keep(_ envelope: AnySessionSyncEnvelope) -> AnySessionSyncEnvelope? {
        load()
        let feature = envelope.metadata.featureID
        guard features[feature] != nil || features.count < Self.featuresMax else { return envelope }
        // After a crash, the transport may deliver an envelope again that was stored before.
        let id = envelope.metadata.eventID
        if features[feature]?.contains(where: { $0.envelope.metadata.eventID == id }) == true { return nil }
        let size = Self.size(of: envelope)
        guard bytes + size <= Self.bytesMax else { return envelope }
        bytes += size
        features[feature, default: []].append(Entry(envelope: envelope, position: write(envelope)))
        guard features[feature, default: []].count > Self.envelopesMax, let oldest = features[feature]?.removeFirst()
        else { return nil }
        bytes -= Self.size(of: oldest.envelope)
        forget(oldest)
        return oldest.envelope
    }

    /// Removes and returns a feature's envelopes. Call `forget` for each one once it is handled.
    mutating func take(_ feature: String) -> [Entry] {
        load()
        let entries = features.removeValue(forKey: feature) ?? []
        bytes -= Self.size(of: entries)
        return entries
    }

    /// Puts back envelopes that `take` returned and no handler has seen, in front of later ones. They were in memory all
    /// the time, so there is no bound to check.
    mutating func putBack(_ entries: [Entry], of feature: String) {
        guard !entries.isEmpty else { return }
        bytes += Self.size(of: entries)
        features[feature, default: []].insert(contentsOf: entries, at: 0)
    }

    private static func size(of entries: [Entry]) -> Int {
        entries.reduce(0) { $0 + size(of: $1.envelope) }
    }

    private static func size(of envelope: AnySessionSyncEnvelope) -> Int {
        let metadata = envelope.metadata
        return entryBytes + (envelope.encodedByteCount ?? 0) + metadata.featureID.utf8.count
            + metadata.sourcePeerID.utf8.count + metadata.payloadType.utf8.count
    }

    /// Removes an envelope from the store once it was handled or dropped.
    mutating func forget(_ entry: Entry) {
        let feature = entry.envelope.metadata.featureID
        guard let position = entry.position, let store, var journal = journals[feature] else { return }
        let isLast = journal.next == position + 1
        var batch = StoreBatch()
        if isLast { journal.erase(in: &batch) } else { journal.truncate(below: position + 1, in: &batch) }
        // If the commit fails, the next call also removes this envelope. At worst, a relaunch offers the envelope
        // again.
        guard (try? store.commit(batch)) != nil else { return }
        journals[feature] = isLast ? nil : journal
    }
}

// MARK: - The store

extension WaitingEnvelopes {
    /// - Returns: the position; nil if the store has failed.
    private mutating func write(_ envelope: AnySessionSyncEnvelope) -> UInt64? {
        guard isLoaded, let store, let frame = try? encoder.encode(.envelope(envelope)) else { return nil }
        let feature = envelope.metadata.featureID
        return try? journals[feature, default: StoreJournal(Self.root + feature)].append(frame, to: store)
    }

    /// Reads the envelopes of earlier processes and puts them before newer ones. After a failure, the next call tries again.
    private mutating func load() {
        guard !isLoaded, let store else { return }
        var found: [String: [Entry]] = [:]
        do {
            var decoder = FrameDecoder(codecs: try CodecTable(codecs))
            let catalog = try store.catalog(prefix: Self.root)
            for name in catalog.journals.map(\.name) {
                let feature = String(name.dropFirst(Self.root.count))
                var journal = StoreJournal(name)
                journal.load(catalog)
                try store.forEachEntry(of: journal.name) { entry in
                    guard case .envelope(let envelope)? = try? decoder.decodeFrame(entry.bytes)?.message else { return }
                    found[feature, default: []].append(Entry(envelope: envelope, position: entry.position))
                }
                journals[feature] = journal
            }
        } catch {
            return
        }
        isLoaded = true
        bytes += found.values.reduce(0) { $0 + Self.size(of: $1) }
        features.merge(found) { later, earlier in earlier + later }
    }
}
