import MeshEngine
import MeshIdentity

/// Forged statements about views.
extension EngineForger {
    mutating func addViews<State, Event, Reducer, Policy>(
        in control: inout SessionControl, to victim: SessionSyncEngine<State, Event, Reducer, Policy>
    ) {
        guard happens(3, of: 4) else { return }
        var statement = ViewStatement(number: number(near: victim.view), isLeaving: happens(1, of: 8))
        if happens(1, of: 2) { statement.number = victim.view }
        if happens(2, of: 3) {
            var change = ViewChange(
                ballot: ballot(victim),
                frozen: SequencePromise(sequence: number(near: victim.held[liar]), stamp: stamp(near: victim.cut)))
            for _ in 0..<choices.below(3) { change.quarantined.append(source(victim)) }
            for _ in 0..<choices.below(3) { change.closing.append(source(victim)) }
            if happens(1, of: 2) {
                change.accepted = AcceptedView(
                    ballot: happens(1, of: 2) ? change.ballot : ballot(victim), record: record(victim))
            }
            statement.change = change
        }
        control.view = statement
        if happens(1, of: 2) { control.record = record(victim) }
        for _ in 0..<choices.below(3) {
            control.relays =
                (control.relays ?? [])
                + [SessionRange(source: source(victim), first: number(near: 1), last: number(near: .max))]
        }
    }

    private mutating func ballot<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>
    ) -> ViewBallot {
        ViewBallot(round: happens(1, of: 2) ? 1 : number(near: 1), proposer: source(victim))
    }

    private mutating func record<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>
    ) -> SessionViewRecord {
        var membership = victim.membership
        for _ in 0..<choices.below(3) where !membership.open.isEmpty {
            let gone = membership.open.remove(at: choices.below(membership.open.count))
            if happens(1, of: 2) {
                let final = number(near: victim.held[gone.source])
                membership.closed.append(SourceSequence(source: gone.source, sequence: final))
            }
        }
        for _ in 0..<choices.below(3) {
            membership.open.append(
                .init(source: source(victim), floor: stamp(near: victim.cut), joined: number(near: victim.view)))
        }
        if happens(1, of: 4) { membership.first += claims(victim, count: 1 + choices.below(2)) }
        if happens(1, of: 4) { deform(&membership, victim) }
        return SessionViewRecord(
            number: happens(3, of: 4) ? victim.view + 1 : viewNumber(near: victim.view), membership: membership)
    }

    /// Changes a membership into one that no member would write: with many peers that don't exist, a source that is
    /// both open and closed, or a source that is listed twice.
    private mutating func deform<State, Event, Reducer, Policy>(
        _ membership: inout SessionMembership, _ victim: SessionSyncEngine<State, Event, Reducer, Policy>
    ) {
        let known = membership.open.map(\.source)
        switch choices.below(4) {
        case 0:
            for index in 0..<(1 + choices.below(2 * SessionMembership.openMax)) {
                membership.open.append(.init(source: SessionSource(peerID: "unreal-\(index)", incarnation: 1)))
            }
        case 1 where !known.isEmpty:
            let named = known[choices.below(known.count)]
            membership.closed.append(SourceSequence(source: named, sequence: number(near: victim.held[named])))
        case 2 where !known.isEmpty:
            membership.open.append(.init(source: known[choices.below(known.count)]))
        default: membership.closed += membership.closed
        }
    }

    /// Returns a view number at or next to a limit: of all view numbers, or of a step between two views.
    private mutating func viewNumber(near known: UInt64) -> UInt64 {
        let step = SessionViewRecord.stepMax
        let ceilings = [known + step, known + step + 1, SessionViewRecord.numberMax, SessionViewRecord.numberMax + 1]
        return happens(1, of: 2) ? number(near: known) : ceilings[choices.below(ceilings.count)]
    }
}
