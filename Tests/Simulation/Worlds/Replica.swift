import MeshEngine
import MeshFoundation
import MeshIdentity
import MeshSession
import MeshStorage

/// A frame between two replicas. Indirect, because one frame is queued for several receivers.
indirect enum Frame<Feature: SimulatedFeature> {
    case event(SessionSyncEnvelope<Feature.Event>)
    /// An event as a version that can't decode it receives it.
    case unread(SessionSyncMetadata, bytes: [UInt8])
    case control(SessionSyncEnvelope<SessionControl>)
    case checkpoint(SessionCheckpoint<Feature.State, Feature.Event>, SessionSyncMetadata)
    case snapshot(SessionSyncSnapshot<Feature.State>)
    /// Events of other peers.
    case relay(SessionSyncEnvelope<SessionRelay<Feature.Event>>)
    /// A frame from a hostile peer. An engine may reject it.
    case lie(Frame)

    /// The claimed author; nil for frames that prove no author.
    var author: String? {
        switch self {
        case .event(let envelope): envelope.metadata.sourcePeerID
        case .unread(let metadata, _), .checkpoint(_, let metadata): metadata.sourcePeerID
        case .control(let envelope): envelope.metadata.sourcePeerID
        case .snapshot(let snapshot): snapshot.metadata.sourcePeerID
        case .relay(let envelope): envelope.metadata.sourcePeerID
        case .lie: nil
        }
    }

    /// True for events from an honest peer.
    var isEvent: Bool {
        switch self {
        case .event, .unread: true
        default: false
        }
    }
}

extension Frame: CustomStringConvertible {
    var description: String {
        switch self {
        case .event(let envelope): "event \(envelope.metadata.place.text)"
        case .unread(let metadata, _): "unreadable event \(metadata.place.text)"
        case .control(let envelope):
            "control of \(envelope.metadata.source): group \(envelope.payload.group.map { "\($0)" } ?? "none"), "
                + "members \(envelope.payload.members), holds \(envelope.payload.held.entries.map(\.text))"
                + (envelope.payload.view?.text ?? "")
        case .checkpoint(let checkpoint, let metadata):
            "copy of \(metadata.source) with \(checkpoint.base.count) + \(checkpoint.log.count) events"
        case .snapshot(let snapshot):
            "snapshot of \(snapshot.metadata.sourcePeerID) with \(snapshot.peerSequenceVector)"
        case .relay(let envelope):
            "relay of \(envelope.metadata.source) with \(envelope.payload.records.map { SourceSequence(source: $0.source, sequence: $0.sequence).text })"
        case .lie(let frame): "a lie: \(frame)"
        }
    }
}

extension SourceSequence {
    var text: String { "\(source):\(sequence)" }
}

extension ViewStatement {
    /// The statement as text; empty for the first view while no change is proposed.
    fileprivate var text: String {
        var parts = number > 0 ? ["view \(number)"] : []
        if isLeaving { parts.append("leaving") }
        if let change {
            parts.append("ballot \(change.ballot.round) of \(change.ballot.proposer)")
            if !change.quarantined.isEmpty { parts.append("quarantined \(change.quarantined)") }
            if let accepted = change.accepted {
                let open = accepted.record.membership.open.map(\.source)
                parts.append("accepted \(open) under \(accepted.ballot.round) of \(accepted.ballot.proposer)")
            }
        }
        return parts.map { ", " + $0 }.joined()
    }
}

/// One peer: its engine, and its store as last written.
final class Replica<Feature: SimulatedFeature> {
    typealias Engine = SessionSyncEngine<Feature.State, Feature.Event, Feature.Reducer, Feature.Policy>
    typealias Options = SessionEngineOptions<Feature.State, Feature.Event>

