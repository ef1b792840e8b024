import Dispatch
import MeshStorage

/// Serializes calls of a store, which may block, on its own queue.
struct StoreWriter: Sendable {
    let store: any SessionStore
    private let queue = DispatchQueue(label: "sessionmesh.store", qos: .userInitiated)

    init(_ store: any SessionStore) { self.store = store }

    func commit(_ batch: StoreBatch) async throws {
        try await perform { try store.commit(batch) }
    }

    /// - Parameter body: reads or writes the store.
    func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        // A store in memory doesn't block.
        guard store.durability > .memory else { return try body() }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
