import MeshBase

/// A store in memory, which ends with the process. A session uses one if it has no store or its store has failed.
///
/// ```swift
/// let store = MemoryStore()                             // in a test: outlives the session
/// let session = try await SessionOf<Score>.open(Score(), sessionID: sessionID, over: transport, store: store)
/// ```
///
/// Copies of a store share its content.
public struct MemoryStore: SessionStore {
    private struct State {
        var contents = StoreContents()
        var isClosed = false
    }

    private let state = Locked(State())

    /// Creates an empty store.
    public init() {}

    public var durability: StoreDurability { .memory }

    public func commit(_ batch: StoreBatch) throws { try open { try $0.commit(batch) } }
    public func value(for key: String) throws -> [UInt8]? { try open { $0.value(for: key) } }
    public func catalog(prefix: String) throws -> StoreCatalog { try open { $0.catalog(prefix: prefix) } }

    public func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try open { $0.entries(of: journal, from: position, maxBytes: maxBytes) }
    }

    public func close() { state.withLock { $0.isClosed = true } }

    private func open<Result>(_ body: (inout StoreContents) throws -> Result) throws -> Result {
        try state.withLock { state in
            guard !state.isClosed else { throw StorageError.closed }
            return try body(&state.contents)
        }
    }
}
