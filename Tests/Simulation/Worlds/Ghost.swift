import MeshEngine
import MeshFoundation
import MeshIdentity

/// A broken invariant.
struct Violation: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// A group, and the number of one of its branches. A group has several branches if users on both sides of a partition
/// have continued it independently.
struct GroupLine: Hashable {
    let group: SessionSource
    var branch = 0
}

/// The knowledge of an observer who sees every store at once. No engine has it; invariants are checked against it.
struct Ghost<Feature: SimulatedFeature> {
    /// An event's place in the final order of a group.
    struct Place {
        let envelope: SessionSyncEnvelope<Feature.Event>
        let outcome: SessionEventOutcome
    }

    /// All names of each event that its author has stored, by event ID: its first name, and one for each time that it
    /// was reissued.
    private(set) var accepted: [UUID: [SourceSequence]] = [:]
    /// Events that existed only in stores that are now lost.
    private(set) var mayBeLost: Set<UUID> = []
    /// True once a store was restored. Events may then be lost or doubled.
    private(set) var mayFork = false
    /// Everything that any member has confirmed, by group; nil at positions that hold no event.
    private(set) var streams: [GroupLine: [Place?]] = [:]
    /// For each source that replaced another in its store, the replaced source's group. A group that the new source
    /// founds continues that one.
    private(set) var formerLines: [SessionSource: GroupLine] = [:]
    /// The views of each group and their members.
    var views = ViewLedger()
    /// Events from lost stores, or from peers that left or stay away. A view that closes a source may cut them off.
    private(set) var mayBeCut: Set<UUID> = []
    var lastNumber: UInt32 = 0

    mutating func accept(_ envelope: SessionSyncEnvelope<Feature.Event>) {
        accepted[envelope.metadata.eventID] = [envelope.metadata.place]
    }

    /// Allows lost and doubled events, because a store was restored. Acknowledgements that others rely on are no longer
    /// true, and one name can mean two events. Even confirmed events may change, but all peers must still agree in the
    /// end.
    mutating func expectForks() { mayFork = true }

    /// Records that a peer reissued an accepted event under another name.
    mutating func noteName(_ metadata: SessionSyncMetadata) { noteName(metadata.place, of: metadata.explicitEventID) }

    /// - Parameter id: The explicit event ID that a reissued event carries. Other events have none.
    mutating func noteName(_ place: SourceSequence, of id: UUID?) {
        guard let id, let names = accepted[id], !names.contains(place) else { return }
        accepted[id]?.append(place)
    }

    /// Records that a store continues as another source.
    mutating func rename(_ source: SessionSource, to other: SessionSource, in line: GroupLine?) {
        formerLines[other] = line ?? formerLines[source]
    }

    /// Allows the loss of events that no surviving store has, because a store is gone.
    mutating func forgive(eventsNotIn survivors: [Replica<Feature>.Engine]) {
        for (id, names) in accepted where !mayBeLost.contains(id) {
            let survives = survivors.contains { store in names.contains { store.includes($0) } }
            if !survives { mayBeLost.insert(id) }
        }
    }

    /// Allows events of the peer to be cut off. No other peer reissues them, and a later view may close their source
    /// before them.
    mutating func expectCuts(of peerID: String) {
        for (id, names) in accepted where names.contains(where: { $0.source.peerID == peerID }) { mayBeCut.insert(id) }
    }

    /// Allows the loss of the peer's own events that it has folded, because its log no longer has them to reissue.
    mutating func forgive(_ folded: SequenceVector, of peerID: String) {
        for (id, names) in accepted {
            let isFolded = names.contains { $0.source.peerID == peerID && $0.sequence <= folded[$0.source] }
            if isFolded { mayBeLost.insert(id) }
        }
    }

    // MARK: - Confirmed events

    /// Starts a branch with the events that were confirmed before it.
    mutating func begin(_ group: GroupLine, after former: GroupLine?, at position: UInt64) {
        guard streams[group] == nil, let former, former != group else { return }
        streams[group] = Array((streams[former] ?? []).prefix(Int(clamping: position)))
    }

    /// - Parameter former: The group that this one continues.
    /// - Throws: If members of a group confirm different events at one position.
    mutating func confirm(
        _ confirmed: SessionConfirmedEvent<Feature.Event>, in group: GroupLine, after former: GroupLine?,
        by peer: String
    ) throws(Violation) {
        let position = Int(clamping: confirmed.position)
        begin(group, after: former, at: confirmed.position)
        if let known = place(position, in: group) {
            try compare(confirmed, known, by: peer)
        } else {
            streams[group, default: []].append(
                Place(envelope: confirmed.envelope, outcome: confirmed.outcome), at: position)
        }
    }

