import Dispatch
import MeshBase
import MeshStorage

/// Runs the blocking calls of a store, one after another. All writers of one store share a queue. So a session that opens
/// reads what an earlier one over the same store is still writing.
struct StoreWriter: Sendable {
    let store: any SessionStore
    private let queue: DispatchQueue

    init(_ store: any SessionStore) {
        self.store = store
        queue = StoreQueues.queue(of: store)
    }

    func commit(_ batch: StoreBatch) async throws {
        try await perform { try store.commit(batch) }
    }

    /// Runs `body`, which reads or writes the store, and returns its result.
    func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        // A store in memory doesn't block, so call it directly.
        guard store.durability > .memory else { return try body() }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}

/// The queues of the stores that have writers.
private enum StoreQueues {
    private struct Weak {
        weak var queue: DispatchQueue?
    }

    /// A writer retains its store and its queue, so an identifier isn't reused while the queue exists.
    private static let all = Locked<[ObjectIdentifier: Weak]>([:])

    static func queue(of store: any SessionStore) -> DispatchQueue {
        all.withLock { all in
            let id = ObjectIdentifier(store as AnyObject)
            if let queue = all[id]?.queue { return queue }
            all = all.filter { $0.value.queue != nil }
            let queue = DispatchQueue(label: "sessionmesh.store", qos: .userInitiated)
            all[id] = Weak(queue: queue)
            return queue
        }
    }
}
