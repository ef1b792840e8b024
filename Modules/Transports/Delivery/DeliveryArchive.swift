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
        var waiters: [(count: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        /// The last failure, and the number of changes up to which it applies.
        var failure: (count: UInt64, error: StorageError)?
        var layout: ArchiveLayout

        /// Ends a write that failed. Changes noted in the meantime have later numbers, so they fail too.
        /// - Returns: all changes that failed. Those that no caller waits for are tried again with the next write.
        mutating func fail(_ written: [DeliveryChange], _ error: StorageError) -> [DeliveryChange] {
            let failed = written + noted
            isWriting = false
            layout.revert()
            noted = failed.filter(\.isRepeatable)
            failure = (notedCount, error)
            notedCount += UInt64(noted.count)
            return failed
        }

        /// Counts changes that were written or have failed.
        /// - Returns: the sends that waited for them.
        mutating func advance(by count: Int) -> [CheckedContinuation<Void, any Error>] {
            writtenCount += UInt64(count)
            let done = waiters.filter { $0.count <= writtenCount }.map(\.continuation)
            waiters.removeAll { $0.count <= writtenCount }
            return done
        }
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
        inbox.restore(arrivals.envelopes)
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
    /// - Parameters:
    ///   - doneCount: returns the number of inbox elements that subscribers have finished.
    ///   - conclude: called after each write. It calls its argument once, in a turn of the core, which continues with
    ///     the result or reverts it. No other change may come in between: a change noted after a failed one fails too.
    func write(
        doneCount: @escaping @Sendable () -> UInt64, conclude: @escaping @Sendable (_ take: () -> Outcome) -> Void
    ) {
        // Only one write at a time, on any thread: positions in a journal are consecutive.
        let begins = state.withLock { state in
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard begins else { return }
        if isInline { writeAll(doneCount, conclude) } else { queue.async { self.writeAll(doneCount, conclude) } }
    }

    /// The changes that one write has stored, or failed to store.
    struct Outcome {
        let changes: [DeliveryChange]
        let error: StorageError?
    }

    private func writeAll(_ doneCount: () -> UInt64, _ conclude: (() -> Outcome) -> Void) {
        var isFirst = true
        while let (changes, batch) = nextBatch(doneCount(), isFirst: isFirst) {
            isFirst = false
            let error = commit(batch)
            var waiters: [CheckedContinuation<Void, any Error>] = []
            conclude {
                state.withLock { state in
                    let changes = error.map { state.fail(changes, $0) } ?? changes
                    waiters = state.advance(by: changes.count)
                    return Outcome(changes: changes, error: error)
                }
            }
            for waiter in waiters { waiter.resume(with: error.map { .failure($0) } ?? .success(())) }
            if error != nil { return }
        }
    }

    /// - Parameter isFirst: true to remove finished messages even if no change is noted.
    private func nextBatch(_ inboxDone: UInt64, isFirst: Bool) -> (changes: [DeliveryChange], batch: StoreBatch)? {
        state.withLock { state in
            guard isFirst || !state.noted.isEmpty else {
                state.isWriting = false
                return nil
            }
            let changes = state.noted
            state.noted = []
            let batch = state.layout.batch(of: changes, done: inboxDone)
            state.isWriting = !changes.isEmpty || !batch.isEmpty
            return state.isWriting ? (changes, batch) : nil
        }
    }

    private func commit(_ batch: StoreBatch) -> StorageError? {
        guard !batch.isEmpty else { return nil }
        do {
            try hasEnded.withLock { hasEnded in
                if hasEnded { throw StorageError.closed }
                try store.commit(batch)
            }
            return nil
        } catch {
            return error as? StorageError ?? StorageError(.unavailable, "the store's write failed", cause: error)
        }
    }

    /// Returns when the current write has finished. The store's owner closes the store.
    func finish() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    /// Ends writing, so that another transport may use the store. Waits for the current write; later ones fail.
    func end() { hasEnded.withLock { $0 = true } }

    /// Number of changes noted so far.
    var notedCount: UInt64 { state.withLock { $0.notedCount } }

    /// Returns when all noted changes are written. Call it after `write`. Doesn't wait for changes that a failed write
    /// left for the next one, which may never be requested.
    /// - Throws: `StorageError` if a change noted after `count` wasn't written.
    func flush(since count: UInt64) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<Void, any Error>? = state.withLock { state in
                if let failure = state.failure, failure.count > count { return .failure(failure.error) }
                guard state.isWriting, state.writtenCount < state.notedCount else { return .success(()) }
                state.waiters.append((state.notedCount, continuation))
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }
}

extension DeliveryChange {
    /// True if a failed change is written again as it is.
    fileprivate var isRepeatable: Bool {
        switch self {
        // The core reverts these, and may repeat them.
        case .accepted, .received, .pending: false
        case .cancelled, .truncated, .published, .newest, .met, .forgotten, .outboxForgotten: true
        }
    }
}
