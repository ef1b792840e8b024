import MeshBase

/// The streams that a process serves now: those of its connected clients.
///
/// A store that knows them delivers only their notices: `ReplayBuffer.notices(of:)`. Safe to use from any thread. `add` and
/// `remove` are O(observers).
public final class ServedStreams: Sendable {
    private struct State {
        var counts: [String: Int] = [:]
        var observers: [@Sendable (String, Bool) -> Void] = []
    }

    private let state = Locked(State())

    /// Creates an empty set.
    public init() {}

    /// Counts one more client of a stream.
    public func add(_ stream: String) {
        state.withLock { state in
            state.counts[stream, default: 0] += 1
            guard state.counts[stream] == 1 else { return }
            for observer in state.observers { observer(stream, true) }
        }
    }

    /// Removes one client of a stream. Does nothing for a stream without clients.
    public func remove(_ stream: String) {
        state.withLock { state in
            guard let count = state.counts[stream] else { return }
            state.counts[stream] = count > 1 ? count - 1 : nil
            guard count == 1 else { return }
            for observer in state.observers { observer(stream, false) }
        }
    }

    /// Calls a closure for each served stream, and from now on when a stream gets its first client (true) or loses its last
    /// (false).
    ///
    /// - Parameter onChange: called on the thread of the change, in the order of the changes. Must not block, and must not call
    ///   this object.
    public func observe(_ onChange: @escaping @Sendable (_ stream: String, _ isServed: Bool) -> Void) {
        state.withLock { state in
            state.observers.append(onChange)
            for stream in state.counts.keys { onChange(stream, true) }
        }
    }
}
