import Foundation
import MeshEngine
import MeshIdentity

/// Confirmed events whose side effects haven't run, in order. Bounded by `SessionEngineOptions.confirmedMax`: beyond it
/// the engine confirms nothing.
struct EffectQueue<Event: Codable & Sendable> {
    /// A slice, because it drops its first elements without moving the rest.
    private(set) var due: ArraySlice<SessionConfirmedEvent<Event>> = []
    /// The newest event IDs whose effects ran, each with its history, so that an event confirmed again under another
    /// source doesn't run twice.
    private var done: [UUID: Int] = [:]
    private var doneOrder: ArraySlice<UUID> = []
    /// The number of the present history. It rises when the session adopts another one.
    private var history = 0

    static var doneMax: Int { 4096 }

    var next: SessionConfirmedEvent<Event>? { due.first }

    mutating func append(_ event: SessionConfirmedEvent<Event>) { due.append(event) }

    mutating func finishNext() -> SessionConfirmedEvent<Event>? {
        guard let event = due.popFirst() else { return nil }
        let id = event.envelope.metadata.eventID
        if done.updateValue(history, forKey: id) == nil { doneOrder.append(id) }
        if doneOrder.count > Self.doneMax, let oldest = doneOrder.popFirst() { done[oldest] = nil }
        return event
    }

    /// Returns true if the event's effect ran in an earlier history, or if it is a copy of an event whose effect ran. In
    /// one history, two other events with one ID are two events: a member that lies may give its own another one's ID.
    func hasRun(_ event: SessionConfirmedEvent<Event>) -> Bool {
        guard let last = done[event.envelope.metadata.eventID] else { return false }
        return last < history || event.outcome == .repeated
    }

    /// Notes that the confirmed events may be others from now on, and include earlier ones again.
    mutating func beginHistory() { history += 1 }
}

/// Side effects: confirm, write, run, mark. When an effect runs, the store already has its event as confirmed.
extension SessionCore {
    /// Queues stored effects that weren't marked as run when the process ended.
    mutating func queueEffectsDue() {
        guard configuration.onConfirmed != nil else { return }
        for event in engine.sideEffectsDue { effects.append(event) }
    }

    /// Runs waiting effects, and retries the one that threw.
    mutating func runEffects() {
        if effects.next != nil { directives.runsEffects = true }
    }

    /// Returns the next event whose effect hasn't run. Skips and marks events whose effect ran under another source.
    mutating func nextEffect() -> SessionConfirmedEvent<Event>? {
        while let event = effects.next {
            guard effects.hasRun(event) else { return event }
            markEffect()
        }
        return nil
    }

    /// Marks the effect that `nextEffect` returned as run.
    mutating func finishEffect() {
        statistics.effects += 1
        markEffect()
    }

    private mutating func markEffect() {
        guard let event = effects.finishNext() else { return }
        engine.markSideEffects(through: event.position)
        wake()
    }
}
