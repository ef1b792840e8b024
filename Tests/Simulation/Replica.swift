import MeshEngine
import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What travels between two replicas. In a box, because one frame goes to several and waits in between.
indirect enum Frame<Feature: SimulatedFeature> {
    case event(SessionSyncEnvelope<Feature.Event>)
    /// An event as a version that does not know it receives it.
    case unread(SessionSyncMetadata, bytes: [UInt8])
    case control(SessionSyncEnvelope<SessionControl>)
    case checkpoint(SessionCheckpoint<Feature.State, Feature.Event>, SessionSyncMetadata)
    case snapshot(SessionSyncSnapshot<Feature.State>)
}

extension Frame: CustomStringConvertible {
    var description: String {
        switch self {
        case .event(let envelope): "event \(envelope.metadata.place.text)"
        case .unread(let metadata, _): "unreadable event \(metadata.place.text)"
        case .control(let envelope):
            "control of \(envelope.metadata.source): group \(envelope.payload.group.map { "\($0)" } ?? "none"), "
                + "members \(envelope.payload.members), holds \(envelope.payload.held.entries.map(\.text))"
        case .checkpoint(let checkpoint, let metadata):
            "copy of \(metadata.source) with \(checkpoint.base.count) + \(checkpoint.log.count) events"
        case .snapshot(let snapshot):
            "snapshot of \(snapshot.metadata.sourcePeerID) with \(snapshot.peerSequenceVector)"
        }
    }
}

extension SourceSequence {
    var text: String { "\(source):\(sequence)" }
}

/// One peer: its engine, and its store as it was when it was last written.
final class Replica<Feature: SimulatedFeature> {
    typealias Engine = SessionSyncEngine<Feature.State, Feature.Event, Feature.Reducer, Feature.Policy>
    typealias Options = SessionEngineOptions<Feature.State, Feature.Event>

    let name: String
    var engine: Engine
    /// Where the engine stood when `look` was called last.
    private(set) var outline: EngineOutline
    /// An engine as it was, of which only the image counts: it is made when somebody reads the store.
    private(set) var stored: Engine
    private(set) var storedOutline: EngineOutline
    private var storedHeld: SequenceVector?
    /// The highest stamp applied since the store was created, and what of it was written.
    private(set) var latestStamp = HybridTimestamp.zero
    private var storedStamp = HybridTimestamp.zero
    /// Whether the store was put back to an earlier moment and goes on under the same name: until its engine notices and
    /// takes another one, acknowledgements and promises of that name are not true.
    private(set) var isImpostor = false
    /// Of what went on as another source after a fork: the beginning of a group that it then founds.
    private(set) var formerGroup: SessionSource?
    private(set) var sideEffects = SideEffects()
    let options: Options

    static var sessionID: UUID {
        UUID(uuid: (0x51, 0x4D, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))
    }

    init(_ source: SessionSource, members: [SessionSource], seed: UInt64, options: Options) {
        self.options = options
        name = source.peerID
        engine = Self.engine(source, members: members, seed: seed, options: options)
        outline = engine.outline
        stored = engine
        storedOutline = outline
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

    func look() { outline = engine.outline }

    func note(_ stamp: HybridTimestamp) { latestStamp = max(latestStamp, stamp) }

    /// Of that source, without a gap, in the store.
    func heldInStore(of source: SessionSource) -> UInt64 {
        let held = storedHeld ?? stored.held
        storedHeld = held
        return held[source]
    }

    // MARK: - Side effects

    func runSideEffects(_ positions: some Sequence<UInt64>) {
        for position in positions { sideEffects.run(position) }
    }

    /// A newcomer does not run the effects of what was confirmed before.
    func startSideEffects() { sideEffects.first = engine.confirmedCount }

    // MARK: - Store

    func persist() {
        stored = engine
        storedOutline = outline
        storedHeld = nil
        storedStamp = latestStamp
        sideEffects.persist()
    }

    /// Back to what was written.
    func relaunch(seed: UInt64) throws {
        engine = try Engine(
            restoring: stored.image, reducer: Feature.reducer, conflictPolicy: Feature.policy, seed: seed,
            options: options)
        latestStamp = storedStamp
        sideEffects.relaunch()
        look()
        persist()
    }

    func loseStore(incarnation: UInt32, seed: UInt64) {
        let source = SessionSource(peerID: name, incarnation: incarnation)
        latestStamp = .zero
        isImpostor = false
        engine = Self.engine(source, members: [], seed: seed, options: options)
        sideEffects = SideEffects()
        look()
        persist()
    }

    /// The same store goes on as another source: somebody else has written in this one's name.
    func reincarnate(incarnation: UInt32, seed: UInt64) throws {
        formerGroup = outline.group ?? formerGroup
        engine = try engine.reincarnated(as: incarnation, seed: seed)
        isImpostor = false
        look()
        persist()
    }

    /// The store of an earlier moment is put back.
    func restore(_ earlier: Engine, seed: UInt64) throws {
        stored = earlier
        storedStamp = .zero
        isImpostor = true
        try relaunch(seed: seed)
    }
}

/// Which side effects a peer has run since its store was created.
struct SideEffects {
    /// The first position whose effect this peer has to run.
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
    /// Whether this store has the event of that name: densely held, and not void because its source joined later.
    func includes(_ name: SourceSequence) -> Bool {
        held[name.source] >= name.sequence && firstSequence(of: name.source) <= name.sequence
    }

    func firstSequence(of source: SessionSource) -> UInt64 {
        membership.first.first { $0.source == source }?.sequence ?? 1
    }
}
