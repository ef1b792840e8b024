import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
import MeshTransport
import MeshWire
import Observation

/// The state behind all `SharedState`s of one ID on one connection.
///
/// On the main actor, a change updates the value and records what is left to do. One task then performs steps until
/// nothing is left. Changes made during a step are combined in the next one.
@MainActor @Observable
final class StateReplica<State: Codable & Sendable & Equatable> {
    var value: State { didSet { shownValues.publish(value) } }
    var conflicts: [SharedStateConflict] = []
    var pendingPeerIDs: [String] = []
    var isSynced = false
    /// True while the store has every change; true without a store. Observable.
    var isStored = true
    var errors = StateErrors() {
        didSet { if oldValue.first != nil || errors.first != nil { showErrors() } }
    }
    @ObservationIgnored let board = ProblemBoard()
    @ObservationIgnored let shownValues = Topic<State>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)
    /// Publishes true once the state has been compared with a peer.
    @ObservationIgnored let firstSync = Topic<Bool>(bufferLimit: 1, overflow: .dropOldest, replaysLatest: true)
    @ObservationIgnored private var hasSynced = false

    @ObservationIgnored let featureID: String
    @ObservationIgnored let connection: any SessionConnection
    @ObservationIgnored let coder: StateCoder<State>
    /// The incarnation that each message carries: new in each launch, and whenever this replica forgets what it had seen.
    @ObservationIgnored var incarnation = UInt32.random(in: 0 ... .max)

    @ObservationIgnored var register: StateRegister
    @ObservationIgnored var author: String
    /// The author of changes until every known peer has confirmed `author` (`confirmAuthor`); nil after that.
    @ObservationIgnored var provisional: String?
    @ObservationIgnored var peers: [String: StatePeer] = [:]
    @ObservationIgnored var turn: UInt64 = 0
    /// Forgotten peers. `isSynced` ignores them until they send a message.
    @ObservationIgnored var forgotten: Set<String> = []
    /// Known peers of the transport that don't take part.
    @ObservationIgnored var excludedPeers: Set<String> = []
    @ObservationIgnored var reachable: Set<String> = []
    /// Peers whose stamps far ahead were reported.
    @ObservationIgnored var reportedAhead: Set<String> = []
    /// Peers with a refused message that was reported.
    @ObservationIgnored var reportedRefusals: Set<String> = []
    /// Peers whose last message was refused because of its version or merge.
    @ObservationIgnored var refused: Set<String> = []
    @ObservationIgnored var suspects: [String: Suspect] = [:]
    /// Suspected peers that have answered since they last became reachable.
    @ObservationIgnored var cleared: Set<String> = []
    /// Changes made before the store was read.
    @ObservationIgnored var changesBeforeLoad: [String: Data?] = [:]
    @ObservationIgnored var unversionedValues: [State] = []
    /// The vector as last stored. After a crash, peers can rely on no more than that.
    @ObservationIgnored var stored = StateVector()
    /// The newest stamp of this author in the store at launch.
    @ObservationIgnored var ownAtStart = HybridTimestamp.zero
    /// True once the store was read, or can't be. Observable.
    var isLoaded: Bool
    @ObservationIgnored var isStoreUsable: Bool
    @ObservationIgnored var changeCount: UInt64 = 0
    @ObservationIgnored var storedCount: UInt64 = 0
    @ObservationIgnored var shouldTryStore = true
    /// The vector of the state that was last published for peers yet to appear.
    @ObservationIgnored var published: StateVector?
    @ObservationIgnored var hasFailedToPublish = false
    @ObservationIgnored var revision: UInt64 = 0
    @ObservationIgnored var isWorking = false
    /// True until the last urgent change was handed to the transport for every known peer.
    @ObservationIgnored var isUrgent = false
    /// The schedule for sending the state again to reachable peers that haven't confirmed it.
    @ObservationIgnored var retries = RetryPlan(from: .seconds(2), to: .seconds(300))
    @ObservationIgnored lazy var retryTimer = RetryTimer(connection.clock) { [weak self] in
        Task { @MainActor [weak self] in self?.retry() }
    }

    @ObservationIgnored private var streams: Streams?
    @ObservationIgnored private var route: EnvelopeRoute?
    @ObservationIgnored private let listeners = OwnedTasks()

    private struct Streams {
        let snapshots: AsyncStream<AnySessionSyncSnapshot>
        let requests: AsyncStream<SessionSnapshotRequest>
        let reachability: AsyncStream<SessionPeerReachability>
    }

    init(
        initialValue: State, connection: any SessionConnection, featureID: String, merge: SharedStateMerge<State>,
        encoder: JSONEncoder?, decoder: JSONDecoder?
    ) {
        value = initialValue
        self.connection = connection
        self.featureID = featureID
        coder = StateCoder(initialValue: initialValue, merge: merge, encoder: encoder, decoder: decoder)
        register = StateRegister(kind: merge.kind)
        author = StateVersion.author(
            peerID: connection.transport.localPeer.id, incarnation: .random(in: 0 ... .max))
        isLoaded = connection.store == nil
        isStoreUsable = connection.store != nil
        shownValues.publish(initialValue)
        do {
            try connection.claim(featureID, for: State.self)
        } catch {
            errors.refusal = error
            showErrors()
            return
        }
        let transport = connection.transport
        streams = Streams(
            snapshots: transport.receiveSnapshots(), requests: transport.receiveSnapshotRequests(),
            reachability: transport.reachabilityChanges())
        if isLoaded { begin() } else { work() }
    }

    /// - Throws: `idInUse`, `payloadTooLarge`, and the encoder's errors. Nothing has then changed.
    func update(_ newValue: State, _ urgency: SessionUrgency = .normal) throws {
        if let refusal = errors.refusal { throw refusal }
        guard newValue != value else { return }
        let (old, new) = ((try? coder.fields(of: value)) ?? [:], try coder.fields(of: newValue))
        let count = Set(register.slots.keys).union(new.keys).union(coder.initialFields.keys).count
        guard count <= StateLimits.fieldsMax else { throw StateLimits.tooManyFields(count) }
        let read = try coder.value(of: new)
        CodingLoss.report(from: newValue, to: read, in: "the shared state '\(featureID)'")
        guard !coder.differences(from: old, to: new).isEmpty else { return }
        if isLoaded {
            let change = coder.change(from: old, to: new, read: read, in: register)
            write(change.fields, keepsOthers: false)
            if let whole = change.whole { register.noteWhole(whole) }
            errors.reading = nil
        } else {
            changesBeforeLoad = coder.differences(from: coder.initialFields, to: new)
        }
        value = read
        if urgency == .wake { isUrgent = true }
        changed()
    }

    /// Makes the changes that were requested before the store was read.
    func writeChangesBeforeLoad() {
        var changes = changesBeforeLoad
        if register.kind != .custom, let stored = coder.reading(of: register).shown,
            let old = try? coder.fields(of: stored)
        {
            var new = old
            for (name, bytes) in changesBeforeLoad { new[name] = bytes }
            if let read = try? coder.value(of: new) {
                changes = coder.change(from: old, to: new, read: read, in: register).fields
            }
        }
        write(changes, keepsOthers: register.kind == .custom)
    }

    /// Makes changes as this peer.
    func write(_ changes: [String: Data?], keepsOthers: Bool) {
        guard !changes.isEmpty else { return }
        let version = StateVersion(stamp: connection.stamp(), author: provisional ?? author)
        write(changes, version, keepsOthers: keepsOthers)
    }

    private func write(_ changes: [String: Data?], _ version: StateVersion, keepsOthers: Bool) {
        guard !changes.isEmpty else { return }
        if register.kind == .fields, register.vector.stamps[version.author] == nil {
            // The first change carries all other fields with the oldest version, so that all peers have the same ones.
            for (name, bytes) in coder.initialFields where register.slots[name] == nil {
                register.set(bytes, name, StateVersion(stamp: .zero, author: version.author))
            }
        }
        for (name, bytes) in changes { register.set(bytes, name, version, keepsOthers: keepsOthers) }
    }

    /// Adopts values without versions. The last one is the most likely to be current.
    func adopt(unversioned values: [State]) {
        guard isLoaded else {
            unversionedValues = values
            return
        }
        guard register.isEmpty, errors.refusal == nil, values != [value] else { return }
        var shown = value
        for (place, value) in values.enumerated() {
            guard let (old, new) = try? (coder.fields(of: shown), coder.fields(of: value)),
                let read = try? coder.value(of: new)
            else { continue }
            let change = coder.change(from: old, to: new, read: read, in: register)
            shown = read
            let before = register.slots
            // Peers number these versions independently, so each value but the last gets an author of its own.
            let incarnation = UInt32.random(in: 0 ... .max)
            let another = StateVersion.author(peerID: connection.transport.localPeer.id, incarnation: incarnation)
            let isLast = place == values.count - 1
            let version = StateVersion(
                stamp: HybridTimestamp(rawValue: UInt64(place) + 1), author: isLast ? author : another)
            write(change.fields, version, keepsOthers: register.kind == .custom)
            if let whole = change.whole { register.noteWhole(whole) }
            for name in change.fields.keys.sorted() {
                guard let lost = before[name]?.last, let kept = register.slots[name]?.last, !lost.isDefault else {
                    continue
                }
                note([(name, kept: kept, lost: lost)])
            }
        }
        guard !register.isEmpty else { return }
        show()
        changed()
    }

    /// Begins to receive. Called once the store has been read, or at once if there is none.
    func begin() {
        openRoute()
        let (ours, scope) = (featureID, connection.sessionID)
        if let kept = connection.transport.latestPeerSnapshot(featureID: ours) { receive(kept) }
        for peer in connection.transport.knownPeers { scheduleExchange(with: peer.id) }
        guard let streams else { return }
        self.streams = nil
        listeners.hold([
            Task { [weak self] in
                for await snapshot in streams.snapshots {
                    let metadata = snapshot.metadata
                    let isOurs = metadata.featureID == ours && metadata.sessionID == scope
                    if isOurs { self?.receive(snapshot) } else { self?.receiveOtherState(snapshot) }
                }
            },
            Task { [weak self] in for await request in streams.requests { self?.receive(request) } },
            Task { [weak self] in for await change in streams.reachability { self?.receive(change) } },
        ])
        work()
    }

    /// Registers to receive envelopes. While a replica that is being released is still registered, this fails and is retried.
    func openRoute() {
        guard route == nil else { return }
        do {
            route = try connection.route(featureID: featureID) { [weak self] in await self?.receive($0) }
            errors.route = nil
        } catch {
            errors.route = error
        }
    }

    // MARK: - Showing

    func show() {
        guard isLoaded else { return }
        switch coder.reading(of: register) {
        case .nothing: break
        case .value(let newValue, let whole, let unread):
            if let whole { register.noteWhole(whole) }
            if !coder.areEquivalent(newValue, value) { value = newValue }
            errors.reading = unread
        case .fallback(let newValue, let error):
            register.needsFallback = true
            if let newValue, !coder.areEquivalent(newValue, value) { value = newValue }
            errors.reading = newValue == nil ? error : nil
        case .unreadable(let error): errors.reading = error
        }
    }

    func note(_ found: [(name: String, kept: StateEntry, lost: StateEntry)]) {
        let isWhole = register.kind != .fields
        let new = found.map {
            SharedStateConflict(field: isWhole ? nil : $0.name, kept: .init($0.kept), lost: .init($0.lost))
        }
        .filter { new in !conflicts.contains { $0.field == new.field && $0.lost == new.lost } }
        guard !new.isEmpty else { return }
        conflicts = (conflicts + new).suffix(StateLimits.conflictsMax)
        for conflict in found { keep(lost: conflict.lost, conflict.name, to: conflict.kept.version) }
    }

    /// Queues a lost change for the peers that don't know it. The next message to each contains it.
    private func keep(lost entry: StateEntry, _ name: String, to winner: StateVersion) {
        guard register.kind != .custom else { return }
        let lost = StatePeer.Lost(item: StateMessage.Item(name: name, entry: entry), winner: winner)
        for (id, peer) in peers where !peer.known.covers(entry.version) { peers[id]?.keep(lost) }
    }

    /// Schedules writing the register, and sending it to peers that lack something.
    func changed() {
        changeCount += 1
        shouldTryStore = true
        for (id, peer) in peers where peer.lacks(register) && !peer.isSent(register) { peers[id]?.isDue = true }
        showProgress()
        work()
    }

    func forget(_ peerID: String) {
        if peers[peerID]?.isEarlier == true { errors.withheld = nil }
        peers[peerID] = nil
        forgotten.insert(peerID)
        solveProblems(of: peerID)
        changed()
    }

    func exclude(_ peerID: String) {
        excludedPeers.insert(peerID)
        peers[peerID] = nil
        solveProblems(of: peerID)
        showProgress()
    }

    func showProgress() {
        showStored()
        let pending = Set(peers.filter { $0.value.lacks(register) }.keys).union(differingPeers).sorted()
        if pending != pendingPeerIDs { pendingPeerIDs = pending }
        let isSynced = pending.isEmpty && isLoaded && changesBeforeLoad.isEmpty && (register.isEmpty || !peers.isEmpty)
        if isSynced != self.isSynced { self.isSynced = isSynced }
        if !hasSynced, isLoaded, peers.values.contains(where: \.hasResponded) || isSynced && !register.isEmpty {
            hasSynced = true
            firstSync.publish(true)
        }
    }
}

extension StateReplica {
    func showStored() {
        let isStored = connection.store == nil || isLoaded && isStoreUsable && changeCount == storedCount
        if isStored != self.isStored { self.isStored = isStored }
    }
}

/// The errors that keep this state from being synced, by origin.
struct StateErrors {
    var refusal: ConnectionError?
    var incompatible: ConnectionError?
    /// Set while this device withholds the value from a peer, because the peer's version of SessionMesh can't read it.
    var withheld: ConnectionError?
    var sending: (any Error)?
    var reading: (any Error)?
    var storing: (any Error)?
    var route: ConnectionError?
    var context: (any Error)?

    var first: (any Error)? { refusal ?? incompatible ?? withheld ?? sending ?? context ?? reading ?? storing ?? route }
}
