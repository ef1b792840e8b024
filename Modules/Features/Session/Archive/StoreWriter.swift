import Dispatch
import MeshStorage

/// Runs the blocking calls of a store on a queue of its own, one after another.
struct StoreWriter: Sendable {
    let store: any SessionStore
    private let queue = DispatchQueue(label: "sessionmesh.store", qos: .userInitiated)

    init(_ store: any SessionStore) { self.store = store }

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
