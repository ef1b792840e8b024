import MeshBase
import MeshConnection
public import MeshTransport

// Members for reading, changing and awaiting the value.
extension SharedState {
    /// Creates a state on the transport's shared connection, which all features made with `over:` use. For a store, a clock or a
    /// session, make a `TransportConnection` instead.
    ///
    /// - Parameter transport: started by this call. Must be a class, because a structure has no identity. For a structure, make a
    ///   `TransportConnection`.
    public convenience init(
        initialValue: State, over transport: any SessionSyncTransport & AnyObject, id: String? = nil,
        merge: SharedStateMerge<State> = .whole
    ) {
        self.init(
            initialValue: initialValue, connection: TransportConnection.shared(over: transport), id: id, merge: merge)
    }

    /// Changes a copy of the value, then updates the state with it.
    /// - Throws: errors of the closure and of the other `update`. The value is then unchanged.
    public func update(_ change: (inout State) throws -> Void) throws {
        var newValue = value
        try change(&newValue)
        try update(newValue)
    }

    /// A member of the value.
    public subscript<Member>(dynamicMember keyPath: KeyPath<State, Member>) -> Member { value[keyPath: keyPath] }

    /// A member of the value. Setting it updates the value. If that fails, the value stays, and ``problems`` has `writeFailed`.
    ///
    /// Gives bindings such as `$settings.isMetric` for `@Bindable var settings: SharedState<Settings>` or `@State private var
    /// settings`. If `SharedState` has a member of the same name, such as `id`, use `value` and `update`.
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

    /// Returns a stream of values that begins with the present one. A slow reader misses values, but not the newest. The stream
    /// ends when the state is released.
    public func values() -> AsyncStream<State> { replica.shownValues.subscribe() }

    /// Waits until this value is more than this device's initial one. Returns once a peer has answered in this launch, or if the
    /// store says that all known peers have this value. A peer with another `merge` or `id:` doesn't answer.
    /// - Throws: `CancellationError` if the task is cancelled.
    public func firstSync() async throws {
        for await _ in replica.firstSync.subscribe() { return }
        throw CancellationError()
    }
}
