public import Foundation
import MeshBase
public import MeshConnection
public import MeshIdentity
public import MeshTransport

/// Typed requests to the peers on a connection, and handlers for theirs.
///
/// ```swift
/// let requests = SessionRequests(over: transport)
/// requests.register(FetchRecipe.self) { try await recipes.find($0.id) }
/// let recipe = try await requests.send(FetchRecipe(id: "123"))
/// ```
///
/// However often a request is sent, on whatever lanes, its handler runs at most once: the receiver knows it by its id and
/// keeps the reply (see Docs/Reference/Limits.md for the bounds). An answer is final, whatever it says.
///
/// All `SessionRequests` on one connection are one: the first one's coders are used, and a handler that is registered on any of
/// them answers for all.
///
/// Safe to use from any thread. Nothing that it starts keeps it alive; when the last one on its connection goes, requests that
/// wait for an answer end.
public final class SessionRequests: Sendable {
    private let exchange: RequestExchange
    private var requester: Requester { exchange.requester }
    private var responder: Responder { exchange.responder }
    private var coding: RequestCoding { exchange.coding }

    /// Creates the requests of a connection. All instances on one connection share one exchange.
    ///
    /// - Parameters:
    ///   - encoder: writes requests, responses and the handlers' errors; not to be changed later on.
    ///   - decoder: reads them.
    /// - Throws: `idInUse` when the app itself receives what comes for requests on this connection.
    public init(
        connection: any SessionConnection, encoder: JSONEncoder = JSONEncoder(), decoder: JSONDecoder = JSONDecoder()
    ) throws(ConnectionError) {
        exchange = RequestExchange.on(connection.root, RequestCoding(encoder: encoder, decoder: decoder))
        if let error = exchange.error { throw error }
    }

    /// Requests over a transport, on its one connection for features made with `over:`. For a store, a clock or a session make a
    /// `TransportConnection`.
    ///
    /// - Parameters:
    ///   - transport: started here. A transport that is a structure has no identity: make a `TransportConnection` for it.
    ///   - encoder: writes requests, responses and the handlers' errors; not to be changed later on.
    ///   - decoder: reads them.
    public init(
        over transport: any SessionSyncTransport & AnyObject, encoder: JSONEncoder = JSONEncoder(),
        decoder: JSONDecoder = JSONDecoder()
    ) {
        exchange = RequestExchange.on(
            TransportConnection.shared(over: transport), RequestCoding(encoder: encoder, decoder: decoder))
    }

    /// The connection's problems, then those of the requests, until they are solved. Observable. See Docs/Guides/Requests.md for the
    /// codes.
    public var problems: [SessionProblem] { requester.connection.problems + requester.board.problems }

