import MeshBase
import MeshIdentity
import MeshStorage
import MeshWire

/// What has come for features that nobody has made yet, in the order in which it came.
///
/// The transport holds it as done, so it is in the store, if there is one, until a handler has returned from it: a journal
/// of frames (Docs/Internals/WireFormat.md) for each feature. What the store does not take or give waits in memory.
///
/// Bounds: 256 envelopes for a feature, of which the oldest goes, and 64 features and 16 MiB with names and `entryBytes`
/// each, beyond which nothing is taken up.
struct WaitingEnvelopes: ~Copyable, Sendable {
    static let envelopesMax = 256
    static let featuresMax = 64
    static let bytesMax = 16 << 20
    /// Bytes that an envelope takes in addition to its payload and names.
    static let entryBytes = 512
    static let root = "sessionmesh.connection/waiting/"

    struct Entry: Sendable {
        let envelope: AnySessionSyncEnvelope
        /// In the journal of its feature; nil when it is in memory only.
        let position: UInt64?
    }

    private let store: (any SessionStore)?
    private var encoder = FrameEncoder(codec: CompactCodec())
    private let codecs: [any PayloadCodec]
    private var features: [String: [Entry]] = [:]
    /// Of their payloads and names.
    private var bytes = 0
    /// Of features that have one.
    private var journals: [String: StoreJournal] = [:]
    private var isLoaded = false

    /// - Parameter codecs: read beside the library's own.
    init(_ store: (any SessionStore)?, _ codecs: [any PayloadCodec]) {
        self.store = store
        let own: [any PayloadCodec] = [CompactCodec(), JSONCodec()]
        self.codecs = own + codecs.filter { codec in !own.contains { $0.id == codec.id } }
    }

    /// - Returns: what has been dropped for want of room.
    mutating func keep(_ envelope: AnySessionSyncEnvelope) -> AnySessionSyncEnvelope? {
        load()
        let feature = envelope.metadata.featureID
        guard features[feature] != nil || features.count < Self.featuresMax else { return envelope }
        // One that a process before this one had kept is offered once more when that has ended too soon after it.
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

    /// What waits for a feature, which is to be forgotten one by one as it is dealt with.
    mutating func take(_ feature: String) -> [Entry] {
        load()
        let entries = features.removeValue(forKey: feature) ?? []
        bytes -= Self.size(of: entries)
        return entries
    }

    private static func size(of entries: [Entry]) -> Int {
        entries.reduce(0) { $0 + size(of: $1.envelope) }
    }

    private static func size(of envelope: AnySessionSyncEnvelope) -> Int {
        let metadata = envelope.metadata
        return entryBytes + (envelope.encodedByteCount ?? 0) + metadata.featureID.utf8.count
            + metadata.sourcePeerID.utf8.count + metadata.payloadType.utf8.count
    }

    /// A handler has returned from it, or there was no room for it.
    mutating func forget(_ entry: Entry) {
        let feature = entry.envelope.metadata.featureID
        guard let position = entry.position, let store, var journal = journals[feature] else { return }
        let isLast = journal.next == position + 1
        var batch = StoreBatch()
        if isLast { journal.erase(in: &batch) } else { journal.truncate(below: position + 1, in: &batch) }
        // It goes with the next one if it does not go now; at worst it is offered once more.
        guard (try? store.commit(batch)) != nil else { return }
        journals[feature] = isLast ? nil : journal
    }
}

// MARK: - The store

extension WaitingEnvelopes {
    /// - Returns: its position; nil when the store did not take it.
    private mutating func write(_ envelope: AnySessionSyncEnvelope) -> UInt64? {
        guard isLoaded, let store, let frame = try? encoder.encode(.envelope(envelope)) else { return nil }
        let feature = envelope.metadata.featureID
        return try? journals[feature, default: StoreJournal(Self.root + feature)].append(frame, to: store)
    }

    /// Once it succeeds, what processes before this one have left waits before what has come since.
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
