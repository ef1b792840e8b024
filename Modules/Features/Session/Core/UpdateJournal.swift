import MeshEngine
import MeshIdentity

/// What a session's updates are to tell and the state does not show yet.
struct UpdateJournal<State: Codable & Sendable, Event: Codable & Sendable> {
    /// Somebody listens: else nothing is recorded.
    private(set) var isKept = false
    private var events: [SessionAppliedEvent<Event>] = []
    private var confirmed: [SessionConfirmedEvent<Event>] = []
    private var reason: SessionSnapshotReason?
    private var missedCount = 0
    /// Some events were not recorded: only the state tells of them.
    private var isIncomplete = false

    /// Events, and confirmations, that wait while a log is behind; beyond it the state alone is told.
    static var countMax: Int { 1024 }

    mutating func begin(isBehind: Bool) {
        guard !isKept else { return }
        (isKept, isIncomplete) = (true, isBehind)
    }

    mutating func end() { self = Self() }

    mutating func record(_ applied: [SessionAppliedEvent<Event>]) {
        guard isKept else { return }
        events += applied
        if events.count > Self.countMax { drop() }
    }

    mutating func record(_ confirmed: [SessionConfirmedEvent<Event>]) {
        guard isKept else { return }
        self.confirmed += confirmed
        if self.confirmed.count > Self.countMax { drop() }
    }

    /// The state is another one now.
    mutating func record(_ reason: SessionSnapshotReason) {
        if isKept { self.reason = reason }
    }

    private mutating func drop() {
        missedCount += events.count + confirmed.count
        (events, confirmed, isIncomplete) = ([], [], true)
    }

    /// At the end of a turn: at most one update with a state, and what was confirmed after it.
    ///
    /// - Parameters:
    ///   - state: as it is shown now.
    ///   - showsState: it may have changed.
    ///   - isBehind: it does not tell of all events that have come; of what is told here only own ones are in it.
    mutating func take(
        _ state: @autoclosure () -> State, showsState: Bool, isBehind: Bool, localPeerID: String
    ) -> [SessionUpdate<State, Event>] {
        guard isKept else { return [] }
        guard !isBehind || reason != nil else { return takeOwn(state, showsState, localPeerID) }
        var updates: [SessionUpdate<State, Event>] = []
        if let reason = reason ?? (isIncomplete ? .skipped : nil) {
            updates.append(.snapshot(state(), reason, missed: missedCount + events.count))
            (self.reason, isIncomplete, missedCount) = (nil, isBehind, 0)
        } else if !events.isEmpty {
            let isLate = events.contains { $0.replayedCount > 0 }
            updates.append(isLate ? .reordered(events, state()) : .applied(events, state()))
        } else if showsState {
            updates.append(.snapshot(state(), .renewed, missed: 0))
        }
        if !confirmed.isEmpty { updates.append(.confirmed(confirmed)) }
        (events, confirmed) = ([], [])
        return updates
    }

    /// What the user does meanwhile is shown on top of the state before.
    private mutating func takeOwn(
        _ state: () -> State, _ showsState: Bool, _ localPeerID: String
    ) -> [SessionUpdate<State, Event>] {
        let own = events.filter { $0.envelope.metadata.sourcePeerID == localPeerID }
        if !own.isEmpty {
            events.removeAll { $0.envelope.metadata.sourcePeerID == localPeerID }
            return [.applied(own, state())]
        }
        return showsState ? [.snapshot(state(), .renewed, missed: 0)] : []
    }
}
