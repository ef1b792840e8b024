import MeshBase
import MeshConnection
public import MeshTransport

// Reading, changing and awaiting the value where it is used.
extension SharedState {
    /// A state over a transport, on its one connection for features made with `over:`. For a store, a clock or a session make a
    /// `TransportConnection`.
    ///
    /// - Parameter transport: started here. A transport that is a structure has no identity: make a `TransportConnection` for it.
    public convenience init(
        initialValue: State, over transport: any SessionSyncTransport & AnyObject, id: String? = nil,
        merge: SharedStateMerge<State> = .whole
    ) {
        self.init(
            initialValue: initialValue, connection: TransportConnection.shared(over: transport), id: id, merge: merge)
    }

    /// Changes a copy of the value, then updates the state with it.
    /// - Throws: what the closure throws, or the other `update`. The value is then unchanged.
    public func update(_ change: (inout State) throws -> Void) throws {
        var newValue = value
        try change(&newValue)
        try update(newValue)
    }

    /// A member of the value.
    public subscript<Member>(dynamicMember keyPath: KeyPath<State, Member>) -> Member { value[keyPath: keyPath] }

    /// A member of the value. Setting it updates the value; if that fails, the value stays as it is and ``problems`` has `writeFailed`.
    ///
    /// So `@Bindable var settings: SharedState<Settings>`, or `@State private var settings`, has a `Binding` in `$settings.isMetric`. A
    /// member with the name of one of `SharedState`'s own, such as `id`, is reached through `value` and `update`.
    public subscript<Member>(dynamicMember keyPath: WritableKeyPath<State, Member>) -> Member {
        get { value[keyPath: keyPath] }
        set {
            do {
                try update { $0[keyPath: keyPath] = newValue }
            } catch {
                replica.board.report(.writeFailed(of: id, "the shared state '\(id)'", error))
            }
        }
    }

    /// Each value from now on, the present one first. A slow reader misses values but not the newest. Ends when the state is let go.
    public func values() -> AsyncStream<State> { replica.shownValues.subscribe() }

    /// Returns once the value is more than the initial one of this device: a peer has answered for the first time since launch, or
    /// the store says that all known peers have this value. At once if that has happened. A peer with another `merge` or `id:`
    /// doesn't answer.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func firstSync() async throws {
        for await _ in replica.firstSync.subscribe() { return }
        throw CancellationError()
    }
}