    let name: String
    var engine: Engine
    /// The engine's outline at the last call of `look`.
    private(set) var outline: EngineOutline
    /// The store after each of the latest commits, oldest first. Only a disk needs more than the last one: a power loss
    /// may return it to an earlier one.
    private var moments: [StoredMoment<Feature>] = []
    private var storedHeld: SequenceVector?
    /// The highest stamp applied since the store was created.
    private(set) var latestStamp = HybridTimestamp.zero
    /// True if the store was restored to an earlier moment and its engine still uses the same source. Until the engine
    /// notices and becomes another source, its earlier acknowledgements and promises are false.
    private(set) var isImpostor = false
    private(set) var sideEffects = SideEffects()
    /// The reason why the peer has its present source.
    private(set) var origin = Origin.first
    /// The number of times that its engine was restored or created.
    private(set) var launchCount = 0
    let options: Options
    /// nil if the store keeps an engine in memory.
    private var disk: SimulatedDisk?
    private var archive: SessionArchive<Feature.State, Feature.Event>?
    private var commitCount = 0

    /// The number of commits between two checks of the written store.
    private static var checkInterval: Int { 4 }
    /// The maximum number of commits that a power loss may undo.
    private static var unsyncedMax: Int { 6 }

    static var sessionID: UUID {
        UUID(uuid: (0x51, 0x4D, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))
    }

    init(
        _ source: SessionSource, members: [SessionSource], seed: UInt64, options: Options, stores: SimulatedStores
    ) throws {
        self.options = options
        name = source.peerID
        engine = Self.engine(source, members: members, seed: seed, options: options)
        outline = engine.outline
        if stores == .faulty { try useNewDisk() }
        try persist()
    }

    private static func engine(
        _ source: SessionSource, members: [SessionSource], seed: UInt64, options: Options
    ) -> Engine {
        Engine(
            sessionID: sessionID, featureID: Feature.id, localPeerID: source.peerID, payloadType: "event",
            snapshotPayloadType: "state", initialState: Feature.initialState, reducer: Feature.reducer,
            conflictPolicy: Feature.policy, incarnation: source.incarnation, seed: seed, members: members,
            options: options)
    }

    func updateOutline() { outline = engine.outline }

    func note(_ stamp: HybridTimestamp) { latestStamp = max(latestStamp, stamp) }

    /// Returns the length of the gapless prefix of that source's events in the store.
    func heldInStore(of source: SessionSource) -> UInt64 {
        let held = storedHeld ?? stored.held
        storedHeld = held
        return held[source]
    }

    // MARK: - Side effects

    func runSideEffects(_ positions: some Sequence<UInt64>) {
        for position in positions { sideEffects.run(position) }
    }

    /// Skips the side effects of events that were confirmed before this newcomer joined.
    func startSideEffects() { sideEffects.first = engine.confirmedCount }

    // MARK: - Store

    /// The newest stored moment. It keeps the whole engine and not the engine's image, because an image is needed only
    /// when a store is read.
    var storedMoment: StoredMoment<Feature> { moments[moments.count - 1] }
    var stored: Engine { moments[moments.count - 1].engine }
    var storedOutline: EngineOutline { moments[moments.count - 1].outline }

    /// Writes changes to the store.
    /// - Returns: False if the disk rejected the commit, or if the process ended during it.
    @discardableResult
    func persist(
        _ changes: SessionPersistence = .everything, _ fate: SimulatedDisk.Fate = .succeeds
    ) throws -> Bool {
        if let disk {
            disk.prepare(fate)
            do {
                try archive?.save(changes, of: engine)
            } catch  where fate != .succeeds {
                if fate.isWritten { noteStored() }
                return false
            }
            try checkStore()
        }
        noteStored()
        return true
    }

    /// Checks that the written store can be read back, at every fourth commit. A crash may follow any commit, not only
    /// those after which this seed crashes.
    private func checkStore() throws {
        commitCount += 1
        guard let disk, commitCount % Self.checkInterval == 0 else { return }
        var archive = try SessionArchive<Feature.State, Feature.Event>(
            store: disk, sessionID: Self.sessionID, featureID: Feature.id)
        guard try archive.load()?.head.held == engine.held else {
            throw StorageError(.damaged, "it is not what was written")
        }
    }

    private func noteStored() {
        if disk == nil || moments.count > Self.unsyncedMax { moments.removeFirst(min(1, moments.count)) }
        moments.append(moment)
        storedHeld = nil
        sideEffects.persist()
    }

    private var moment: StoredMoment<Feature> {
        StoredMoment(
            engine: engine, outline: outline, latestStamp: latestStamp, isImpostor: isImpostor,
            contents: disk?.contents)
    }

