public import Foundation
public import MeshConnection
public import MeshRequests
import MeshTransport

extension WatchConnection {
    /// Maximum time that a request waits for the session to be activated.
    static let activationTimeout = Duration.seconds(5)
    /// Maximum time that a request waits to learn which frames a reachable counterpart speaks.
    static let dialectTimeout = Duration.seconds(2)

    /// Sends a request to the counterpart and returns its answer.
    ///
    /// - Parameters:
    ///   - strategy: The lanes to use.
    ///   - delivery: The behavior while the counterpart can't be reached.
    ///   - retryPolicy: Its timeout covers everything, including the wait for the session.
    /// - Throws: `WatchConnectionError`, or one of the request's own `failures` as the handler threw it. `cancelled` at
    ///   once if the calling task is cancelled.
    public func send<R: WatchRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, delivery: DeliveryMode = .queued,
        retryPolicy: RetryPolicy = .default
    ) async throws -> R.Response {
        let start = core.clock.elapsed
        try await prepareToSend(for: R.self, within: retryPolicy.timeout)
        let left = retryPolicy.timeout - (core.clock.elapsed - start)
        let policy = RetryPolicy(maxAttempts: retryPolicy.maxAttempts, timeout: left)
        return try await requests.send(request, strategy: strategy, delivery: delivery, retryPolicy: policy)
    }

    /// Sends a request that has no answer. Returns once the request is sent or queued; `diagnosticEvents` reports its
    /// outcome.
    public func send<R: FireAndForgetRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue
    ) async {
        try? await prepareToSend(for: R.self, within: Self.activationTimeout)
        await requests.send(request, strategy: strategy)
    }

    /// Waits for the counterpart and sends the request live. Repeats both if sending fails; the handler runs at most
    /// once nevertheless.
    /// - Parameter connectionTimeout: Maximum time that one attempt waits for the counterpart.
    public func sendWhenReady<R: WatchRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, maxAttempts: Int = 3,
        connectionTimeout: Duration = .seconds(30)
    ) async throws -> R.Response {
        try await prepareToSend(for: R.self, within: connectionTimeout)
        return try await requests.sendWhenReady(
            request, strategy: strategy, maxAttempts: maxAttempts, connectionTimeout: connectionTimeout)
    }

    /// Registers the handler for a type of request, replacing an earlier one. See `SessionRequests.register`.
    public func register<R: WatchRequest>(
        _ requestType: R.Type, fileID: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (R) async throws -> R.Response
    ) {
        counterpart.names.note(requestType)
        requests.register(requestType, fileID: fileID, line: line, handler: handler)
    }

    /// Cancels all pending requests. Their callers get `cancelled`.
    public func cancelAllQueuedRequests() {
        requests.cancelAllQueuedRequests()
        countRequests()
    }

    /// Cancels a pending request. Its caller gets `cancelled`.
    ///
    /// - Parameter id: An ID from `requests.queuedRequests`.
    public func cancelQueuedRequest(id: UUID) {
        requests.cancelQueuedRequest(id: id)
        countRequests()
    }

    /// True if the counterpart is known to run WatchConnectivitySwift 5. Then this library uses that library's frames.
    public var counterpartIsOld: Bool { counterpart.dialect == .reference }

    // MARK: Waiting

    /// Waits until the session is activated.
    ///
    /// - Throws: `notActivated` after the timeout; the session's error if activation failed; `cancelled`.
    public func waitForActivation(timeout: Duration = .seconds(10)) async throws {
        let isActive = try await waiters.wait(until: core.clock.elapsed + timeout, core.clock) { [weak self] in
            try self?.activationState.get() == .activated
        }
        guard isActive else { throw WatchConnectionError.notActivated }
    }

    /// Waits until the session is active and reports that the counterpart is reachable.
    /// - Parameter timeout: nil waits without a limit, except for activation, which may take 10 s.
    /// - Throws: `notActivated`, `timeout`, `cancelled`.
    public func waitForConnection(timeout: Duration? = nil) async throws {
        let deadline = timeout.map { core.clock.elapsed + $0 }
        try await waitForActivation(timeout: min(timeout ?? .seconds(10), .seconds(10)))
        let isThere = try await waiters.wait(until: deadline, core.clock) { [weak self] in self?.isReachable ?? true }
        guard isThere else { throw WatchConnectionError.timeout }
    }

    /// Waits for the session. If the counterpart is reachable, also waits until its dialect is known.
    /// - Throws: `notActivated`, `cancelled`.
    private func prepareToSend<R: WatchRequest>(for type: R.Type, within timeout: Duration) async throws {
        counterpart.names.note(type)
        try await waitForActivation(timeout: min(timeout, Self.activationTimeout))
        guard isReachable, !requests.isReachable() else { return }
        await counterpart.resolveDialect()
        do {
            try await requests.waitUntilReachable(timeout: min(timeout / 2, Self.dialectTimeout))
        } catch ConnectionError.timeout {
            // The session reports a reachable counterpart that doesn't answer, so it may speak the other dialect. If it
            // doesn't, the strategy decides what happens next.
            await counterpart.sendHelloIfSilent()
        }
    }
}
