import MeshBase

/// The health of a connection. Five failures in a row make it unhealthy, and one success makes it healthy again.
///
/// Counts only errors of the connection. A mistake of the caller doesn't count, and a peer's error counts as an answer. The
/// suggestion distinguishes an absent peer from a connection that claims to work but doesn't. Safe to use from any thread.
public final class ConnectionHealth: Sendable {
    /// Number of failures in a row after which a connection is unhealthy.
    public static let failuresMax = 5

    private struct State {
        var current = SessionHealth.healthy
        var failures = 0
        var failuresWhileReachable = 0
        var hasFailedToRecover = false
    }

    private let state = Locked(State())
    private let onChange: @Sendable (_ from: SessionHealth, _ to: SessionHealth) -> Void

    /// Creates the record of a connection, which is healthy at first.
    ///
    /// - Parameter onChange: called on the thread that reported the success or failure.
    public init(onChange: @escaping @Sendable (_ from: SessionHealth, _ to: SessionHealth) -> Void = { _, _ in }) {
        self.onChange = onChange
    }

    /// The current health of the connection.
    public var current: SessionHealth { state.withLock { $0.current } }

    /// Records that the peer has answered.
    public func succeeded() { change { $0 = State() } }

    /// Records that a send failed.
    ///
    /// - Parameter isReachable: the platform's statement about the peer, which may be wrong.
    public func failed(_ error: ConnectionError, isReachable: Bool) {
        switch error.verdict {
        case .answer: succeeded()
        case .ignored: break
        case .failure:
            change { state in
                state.failures = min(state.failures + 1, Self.failuresMax)
                // An absent peer isn't a fault of the connection.
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

    /// Records that a probe of an unhealthy connection has failed.
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
    /// The meaning of an error for the connection's health.
    fileprivate enum Verdict {
        case answer, ignored, failure
    }

    fileprivate var verdict: Verdict {
        switch self {
        case .handlerNotRegistered, .handlerError, .remoteError, .incompatiblePeer: .answer
        case .cancelled, .encodingFailed, .decodingFailed, .idInUse, .payloadTooLarge, .fileNotFound, .fileAccessDenied,
            .insufficientSpace, .sessionUnhealthy, .notPaired, .appNotInstalled:
            .ignored
        case .notActivated, .notReachable, .deliveryFailed, .timeout, .replyFailed, .sessionError: .failure
        }
    }
}
