import Dispatch
import MeshStorage

/// Calls a store, which may block, on a queue of its own and one after another.
struct StoreWriter: Sendable {
    let store: any SessionStore
    private let queue = DispatchQueue(label: "sessionmesh.store", qos: .userInitiated)

    init(_ store: any SessionStore) { self.store = store }

    func commit(_ batch: StoreBatch) async throws {
        try await perform { try store.commit(batch) }
    }

    /// - Parameter body: reads or writes the store.
    func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        // What lives in memory does not block.
        guard store.durability > .memory else { return try body() }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
