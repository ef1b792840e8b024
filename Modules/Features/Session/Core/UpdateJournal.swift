import MeshEngine
import MeshIdentity

/// The changes that a session hasn't reported as updates yet.
struct UpdateJournal<State: Codable & Sendable, Event: Codable & Sendable> {
    /// True while there are readers. Without any, nothing is recorded.
    private(set) var isKept = false
    private var events: [SessionAppliedEvent<Event>] = []
    private var confirmed: [SessionConfirmedEvent<Event>] = []
    private var reason: SessionSnapshotReason?
    private var missedCount = 0
    /// True if some events weren't recorded, so only the complete state can report them.
    private var isIncomplete = false

    /// Maximum number of events, and of confirmations, that wait while a log is behind. Beyond it they are dropped.
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

    /// Records that another state has replaced the present one.
    mutating func record(_ reason: SessionSnapshotReason) {
        if isKept { self.reason = reason }
    }

    private mutating func drop() {
        missedCount += events.count + confirmed.count
        (events, confirmed, isIncomplete) = ([], [], true)
    }

    /// Takes the updates of a turn: at most one with a state, and the confirmations after it.
    ///
    /// - Parameters:
    ///   - state: the state as shown now.
    ///   - showsState: true if the state may have changed.
    ///   - isBehind: true if the state lacks events that have arrived. Of the recorded events, it then
    ///     shows only own ones.
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

    /// Takes own events, which are shown on top of the earlier state while the log is behind.
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
