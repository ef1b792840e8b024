import Foundation
import MeshBase
import SessionMeshWatchConnectivity

// Small models of the behavior of WatchConnectivitySwift 5. The tests of its faults must find the fault in each.

/// Counts all failures, regardless of their error.
final class CountingHealth: Sendable {
    private let failures = Locked(0)

    func failed(_ error: WatchConnectionError, isReachable: Bool) { failures.withLock { $0 += 1 } }

    var current: SessionHealth {
        failures.withLock { $0 >= 5 } ? .unhealthy(suggestion: .restartWatch) : .healthy
    }
}

/// Recovers by activating the session, and reports success once it is active.
struct HopefulRecovery {
    let session: any WCSessionProviding

    func attempt() -> DiagnosticEvent {
        session.activate()
        return session.activationState == .activated ? .recoverySucceeded : .recoveryFailed(error: .notActivated)
    }
}

/// Observes only sessions that are a `WCSession`.
final class PickyObserver: Sendable {
    let isReachable: Locked<Bool>
    private let session: any WCSessionProviding

    init(_ session: any WCSessionProviding) {
        self.session = session
        isReachable = Locked(session.isReachable)
    }

    func look() { if session is WCSession { isReachable.withLock { $0 = session.isReachable } } }
}

/// A multicast that never ends. Its subscribers buffer everything.
final class EndlessStream<Element: Sendable>: Sendable {
    private let subscribers = Locked<[AsyncStream<Element>.Continuation]>([])
    private let waiting = Locked(0)

    func subscribe() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
        subscribers.withLock { $0.append(continuation) }
        return stream
    }

    func publish(_ element: Element) {
        waiting.withLock { $0 += 1 }
        for subscriber in subscribers.withLock({ $0 }) { subscriber.yield(element) }
    }

    /// The number of elements that wait for a subscriber that reads nothing.
    var waitingCount: Int { waiting.withLock { $0 } }
    var hasEnded: Bool { false }
}

/// Sends anything that it is given.
struct TrustingSender {
    let session: any WCSessionProviding

    func send(_ request: some WatchRequest) throws -> WatchConnectionError? {
        let bytes = try JSONEncoder().encode(WireRequest(request: request))
        session.sendMessageData(bytes, replyHandler: nil, errorHandler: nil)
        return nil
    }
}
