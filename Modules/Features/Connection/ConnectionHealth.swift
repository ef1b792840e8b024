import MeshBase

/// Counts what comes of sends: five failures in a row are unhealthy, one success is healthy again.
///
/// Only what says something about the connection counts. That the other app is closed is told apart from a connection
/// that claims to work and does not; what the caller or the handler did wrong counts as an answer, for it has arrived.
/// Safe to use from any thread.
public final class ConnectionHealth: Sendable {
    /// Failures in a row.
    public static let failuresMax = 5

    private struct State {
        var current = SessionHealth.healthy
        var failures = 0
        var failuresWhileReachable = 0
        var hasFailedToRecover = false
    }

    private let state = Locked(State())
    private let onChange: @Sendable (_ from: SessionHealth, _ to: SessionHealth) -> Void

    /// Creates a record of a connection that is healthy so far.
    ///
    /// - Parameter onChange: called on the thread that reported the change.
    public init(onChange: @escaping @Sendable (_ from: SessionHealth, _ to: SessionHealth) -> Void = { _, _ in }) {
        self.onChange = onChange
    }

    /// The current health of the connection.
    public var current: SessionHealth { state.withLock { $0.current } }

    /// Something came back from the peer.
    public func succeeded() { change { $0 = State() } }

    /// Records that a send failed.
    ///
    /// - Parameter isReachable: what the platform says of the peer, which may be a lie.
    public func failed(_ error: ConnectionError, isReachable: Bool) {
        switch error.verdict {
        case .answer: succeeded()
        case .nothing: break
        case .failure:
            change { state in
                state.failures = min(state.failures + 1, Self.failuresMax)
                // That the peer is away is no failure of what lies between.
                let isStuck = isReachable && error != .notReachable
                state.failuresWhileReachable = isStuck ? min(state.failuresWhileReachable + 1, Self.failuresMax) : 0
                guard state.failures == Self.failuresMax else { return }
                let isAllStuck = state.failuresWhileReachable == Self.failuresMax
                state.current = .unhealthy(
                    suggestion: !isAllStuck
                        ? .openCompanionApp : state.hasFailedToRecover ? .restartBothDevices : .restartOtherDevice)
            }
        }
    }

    /// A probe of a connection that was unhealthy has not come back.
    public func recoveryFailed() {
        change { state in
            state.hasFailedToRecover = true
            if state.current.suggestion == .restartOtherDevice {
                state.current = .unhealthy(suggestion: .restartBothDevices)
            }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let (before, after) = state.withLock { state in
            let before = state.current
            body(&state)
            return (before, state.current)
        }
        if before != after { onChange(before, after) }
    }
}

extension ConnectionError {
    /// What an error says about the connection.
    fileprivate enum Verdict {
        case answer, nothing, failure
    }

    fileprivate var verdict: Verdict {
        switch self {
        case .handlerNotRegistered, .handlerError, .remoteError, .incompatiblePeer: .answer
        case .cancelled, .encodingFailed, .decodingFailed, .idInUse, .payloadTooLarge, .fileNotFound, .fileAccessDenied,
            .insufficientSpace, .sessionUnhealthy, .notPaired, .appNotInstalled:
            .nothing
        case .notActivated, .notReachable, .deliveryFailed, .timeout, .replyFailed, .sessionError: .failure
        }
    }
}
