import Foundation
import MeshEngine
import MeshIdentity

/// Confirmed events whose side effects have not run, in order. Bounded by `SessionEngineOptions.confirmedMax`, beyond
/// which the engine confirms nothing.
struct EffectQueue<Event: Codable & Sendable> {
    struct Item {
        var event: SessionConfirmedEvent<Event>
        /// nil once positions count from elsewhere.
        var position: UInt64?
    }

    /// A slice, because it gives up its beginning without moving the rest.
    private(set) var due: ArraySlice<Item> = []
    /// The newest ids that ran: an event that is confirmed again under another name has had its effect.
    private var done: Set<UUID> = []
    private var doneOrder: ArraySlice<UUID> = []

    static var doneMax: Int { 4096 }

    var next: Item? { due.first }

    mutating func append(_ event: SessionConfirmedEvent<Event>) {
        due.append(Item(event: event, position: event.position))
    }

    mutating func finishNext() -> Item? {
        guard let item = due.popFirst() else { return nil }
        let id = item.event.envelope.metadata.eventID
        if done.insert(id).inserted { doneOrder.append(id) }
        if doneOrder.count > Self.doneMax, let oldest = doneOrder.popFirst() { done.remove(oldest) }
        return item
    }

    func hasRun(_ item: Item) -> Bool { done.contains(item.event.envelope.metadata.eventID) }

    mutating func forgetPositions() {
        for index in due.indices { due[index].position = nil }
    }
}

/// Confirm, write, run, mark: by the time an effect runs, its event is in the store as confirmed.
extension SessionCore {
    /// What had not been marked when the process ended. It is in the store: that is where it comes from.
    mutating func queueEffectsDue() {
        guard configuration.onConfirmed != nil else { return }
        for event in engine.sideEffectsDue { effects.append(event) }
    }

    /// What waits is to run; what threw the last time is tried again.
    mutating func runEffects() {
        if effects.next != nil { directives.runsEffects = true }
    }

    /// The next event whose effect has not run. Those that ran under another name are marked on the way.
    mutating func nextEffect() -> SessionConfirmedEvent<Event>? {
        while let item = effects.next {
            guard effects.hasRun(item) else { return item.event }
            markEffect()
        }
        return nil
    }

    /// The effect of `nextEffect` has run.
    mutating func finishEffect() {
        statistics.effects += 1
        markEffect()
    }

    private mutating func markEffect() {
        guard let position = effects.finishNext()?.position else { return }
        engine.markSideEffects(through: position)
        wake()
    }
}
