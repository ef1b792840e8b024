import MeshEngine
import MeshIdentity

/// What a hostile peer says of views.
extension EngineForger {
    mutating func speakOfViews<State, Event, Reducer, Policy>(
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
        return SessionViewRecord(
            number: happens(3, of: 4) ? victim.view + 1 : number(near: victim.view), membership: membership)
    }
}
