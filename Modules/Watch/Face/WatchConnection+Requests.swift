public import Foundation
public import MeshConnection
public import MeshRequests
import MeshTransport

extension WatchConnection {
    /// How long a request waits for the session to be activated.
    static let activationPatience = Duration.seconds(5)
    /// How long a request waits to learn how a counterpart is spoken to that can be reached.
    static let dialectPatience = Duration.seconds(2)

    /// Sends a request to the counterpart and returns its answer.
    ///
    /// - Parameters:
    ///   - strategy: the lanes.
    ///   - delivery: what happens while the counterpart cannot be reached.
    ///   - retryPolicy: its timeout covers everything, also waiting for the session.
    /// - Throws: `WatchConnectionError`, or one of the request's own `failures` as the handler threw it; `cancelled` at once
    ///   when the calling task is cancelled.
    public func send<R: WatchRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, delivery: DeliveryMode = .queued,
        retryPolicy: RetryPolicy = .default
    ) async throws -> R.Response {
        let start = core.clock.elapsed
        try await getReady(for: R.self, within: retryPolicy.timeout)
        let left = retryPolicy.timeout - (core.clock.elapsed - start)
        let policy = RetryPolicy(maxAttempts: retryPolicy.maxAttempts, timeout: left)
        return try await requests.send(request, strategy: strategy, delivery: delivery, retryPolicy: policy)
    }

    /// Sends a request that has no answer. Returns when the request is on its way or waits; `diagnosticEvents` has its
    /// outcome.
    public func send<R: FireAndForgetRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue
    ) async {
        try? await getReady(for: R.self, within: Self.activationPatience)
        await requests.send(request, strategy: strategy)
    }

    /// Waits for the counterpart, asks it live, and does the same again when that fails on the way. The handler runs
    /// once all the same.
    /// - Parameter connectionTimeout: how long one attempt waits for the counterpart.
    public func sendWhenReady<R: WatchRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, maxAttempts: Int = 3,
        connectionTimeout: Duration = .seconds(30)
    ) async throws -> R.Response {
        try await getReady(for: R.self, within: connectionTimeout)
        return try await requests.sendWhenReady(
            request, strategy: strategy, maxAttempts: maxAttempts, connectionTimeout: connectionTimeout)
    }

    /// Handles requests of that type from now on, in place of the handler before. See `SessionRequests.register`.
    public func register<R: WatchRequest>(
        _ requestType: R.Type, fileID: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (R) async throws -> R.Response
    ) {
        counterpart.names.note(requestType)
        requests.register(requestType, fileID: fileID, line: line, handler: handler)
    }

    /// Cancels all requests that wait. Their callers get `cancelled`.
    public func cancelAllQueuedRequests() {
        requests.cancelAllQueuedRequests()
        countRequests()
    }

    /// Cancels a request that waits. Its caller gets `cancelled`.
    ///
    /// - Parameter id: one of `requests.queuedRequests`.
    public func cancelQueuedRequest(id: UUID) {
        requests.cancelQueuedRequest(id: id)
        countRequests()
    }

    /// Whether the counterpart still has WatchConnectivitySwift 5, as far as is known: it is spoken to in that
    /// library's frames.
    public var counterpartIsOld: Bool { counterpart.dialect == .reference }

    // MARK: Waiting

    /// Waits until the session is activated.
    ///
    /// - Throws: `notActivated` when it takes longer; why the session could not be activated; `cancelled`.
    public func waitForActivation(timeout: Duration = .seconds(10)) async throws {
        let isActive = try await waiting.wait(until: core.clock.elapsed + timeout, core.clock) { [weak self] in
            try self?.activationState.get() == .activated
        }
        guard isActive else { throw WatchConnectionError.notActivated }
    }

    /// Waits until the session is active and says that the counterpart takes messages.
    /// - Parameter timeout: nil waits for as long as it takes, and 10 s for the session.
    /// - Throws: `notActivated`, `timeout`, `cancelled`.
    public func waitForConnection(timeout: Duration? = nil) async throws {
        let deadline = timeout.map { core.clock.elapsed + $0 }
        try await waitForActivation(timeout: min(timeout ?? .seconds(10), .seconds(10)))
        let isThere = try await waiting.wait(until: deadline, core.clock) { [weak self] in self?.isReachable ?? true }
        guard isThere else { throw WatchConnectionError.timeout }
    }

    /// Waits for the session, and until it is known how the counterpart is spoken to, if it can be reached.
    /// - Throws: `notActivated`, `cancelled`.
    private func getReady<R: WatchRequest>(for type: R.Type, within timeout: Duration) async throws {
        counterpart.names.note(type)
        try await waitForActivation(timeout: min(timeout, Self.activationPatience))
        guard isReachable, !requests.isReachable() else { return }
        await counterpart.settle()
        do {
            try await requests.waitUntilReachable(timeout: min(timeout / 2, Self.dialectPatience))
        } catch ConnectionError.timeout {
            // The session says that somebody is there, and nobody is: then what the strategy says of that happens, unless
            // it turns out that the counterpart speaks otherwise.
            await counterpart.askIfSilent()
        }
    }
}
