import Dispatch
import MeshBase
import MeshIdentity
import MeshStorage
import MeshTransport
import MeshWire

/// Where delivery outlives its process: what was accepted and not acknowledged, what arrived and was not passed on, and
/// how far each peer is.
///
/// One write serves everything that came while the last one was under way. A store that lives in memory is written at
/// once, on the caller's thread, so that virtual time stays on one thread.
final class DeliveryArchive: Sendable {
    private struct State: ~Copyable {
        /// Not written yet, in order.
        var noted: [DeliveryChange] = []
        var notedCount: UInt64 = 0
        var writtenCount: UInt64 = 0
        var isWriting = false
        /// Sends that wait for everything up to a count.
        var waiters: [(count: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
        /// The last failure, and up to which count it reached.
        var failure: (count: UInt64, error: StorageError)?
        var layout: ArchiveLayout
    }

    let store: any SessionStore
    private let isInline: Bool
    private let state: Locked<State>
    /// Held while the store is written; true once nobody writes any more.
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

    /// Something has arrived of which subscribers may not be done with.
    var hasInbox: Bool { state.withLock { $0.layout.hasInbox } }

    /// To be written with the next `write`.
    func note(_ changes: [DeliveryChange]) {
        guard !changes.isEmpty else { return }
        state.withLock { state in
            state.noted += changes
            state.notedCount += UInt64(changes.count)
        }
    }

    /// Writes what is noted, now or soon.
    /// - Parameter doneCount: how many elements of the inbox subscribers are done with.
    func write(
        doneCount: @escaping @Sendable () -> UInt64, done: @escaping @Sendable ([DeliveryChange], StorageError?) -> Void
    ) {
        // One writes at a time, wherever: a journal's positions follow one another.
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
                let error = error as? StorageError ?? StorageError(.unavailable, "the store threw", cause: error)
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
                // Numbers given since build upon those that were not written.
                failed += state.noted
                state.writtenCount += UInt64(state.noted.count)
                // What is no promise to anybody is tried again.
                state.noted = failed.filter(\.isRepeatable)
                state.notedCount += UInt64(state.noted.count)
                state.layout.forget(failed)
            }
            let count = state.writtenCount
            defer { state.waiters.removeAll { $0.count <= count } }
            return (failed, state.waiters.filter { $0.count <= count })
        }
        done(failed, error)
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// Returns when what was begun has been written. The store stays its owner's to close.
    func finish() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    /// From its return on nothing is written, so that another transport may have the store. Waits for the one write that
    /// may be under way; what comes after it fails.
    func end() { hasEnded.withLock { $0 = true } }

    /// So many changes have been noted.
    var notedCount: UInt64 { state.withLock { $0.notedCount } }

    /// Returns when everything that has been noted is written, or something that was noted after `count` was refused.
    /// - Throws: `StorageError` when something that was noted after `count` was not written.
    func flush(since count: UInt64) async throws {
        await withCheckedContinuation { continuation in
            let isDone: Bool = state.withLock { state in
                // After a failure some changes wait for the next write, and perhaps nothing asks for one.
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
    /// Nothing depends on its being written soon.
    fileprivate var isRepeatable: Bool {
        switch self {
        // What the core decides anew.
        case .accepted, .received, .pending: false
        case .settled, .published, .newest, .met, .forgotten, .outboxForgotten: true
        }
    }
}