    /// Handles requests of that type from now on, in place of the handler before. The handler may run several times at
    /// once, for live requests, and must return: the queued ones of a peer wait for each other.
    ///
    /// To register a type again is fine where the same line does it, as a view does that appears again. A handler that another line
    /// has registered is replaced too, which is one of the ``problems``: `handlerReplaced`.
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
    ///   - strategy: the lanes. See `DeliveryStrategy`.
    ///   - delivery: the behavior while no peer can be reached.
    ///   - peer: nil asks every known peer, and the first answer is the answer; of several, one that has no handler
    ///     speaks for itself only.
    /// - Throws: `ConnectionError`, or one of the request's own `failures` as the handler threw it; `deliveryFailed` at once for a
    ///   peer that the transport doesn't know while it knows others. When the calling task is cancelled, `cancelled` at once;
    ///   what has not been sent by then never is.
    public func send<R: SessionRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, delivery: DeliveryMode = .queued,
        retryPolicy: RetryPolicy = .default, to peer: SessionPeer? = nil
    ) async throws -> R.Response {
        let wish = RequestCall.Wish(strategy: strategy, delivery: delivery, policy: retryPolicy, peer: peer)
        return try await send(request, id: UUID(), wish)
    }

    /// Sends a request that has no answer. Returns when the request is on its way or waits for the peer. A lasting
    /// failure is one of the ``problems``; the connection's diagnostics have every failure.
    ///
    /// On a kept lane it is wanted for seven days, else for ten seconds.
    public func send<R: FireAndForgetRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, to peer: SessionPeer? = nil
    ) async {
        _ = await tell(request, strategy: strategy, to: peer)
    }

    /// - Returns: the same as `Requester.tell`.
    func tell<R: FireAndForgetRequest>(_ request: R, strategy: DeliveryStrategy, to peer: SessionPeer? = nil) async
        -> Bool
    {
        let wish = RequestCall.Wish(strategy: strategy, delivery: .queued, policy: .default, peer: peer)
        do {
            let call = try makeCall(request, id: UUID(), wish, isFireAndForget: true)
            requester.board.solve(.valueTooLarge, of: R.requestType)
            try requester.checkIsKnown(peer)
            return try await requester.tell(call)
        } catch {
            requester.report(
                .deliveryFailed(requestType: R.requestType, error: ConnectionError(error), willRetry: false))
            return false
        }
    }

    /// Waits for a peer, asks it live, and does the same again when that fails on the way. The handler runs once all the
    /// same.
    /// - Parameters:
    ///   - maxAttempts: less than 1 counts as 1.
    ///   - connectionTimeout: how long one attempt waits for the peer. The answer may take ten seconds after it.
    public func sendWhenReady<R: SessionRequest>(
        _ request: R, strategy: DeliveryStrategy = .liveThenQueue, maxAttempts: Int = 3,
        connectionTimeout: Duration = .seconds(30), to peer: SessionPeer? = nil
    ) async throws -> R.Response {
        let wish = RequestCall.Wish(strategy: strategy, delivery: .immediate, policy: .none, peer: peer)
        let id = UUID()
        var attempt = 1
        while true {
            do {
                try await waitUntilReachable(peer, timeout: connectionTimeout)
                return try await send(request, id: id, wish)
            } catch let error as ConnectionError where attempt < maxAttempts && error.isPassing {
                attempt += 1
                try await requester.pause(.milliseconds(500))
            }
        }
    }

    private func send<R: SessionRequest>(_ request: R, id: UUID, _ wish: RequestCall.Wish) async throws -> R.Response {
        let call = try makeCall(request, id: id, wish, isFireAndForget: false)
        if wish.delivery.requiresImmediateReachability, !requester.isReachable(wish.peer) {
            requester.report(.deliveryFailed(requestType: call.type, error: .notReachable, willRetry: false))
            requester.connection.health.failed(.notReachable, isReachable: false)
            throw ConnectionError.notReachable
        }
        do {
            try requester.checkIsKnown(wish.peer)
        } catch {
            requester.report(.deliveryFailed(requestType: call.type, error: error, willRetry: false))
            throw error
        }
        return try coding.response(to: R.self, in: await requester.ask(call)) {
            requester.report(.requestEncodingFailed(requestType: R.requestType))
        }
    }

    private func makeCall<R: SessionRequest>(
        _ request: R, id: UUID, _ wish: RequestCall.Wish, isFireAndForget: Bool
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
        try requester.post.checkSize(of: payload, type: R.requestType)
        return RequestCall(
            id: id, type: R.requestType, payload: payload, isFireAndForget: isFireAndForget, wish: wish,
            stamp: requester.connection.stamp(), startedAt: requester.now,
            plainPayload: { try? JSONEncoder().encode(request) })
    }
}

extension ConnectionError {
    /// May be over soon.
    fileprivate var isPassing: Bool {
        switch self {
        case .notReachable, .timeout, .deliveryFailed: true
        default: false
        }
    }
}

// MARK: - The queue, and who is there

extension SessionRequests {
    /// A request that waits for its peer.
    public struct Queued: Hashable, Sendable, Identifiable {
        public let id: UUID
        /// The name of the request's type, as ``SessionRequest/requestType``.
        public let requestType: String
    }

    /// The number of requests that wait for a peer: here, or with a transport that hasn't reached it. At most 256.
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
    /// - Returns: whether it waited.
    @discardableResult
    public func cancelQueuedRequest(id: UUID) -> Bool { requester.cancelQueued { $0 == id } }

    /// Whether a peer can be reached, as far as the transport says; nil for any.
    public func isReachable(_ peer: SessionPeer? = nil) -> Bool { requester.isReachable(peer) }

    /// Waits until a peer, or any peer if `peer` is nil, can be reached.
    ///
    /// - Parameter timeout: nil waits for as long as it takes.
    /// - Throws: `timeout`, `cancelled`.
    public func waitUntilReachable(_ peer: SessionPeer? = nil, timeout: Duration? = nil) async throws(ConnectionError) {
        try await requester.waitUntilReachable(peer, until: timeout.map { requester.now + $0 })
    }

    /// A round trip that needs no handler, whatever is said about reachability: proof that the connection works. Tried
    /// again each second.
    /// - Returns: how long it took.
    /// - Throws: `notReachable` when nothing could be sent, `timeout`, `cancelled`.
    @discardableResult
    public func probe(timeout: Duration = .seconds(5), of peer: SessionPeer? = nil) async throws(ConnectionError)
        -> Duration
    {
        try await requester.probe(peer, timeout: timeout)
    }

    /// Replies that came too late, or that were not what was asked.
    public var ignoredReplyCount: Int { requester.read { $0.ignoredReplyCount } }
}
