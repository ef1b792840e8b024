public import Foundation
import MeshBase
public import MeshConnection
public import MeshIdentity
public import MeshTransport

/// Sends typed requests to the peers on a connection, and handles theirs.
///
/// ```swift
/// let requests = SessionRequests(over: transport)
/// requests.register(FetchRecipe.self) { try await recipes.find($0.id) }
/// let recipe = try await requests.send(FetchRecipe(id: "123"))
/// ```
///
/// The handler of a request runs at most once, even if several copies are sent on several lanes: the receiver recognizes the
/// ID and keeps the reply (Docs/Reference/Limits.md has the bounds). An answer is final, even if it is an error.
///
/// All `SessionRequests` on one connection share their handlers, and the coders of the first one.
///
/// Safe to use from any thread. The tasks that it starts don't keep it alive. When the last one on a connection is released,
/// its waiting requests end with `cancelled`. Received requests stay: the next one on the connection continues them, once it
/// has registered its handlers.
public final class SessionRequests: Sendable {
    private let exchange: RequestExchange
    private var requester: Requester { exchange.requester }
    private var responder: Responder { exchange.responder }
    private var coding: RequestCoding { exchange.coding }

    /// Creates the requests of a connection. All instances on one connection share one exchange.
    ///
    /// - Parameters:
    ///   - encoder: writes requests, responses and the handlers' errors. Don't change it afterwards.
    ///   - decoder: reads them.
    /// - Throws: `idInUse` if the app itself receives the messages for requests on this connection.
    public init(
        connection: any SessionConnection, encoder: JSONEncoder = JSONEncoder(), decoder: JSONDecoder = JSONDecoder()
    ) throws(ConnectionError) {
        exchange = RequestExchange.on(connection.root, RequestCoding(encoder: encoder, decoder: decoder))
        if let error = exchange.error { throw error }
    }

    /// Creates requests over a transport and starts it. All features made with `over:` share the transport's one connection. If
    /// you need a store, a clock or a session, make a `TransportConnection`.
    ///
    /// - Parameters:
    ///   - transport: started by this call. For a structure, which has no identity, make a `TransportConnection`.
    ///   - encoder: writes requests, responses and the handlers' errors. Don't change it afterwards.
    ///   - decoder: reads them.
    public init(
        over transport: any SessionSyncTransport & AnyObject, encoder: JSONEncoder = JSONEncoder(),
        decoder: JSONDecoder = JSONDecoder()
    ) {
        exchange = RequestExchange.on(
            TransportConnection.shared(over: transport), RequestCoding(encoder: encoder, decoder: decoder))
    }

    /// The unsolved problems of the connection, then those of the requests. Observable. Docs/Guides/Requests.md has the codes.
    public var problems: [SessionProblem] { requester.connection.problems + requester.board.problems }

    /// Handles requests of that type from now on, replacing an earlier handler. Live requests may run the handler several times
    /// concurrently. The handler must return, because the queued requests of a peer run one after another.
    ///
    /// The same line of code may register a type again, for example whenever a view appears. If a handler replaces one
    /// from another line, `handlerReplaced` is one of the ``problems``.
    public func register<R: SessionRequest>(
        _ type: R.Type, fileID: StaticString = #fileID, line: UInt = #line,
        handler: @escaping @Sendable (R) async throws -> R.Response
    ) {
        let onMismatch: @Sendable () -> Void = { [weak responder] in
            responder?.report(.requestEncodingFailed(requestType: R.requestType))
        }
        let handler = RequestHandler(
            type, coding: coding, place: "\(fileID):\(line)", onMismatch: onMismatch, handler: handler)
        guard let replaced = responder.register(handler, for: R.requestType), replaced.place != handler.place else {
            return
        }
        requester.board.report(
            SessionProblem(
                .handlerReplaced, of: R.requestType,
                "the handler of \(R.requestType) from \(replaced.place) was replaced at \(handler.place)",
                advice: "Register each type of request in one place."))
    }
}