    /// Forgets events that only a restored peer had confirmed. They aren't final, because no other peer knew of them.
    mutating func forgetConfirmed(beyond count: UInt64, in group: GroupLine) {
        guard let stream = streams[group] else { return }
        streams[group] = Array(stream.prefix(Int(clamping: count)))
    }

    /// - Returns: nil if no peer has confirmed that many events.
    private func place(_ position: Int, in group: GroupLine) -> Place?? {
        guard let stream = streams[group], position < stream.count else { return nil }
        return .some(stream[position])
    }

    private func compare(
        _ confirmed: SessionConfirmedEvent<Feature.Event>, _ known: Place?, by peer: String
    ) throws(Violation) {
        let metadata = confirmed.envelope.metadata
        guard let known, known.envelope.metadata.hasPlace(of: metadata) else {
            let known = known?.envelope.metadata.place.text ?? "no event"
            throw Violation("\(peer) confirms \(metadata.place.text) at \(confirmed.position), where \(known) was")
        }
        guard known.outcome == confirmed.outcome else {
            throw Violation(
                "\(peer) confirms \(confirmed.outcome) at \(confirmed.position), which was \(known.outcome)")
        }
    }

    // MARK: - Expectations for the end

    struct Tally {
        var lostWithStores = 0
        /// Events that are missing, or in the order twice (`doubledByForks`), because a store was restored.
        var lostByForks: [SourceSequence] = []
        var doubledByForks: [SourceSequence] = []
    }

    /// Checks that every accepted event is in the stream once, except events lost with their stores.
    func checkExactlyOnce(_ group: GroupLine) throws(Violation) -> Tally {
        var tally = Tally()
        var seen: Set<UUID> = []
        for case let place? in streams[group] ?? [] where place.outcome != .repeated {
            let id = place.envelope.metadata.eventID
            guard accepted[id] != nil else {
                throw Violation("\(place.envelope.metadata.place.text) is in the final order and was never accepted")
            }
            if seen.insert(id).inserted { continue }
            guard mayFork else {
                throw Violation("\(place.envelope.metadata.place.text) is in the final order twice")
            }
            tally.doubledByForks.append(place.envelope.metadata.place)
        }
        for (id, names) in accepted.sorted(by: { $0.value[0].precedes($1.value[0]) }) where !seen.contains(id) {
            if mayBeLost.contains(id) || mayBeCut.contains(id) && views.haveCut(names, in: group) {
                tally.lostWithStores += 1
            } else if mayFork {
                tally.lostByForks.append(names[0])
            } else {
                throw Violation("\(names[0].text) was accepted and is lost")
            }
        }
        return tally
    }

    /// The state that the reducer computes from the final order, starting from the initial state.
    func expectedState(_ group: GroupLine) -> Feature.State {
        var state = Feature.initialState
        var last: SessionSyncMetadata?
        for case let place? in streams[group] ?? [] where place.outcome != .repeated {
            let metadata = place.envelope.metadata
            let context = SessionConflictContext(state: state, lastAppliedMetadata: last, metadata: metadata)
            guard Feature.policy.shouldApply(event: place.envelope.payload, context: context) else { continue }
            var next = state
            do {
                try Feature.reducer.reduce(
                    state: &next, event: place.envelope.payload, context: SessionEventContext(metadata: metadata))
            } catch {
                continue
            }
            state = next
            last = metadata
        }
        return state
    }
}

extension Array {
    /// Pads with nil up to the index, then appends the element.
    fileprivate mutating func append<Wrapped>(_ element: Wrapped, at index: Int) where Element == Wrapped? {
        while count < index { append(nil) }
        append(element)
    }
}

extension SessionSyncMetadata {
    var source: SessionSource { SessionSource(peerID: sourcePeerID, incarnation: incarnation) }
    var place: SourceSequence { SourceSequence(source: source, sequence: sequence) }

    func hasPlace(of other: SessionSyncMetadata) -> Bool { place == other.place && stamp == other.stamp }
}

extension SourceSequence {
    fileprivate func precedes(_ other: SourceSequence) -> Bool {
        source == other.source ? sequence < other.sequence : source < other.source
    }
}
