import MeshEngine
import MeshFoundation
import MeshIdentity

/// Something that must never happen.
struct Violation: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// A group, and where it went on twice, by the word of users on both sides, which of the two it is.
struct GroupLine: Hashable {
    let group: SessionSource
    var branch = 0
}

/// What an onlooker knows who sees every store at once: no engine has it, and checks are made against it.
struct Ghost<Feature: SimulatedFeature> {
    /// The place of an event in the final order of a group.
    struct Place {
        let envelope: SessionSyncEnvelope<Feature.Event>
        let outcome: SessionEventOutcome
    }

    /// For each event that was accepted for sending, all names under which it is known: its first, and one for each
    /// time that it was issued again.
    private(set) var accepted: [UUID: [SourceSequence]] = [:]
    /// Accepted in stores that are lost and nowhere else.
    private(set) var mayBeLost: Set<UUID> = []
    private(set) var mayFork = false
    /// By group: everything that any member has confirmed; nil where something stands that is not an event.
    private(set) var streams: [GroupLine: [Place?]] = [:]
    /// By source that took another's place in its store: where that stood, and so the beginning of a group that it founds.
    private(set) var formerLines: [SessionSource: GroupLine] = [:]
    /// By group: who was in it when.
    var views = ViewLedger()
    /// Written in stores that were lost, or by peers that left or stay away: it may be cut off where they were closed.
    private(set) var mayBeCut: Set<UUID> = []
    var lastNumber: UInt32 = 0

    mutating func accept(_ envelope: SessionSyncEnvelope<Feature.Event>) {
        accepted[envelope.metadata.eventID] = [envelope.metadata.place]
    }

    /// A store was restored: acknowledgements that others rely on are not true any more, and names mean two events each.
    /// From now on events may be lost or doubled, and what was final may be not; that all agree in the end is still
    /// demanded.
    mutating func expectForks() { mayFork = true }

    /// An event that was accepted before has been issued again by somebody who had it.
    mutating func noteName(_ metadata: SessionSyncMetadata) { noteName(metadata.place, of: metadata.explicitEventID) }

    /// - Parameter id: whoever issues again gives it; it follows from the rest otherwise.
    mutating func noteName(_ place: SourceSequence, of id: UUID?) {
        guard let id, let names = accepted[id], !names.contains(place) else { return }
        accepted[id]?.append(place)
    }

    /// A store goes on under another name.
    mutating func rename(_ source: SessionSource, to other: SessionSource, in line: GroupLine?) {
        formerLines[other] = line ?? formerLines[source]
    }

    /// A store is gone: what no other one has may be lost from now on.
    mutating func forgive(eventsNotIn survivors: [Replica<Feature>.Engine]) {
        for (id, names) in accepted where !mayBeLost.contains(id) {
            let survives = survivors.contains { store in names.contains { store.includes($0) } }
            if !survives { mayBeLost.insert(id) }
        }
    }

    /// Nobody issues again what the peer has written so far: those who go on decide up to where it counts.
    mutating func expectCuts(of peerID: String) {
        for (id, names) in accepted where names.contains(where: { $0.source.peerID == peerID }) { mayBeCut.insert(id) }
    }

    /// Of what the peer wrote, this much is in its base and in nobody's log.
    mutating func forgive(_ folded: SequenceVector, of peerID: String) {
        for (id, names) in accepted {
            let isFolded = names.contains { $0.source.peerID == peerID && $0.sequence <= folded[$0.source] }
            if isFolded { mayBeLost.insert(id) }
        }
    }

    // MARK: - Confirmed events

    /// A branch begins with what was confirmed before.
    mutating func begin(_ group: GroupLine, after former: GroupLine?, at position: UInt64) {
        guard streams[group] == nil, let former, former != group else { return }
        streams[group] = Array((streams[former] ?? []).prefix(Int(clamping: position)))
    }

    /// - Parameter former: the group that this one continues.
    /// - Throws: when members of a group confirm different events at one place.
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

    /// A store was restored. What only that peer had confirmed isn't final, because no other peer knew of it.
    mutating func forgetConfirmed(beyond count: UInt64, in group: GroupLine) {
        guard let stream = streams[group] else { return }
        streams[group] = Array(stream.prefix(Int(clamping: count)))
    }

    /// - Returns: nil when nobody has confirmed that much.
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

    // MARK: - What the end must look like

    struct Tally {
        var lostWithStores = 0
        /// Since a store was restored.
        var lostByForks: [SourceSequence] = []
        var doubledByForks: [SourceSequence] = []
    }

    /// Every accepted event is in the stream once, except those that were lost with their stores.
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

    /// What the reducer makes of the final order, from the beginning.
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
    /// Fills up what lies before the index.
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