// MARK: - Sending

extension SessionRequests {
    /// Sends a request to a peer and returns its answer.
    ///
    /// - Parameters:
    ///   - strategy: the lanes to use.
    ///   - delivery: the behavior while no peer can be reached.
    ///   - peer: if nil, asks every known peer and returns the first answer. Throws `handlerNotRegistered` only once all have
    ///     answered with it.
    /// - Throws: `ConnectionError`, or one of the request's own `failures`, as the handler threw it; `deliveryFailed` at once
    ///   if the transport doesn't know the peer but knows others; `cancelled` at once if the task is cancelled. A request that
    ///   wasn't sent before a cancellation is never sent.
    public func send<R: SessionRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, delivery: DeliveryMode = .queued,
        retryPolicy: RetryPolicy = .default, to peer: SessionPeer? = nil
    ) async throws -> R.Response {
        let options = RequestCall.Options(strategy: strategy, delivery: delivery, policy: retryPolicy, peer: peer)
        return try await send(request, id: UUID(), options)
    }

    /// Sends a request that has no answer. Returns when the request is on its way or waits for the peer. A lasting failure is
    /// one of the ``problems``; the connection's diagnostics have every failure.
    ///
    /// The request is valid for seven days if it is sent over the queue or the slot for the newest request, and
    /// otherwise for ten seconds.
    public func send<R: FireAndForgetRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, to peer: SessionPeer? = nil
    ) async {
        _ = await sendWithoutReply(request, strategy: strategy, to: peer)
    }

    /// - Returns: the result of `Requester.sendWithoutReply`; false on an error.
    func sendWithoutReply<R: FireAndForgetRequest>(
        _ request: R, strategy: DeliveryStrategy, to peer: SessionPeer? = nil
    ) async
        -> Bool
    {
        let options = RequestCall.Options(strategy: strategy, delivery: .queued, policy: .default, peer: peer)
        do {
            let call = try makeCall(request, id: UUID(), options, isFireAndForget: true)
            requester.board.solve(.valueTooLarge, of: R.requestType)
            try requester.checkIsKnown(peer)
            return try await requester.sendWithoutReply(call)
        } catch {
            requester.report(
                .deliveryFailed(requestType: R.requestType, error: ConnectionError(error), willRetry: false))
            return false
        }
    }

    /// Waits for a peer, then sends the request. Does both again after `notReachable`, `timeout` or `deliveryFailed`. The
    /// handler runs at most once.
    /// - Parameters:
    ///   - maxAttempts: less than 1 counts as 1.
    ///   - connectionTimeout: the time that each attempt waits for the peer. The answer may take another ten seconds.
    public func sendWhenReady<R: SessionRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, maxAttempts: Int = 3,
        connectionTimeout: Duration = .seconds(30), to peer: SessionPeer? = nil
    ) async throws -> R.Response {
        let options = RequestCall.Options(strategy: strategy, delivery: .immediate, policy: .none, peer: peer)
        let id = UUID()
        var attempt = 1
        while true {
            do {
                try await waitUntilReachable(peer, timeout: connectionTimeout)
                return try await send(request, id: id, options)
            } catch let error as ConnectionError where attempt < maxAttempts && error.isTransient {
                attempt += 1
                try await requester.pause(.milliseconds(500))
            }
        }
    }

    private func send<R: SessionRequest>(_ request: R, id: UUID, _ options: RequestCall.Options) async throws
        -> R.Response
    {
        let call = try makeCall(request, id: id, options, isFireAndForget: false)
        if options.delivery.requiresImmediateReachability, !requester.isReachable(options.peer) {
            requester.report(.deliveryFailed(requestType: call.type, error: .notReachable, willRetry: false))
            requester.connection.health.failed(.notReachable, isReachable: false)
            throw ConnectionError.notReachable
        }
        do {
            try requester.checkIsKnown(options.peer)
        } catch {
            requester.report(.deliveryFailed(requestType: call.type, error: error, willRetry: false))
            throw error
        }
        return try coding.response(to: R.self, in: await requester.ask(call)) {
            requester.report(.requestEncodingFailed(requestType: R.requestType))
        }
    }

    private func makeCall<R: SessionRequest>(
        _ request: R, id: UUID, _ options: RequestCall.Options, isFireAndForget: Bool
    ) throws(ConnectionError) -> RequestCall {
        let payload: Data
        do {
            payload = try coding.encode(request) {
                requester.report(.requestEncodingFailed(requestType: R.requestType))
            }
        } catch {
            requester.report(.requestEncodingFailed(requestType: R.requestType))
            throw .encodingFailed(description: "\(error)")
        }
        try requester.sender.checkSize(of: payload, type: R.requestType)
        return RequestCall(
            id: id, type: R.requestType, payload: payload, isFireAndForget: isFireAndForget, options: options,
            stamp: requester.connection.stamp(), startedAt: requester.now,
            legacyPayload: { try? JSONEncoder().encode(request) })
    }
}

