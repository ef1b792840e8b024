import Dispatch
import MeshBase
import MeshIdentity
import MeshStorage
import MeshTransport
import MeshWire

/// The persistent state of delivery: accepted messages that aren't acknowledged, received messages that subscribers
/// haven't finished, and each peer's progress.
///
/// One write serves all changes that came during the last one. An in-memory store is written at once, on the caller's
/// thread, so that virtual time stays on one thread.
final class DeliveryArchive: Sendable {
    private struct State: ~Copyable {
        /// Changes that aren't written yet, in order.
        var noted: [DeliveryChange] = []
        var notedCount: UInt64 = 0
        var writtenCount: UInt64 = 0
        var isWriting = false
        /// Sends that wait until a number of changes is written.
        var waiters: [(count: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
        /// The last failure, and the number of changes up to which it applies.
        var failure: (count: UInt64, error: StorageError)?
        var layout: ArchiveLayout
    }

    let store: any SessionStore
    private let isInline: Bool
    private let state: Locked<State>
    /// True after `end`. The lock is held during each write to the store.
    private let hasEnded = Locked(false)
    private let queue = DispatchQueue(label: "sessionmesh.delivery.store")

    /// - Throws: `StorageError`.
    init(_ store: any SessionStore, _ setup: LineSetup, outbox: UInt32) throws {
        self.store = store
        isInline = store.durability == .memory
        state = Locked(State(layout: try ArchiveLayout(store, setup, outbox: outbox)))
    }

    /// - Throws: `StorageError`.
    func restore(_ core: inout DeliveryCore, _ inbox: TransportInbox, _ now: DeliveryTime) throws {
        let arrivals = try state.withLock { try $0.layout.restore(&core, from: store, now) }
        for snapshot in arrivals.snapshots { inbox.deliver(snapshot) }
        inbox.deliver(arrivals.envelopes, isDurable: true)
    }

    /// True if subscribers may not have finished all received messages.
    var hasInbox: Bool { state.withLock { $0.layout.hasInbox } }

    /// Adds changes to the next `write`.
    func note(_ changes: [DeliveryChange]) {
        guard !changes.isEmpty else { return }
        state.withLock { state in
            state.noted += changes
            state.notedCount += UInt64(changes.count)
        }
    }

    /// Writes the noted changes, now or soon.
    /// - Parameter doneCount: returns the number of inbox elements that subscribers have finished.
    func write(
        doneCount: @escaping @Sendable () -> UInt64, done: @escaping @Sendable ([DeliveryChange], StorageError?) -> Void
    ) {
        // Only one write at a time, on any thread: positions in a journal are consecutive.
        let begins = state.withLock { state in
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard begins else { return }
        if isInline { writeAll(doneCount, done) } else { queue.async { self.writeAll(doneCount, done) } }
    }

    private func writeAll(_ doneCount: () -> UInt64, _ done: ([DeliveryChange], StorageError?) -> Void) {
        while true {
            let inboxDone = doneCount()
            let (changes, batch): ([DeliveryChange], StoreBatch) = state.withLock { state in
                let changes = state.noted
                state.noted = []
                let batch = state.layout.batch(of: changes, done: inboxDone)
                if batch.isEmpty { state.isWriting = false }
                return (changes, batch)
            }
            guard !batch.isEmpty else { return }
            do {
                try hasEnded.withLock { hasEnded in
                    if hasEnded { throw StorageError.closed }
                    try store.commit(batch)
                }
                finish(changes, nil, done)
            } catch {
                let error =
                    error as? StorageError ?? StorageError(.unavailable, "the store's write failed", cause: error)
                return finish(changes, error, done)
            }
        }
    }

    private func finish(
        _ changes: [DeliveryChange], _ error: StorageError?, _ done: ([DeliveryChange], StorageError?) -> Void
    ) {
        let (failed, waiters) = state.withLock { state in
            var failed = changes
            state.writtenCount += UInt64(changes.count)
            if let error {
                state.isWriting = false
                state.failure = (state.writtenCount + UInt64(state.noted.count), error)
                // Changes noted in the meantime have later numbers than the failed ones, so they fail too.
                failed += state.noted
                state.writtenCount += UInt64(state.noted.count)
                // Changes that no caller waits for are tried again.
                state.noted = failed.filter(\.isRepeatable)
                state.notedCount += UInt64(state.noted.count)
                // Only the failed batch has taken positions and names. Later changes were in no batch.
                state.layout.forget(changes)
            }
            let count = state.writtenCount
            defer { state.waiters.removeAll { $0.count <= count } }
            return (failed, state.waiters.filter { $0.count <= count })
        }
        done(failed, error)
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// Returns when the current write has finished. The store's owner closes the store.
    func finish() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    /// Ends writing, so that another transport may use the store. Waits for the current write; later ones fail.
    func end() { hasEnded.withLock { $0 = true } }

    /// Number of changes noted so far.
    var notedCount: UInt64 { state.withLock { $0.notedCount } }

    /// Returns when all noted changes are written, or a change noted after `count` was refused.
    /// - Throws: `StorageError` if a change noted after `count` wasn't written.
    func flush(since count: UInt64) async throws {
        await withCheckedContinuation { continuation in
            let isDone: Bool = state.withLock { state in
                // After a failure, repeatable changes wait for the next write. Don't wait for it here: it may never be
                // requested.
                let hasFailed = state.failure.map { $0.count > count } ?? false
                guard state.writtenCount < state.notedCount, !hasFailed else { return true }
                state.waiters.append((state.notedCount, continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
        if let failure = state.withLock({ $0.failure }), failure.count > count { throw failure.error }
    }
}

extension DeliveryChange {
    /// True if a failed change is written again as it is.
    fileprivate var isRepeatable: Bool {
        switch self {
        // The core reverts these, and may repeat them.
        case .accepted, .received, .pending: false
        case .truncated, .published, .newest, .met, .forgotten, .outboxForgotten: true
        }
    }
}