    /// Restarts from the written store.
    func relaunch(seed: UInt64) throws {
        let written = storedMoment
        engine = try Engine(
            restoring: try readStore(), reducer: Feature.reducer, conflictPolicy: Feature.policy, seed: seed,
            options: options)
        (latestStamp, isImpostor) = (written.latestStamp, written.isImpostor)
        sideEffects.relaunch()
        launchCount += 1
        updateOutline()
        let mayDiffer = written.outline.isProvisional || written.engine.isBehind
        guard engine.held == written.engine.held, mayDiffer || engine.state == written.engine.state else {
            throw StorageError(.damaged, "it is not what was written")
        }
        moments[moments.count - 1] = moment
        storedHeld = nil
    }

    private func readStore() throws -> SessionEngineImage<Feature.State, Feature.Event> {
        guard let disk else { return stored.image }
        var archive = try SessionArchive<Feature.State, Feature.Event>(
            store: disk, sessionID: Self.sessionID, featureID: Feature.id)
        guard let image = try archive.load() else { throw StorageError(.damaged, "there is no session in it") }
        self.archive = archive
        return image
    }

    private func useNewDisk() throws {
        let disk = SimulatedDisk()
        self.disk = disk
        archive = try SessionArchive(store: disk, sessionID: Self.sessionID, featureID: Feature.id)
    }

    func loseStore(incarnation: UInt32, seed: UInt64) throws {
        let source = SessionSource(peerID: name, incarnation: incarnation)
        latestStamp = .zero
        isImpostor = false
        engine = Self.engine(source, members: [], seed: seed, options: options)
        origin = .lostStore
        launchCount += 1
        sideEffects = SideEffects()
        updateOutline()
        if disk != nil { try useNewDisk() }
        try persist()
    }

    /// Continues the store as another source, because the present source can't be used any more.
    func reincarnate(incarnation: UInt32, seed: UInt64) throws {
        engine = try engine.reincarnated(as: incarnation, seed: seed)
        origin = .reincarnated
        launchCount += 1
        isImpostor = false
        updateOutline()
        try persist()
    }

    /// Restores the store of an earlier moment.
    func restore(_ earlier: StoredMoment<Feature>, seed: UInt64) throws {
        var earlier = earlier
        earlier.latestStamp = .zero
        earlier.isImpostor = true
        moments = [earlier]
        if let contents = earlier.contents { disk?.contents = contents }
        try relaunch(seed: seed)
    }

    /// Returns the store as it was `count` commits ago, or at the earliest moment that is kept; nil if no commit may be
    /// lost.
    func moment(before count: Int) -> StoredMoment<Feature>? {
        moments.count > 1 ? moments[max(0, moments.count - 1 - count)] : nil
    }
}

extension Replica {
    enum Origin {
        case first, lostStore, reincarnated
    }
}

/// The contents of a store at one moment.
struct StoredMoment<Feature: SimulatedFeature> {
    /// The engine at that moment.
    let engine: Replica<Feature>.Engine
    let outline: EngineOutline
    var latestStamp: HybridTimestamp
    var isImpostor: Bool
    /// The disk's contents, if there is a disk.
    let contents: StoreContents?
}

/// The side effects that a peer has run since its store was created.
struct SideEffects {
    /// The first position whose effect this peer must run.
    var first: UInt64 = 0
    private var storedFirst: UInt64 = 0
    private var hasRun: [Bool] = []

    mutating func run(_ position: UInt64) {
        while hasRun.count <= Int(clamping: position) { hasRun.append(false) }
        hasRun[Int(clamping: position)] = true
    }

    func misses(_ position: UInt64) -> Bool {
        position >= first && (position >= hasRun.count || !hasRun[Int(clamping: position)])
    }

    mutating func persist() { storedFirst = first }
    mutating func relaunch() { first = storedFirst }
}

extension SessionSyncEngine {
    /// True if this store holds the event of that name without a gap, and the event isn't void. Events that a source
    /// wrote before it joined may be void.
    func includes(_ name: SourceSequence) -> Bool {
        held[name.source] >= name.sequence && firstSequence(of: name.source) <= name.sequence
    }

    func firstSequence(of source: SessionSource) -> UInt64 {
        membership.first.first { $0.source == source }?.sequence ?? 1
    }
}