extension ConnectionError {
    /// True if another attempt may succeed.
    fileprivate var isTransient: Bool {
        switch self {
        case .notReachable, .timeout, .deliveryFailed: true
        default: false
        }
    }
}

// MARK: - Waiting requests and reachability

extension SessionRequests {
    /// A request that waits for its peer.
    public struct Queued: Hashable, Sendable, Identifiable {
        public let id: UUID
        /// The name of the request's type, as ``SessionRequest/requestType``.
        public let requestType: String
    }

    /// The number of requests that wait for a peer, here or in the transport. At most 256.
    public var pendingRequestCount: Int { requester.queued.count }

    /// Returns a stream of `pendingRequestCount`: the current one, then each change. Every call is an independent
    /// subscriber.
    public func pendingRequestCounts() -> AsyncStream<Int> { requester.queueCounts.subscribe() }

    /// The requests that wait, oldest first.
    public var queuedRequests: [Queued] { requester.queued.map { Queued(id: $0.id, requestType: $0.type) } }

    var underWay: [UUID] { requester.read { Array($0.calls.keys) } }

    /// Cancels all requests that wait. Their callers get `cancelled`.
    public func cancelAllQueuedRequests() { _ = requester.cancelQueued { _ in true } }

    /// Cancels a request that waits. Its caller gets `cancelled`.
    ///
    /// - Returns: true if the request was waiting.
    @discardableResult
    public func cancelQueuedRequest(id: UUID) -> Bool { requester.cancelQueued { $0 == id } }

    /// Returns true if the transport reports that the peer can be reached. Nil means any peer.
    public func isReachable(_ peer: SessionPeer? = nil) -> Bool { requester.isReachable(peer) }

    /// Waits until a peer, or any peer if `peer` is nil, can be reached.
    ///
    /// - Parameter timeout: nil waits without a limit.
    /// - Throws: `timeout`, `cancelled`.
    public func waitUntilReachable(_ peer: SessionPeer? = nil, timeout: Duration? = nil) async throws(ConnectionError) {
        try await requester.waitUntilReachable(peer, until: timeout.map { requester.now + $0 })
    }

    /// Measures a round trip to prove that the connection works. Needs no handler, ignores reported reachability, and sends a
    /// probe each second until one is answered.
    /// - Returns: the round trip.
    /// - Throws: `notReachable` if nothing could be sent, `timeout`, `cancelled`.
    @discardableResult
    public func probe(timeout: Duration = .seconds(5), of peer: SessionPeer? = nil) async throws(ConnectionError)
        -> Duration
    {
        try await requester.probe(peer, timeout: timeout)
    }

    /// The number of replies that came too late or matched no request.
    public var ignoredReplyCount: Int { requester.read { $0.ignoredReplyCount } }
}
