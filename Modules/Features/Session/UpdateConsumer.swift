import MeshBase
import MeshEngine

/// The unread updates of one reader: at most one of each kind, and at most `limit` events and confirmations.
struct UnreadUpdates<State: Codable & Sendable, Event: Codable & Sendable> {
    typealias Update = SessionUpdate<State, Event>

    let limit: Int
    /// The newest reported state, read or not.
    private var state: State
    private var snapshot: (reason: SessionSnapshotReason, state: State, missed: Int)?
    private var events: [SessionAppliedEvent<Event>] = []
    private var isReordered = false
    private var confirmed: [SessionConfirmedEvent<Event>] = []

    init(_ state: State, limit: Int) {
        self.state = state
        self.limit = limit
        snapshot = (.first, state, 0)
    }

    var isEmpty: Bool { snapshot == nil && count == 0 }
    private var count: Int { events.count + confirmed.count }

    mutating func append(_ update: Update) {
        switch update {
        case .snapshot(let state, let reason, let missed):
            self.state = state
            replaceAll(reason, missing: missed)
        case .applied(let events, let state), .reordered(let events, let state):
            self.state = state
            guard count + events.count <= limit else { return replaceAll(.skipped, missing: events.count) }
            self.events += events
            if case .reordered = update { isReordered = true }
        case .confirmed(let events):
            guard count + events.count <= limit else { return replaceAll(.skipped, missing: events.count) }
            confirmed += events
        }
    }

    private mutating func replaceAll(_ reason: SessionSnapshotReason, missing: Int) {
        snapshot = (reason, state, (snapshot?.missed ?? 0) + count + missing)
        (events, confirmed, isReordered) = ([], [], false)
    }

    mutating func popFirst() -> Update? {
        if let first = snapshot.take() { return .snapshot(first.state, first.reason, missed: first.missed) }
        if !events.isEmpty {
            defer { (events, isReordered) = ([], false) }
            return isReordered ? .reordered(events, state) : .applied(events, state)
        }
        guard !confirmed.isEmpty else { return nil }
        defer { confirmed = [] }
        return .confirmed(confirmed)
    }
}

/// A reader of updates. Only its stream holds it, so it is released with the stream.
///
/// Safe to use from any thread.
final class UpdateConsumer<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    private struct Content: Sendable {
        var unread: UnreadUpdates<State, Event>?
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            defer { waiters = [] }
            return waiters
        }
    }

    private let content: Locked<Content>

    init(_ state: State, limit: Int) {
        content = Locked(Content(unread: UnreadUpdates(state, limit: limit)))
    }

    /// True if the reader has cancelled or the session has closed.
    var hasEnded: Bool { content.withLock { $0.hasEnded } }

    func append(_ updates: [SessionUpdate<State, Event>]) {
        change { content in
            guard !content.hasEnded else { return }
            for update in updates { content.unread?.append(update) }
        }
    }

    /// Ends the updates. Unread ones can still be read.
    func finish() { change { $0.hasEnded = true } }

    func cancel() {
        change { content in
            content.hasEnded = true
            content.unread = nil
        }
    }

    private func change(_ body: (inout Content) -> Void) {
        let waiters = content.withLock { content in
            body(&content)
            return content.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns the next update, when there is one; nil at the end.
    func next() async -> SessionUpdate<State, Event>? {
        while true {
            let (update, hasEnded) = content.withLock { ($0.unread?.popFirst(), $0.hasEnded) }
            if update != nil || hasEnded { return update }
            await withCheckedContinuation { waiter in
                let isDue = content.withLock { content in
                    guard !content.hasEnded, content.unread?.isEmpty == true else { return true }
                    content.waiters.append(waiter)
                    return false
                }
                if isDue { waiter.resume() }
            }
        }
    }
}

/// Weak references to all readers of a session's updates. The readers' streams end when this is released.
final class UpdateConsumers<State: Codable & Sendable, Event: Codable & Sendable> {
    private struct Reference {
        weak var consumer: UpdateConsumer<State, Event>?
    }

    private var references: [Reference] = []

    deinit { finish() }

    var isEmpty: Bool { references.isEmpty }

    func add(_ consumer: UpdateConsumer<State, Event>) {
        references.append(Reference(consumer: consumer))
    }

    func append(_ updates: [SessionUpdate<State, Event>]) {
        references.removeAll { $0.consumer?.hasEnded ?? true }
        for reference in references { reference.consumer?.append(updates) }
    }

    func finish() {
        for reference in references { reference.consumer?.finish() }
        references = []
    }
}
