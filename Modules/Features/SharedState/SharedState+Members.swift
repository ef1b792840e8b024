import MeshBase
import MeshConnection
public import MeshTransport

// Members that read, change and await the value.
extension SharedState {
    /// Creates a state on the transport's shared connection, which all features made with `over:` use. For a store, a clock or a
    /// session, make a `TransportConnection` instead.
    ///
    /// - Parameter transport: started by this call. For a structure, which has no identity, make a `TransportConnection`.
    public convenience init(
        initialValue: State, over transport: any SessionSyncTransport & AnyObject, id: String? = nil,
        merge: SharedStateMerge<State> = .whole
    ) {
        self.init(
            initialValue: initialValue, connection: TransportConnection.shared(over: transport), id: id, merge: merge)
    }

    /// Changes a copy of the value, then updates the state with it.
    /// - Throws: errors of the closure and of `update(_:)` with a value. Then the value is unchanged.
    public func update(urgency: SessionUrgency = .normal, _ change: (inout State) throws -> Void) throws {
        var newValue = value
        try change(&newValue)
        try update(newValue, urgency: urgency)
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

    /// Waits until the value has been compared with a peer: until a peer has answered in this launch, or at once if all known
    /// peers have this value according to the store. A peer with another `merge` or `id:` doesn't answer.
    /// - Throws: `CancellationError` if the task is cancelled.
    public func firstSync() async throws {
        for await _ in replica.firstSync.subscribe() { return }
        throw CancellationError()
    }
}
