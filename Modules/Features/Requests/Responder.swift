import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport

/// The answering side: the handlers, and all requests that aren't answered yet.
///
/// Up to 256 live requests run concurrently. Further ones are dropped without an answer, and their senders try again. Queued
/// requests of one peer run one after another, in sending order. At most 1024 wait; further ones fail with `deliveryFailed`.
/// The bodies of all requests are limited to 32 MiB, and so are replies on their way. A handler that never returns blocks
/// the queued requests of its peer, but of no other peer.
///
/// Safe to use from any thread.
final class Responder: Sendable {
    static let liveMax = 256
    static let waitingMax = 1024
    /// Maximum number of bytes, both of requests that run or wait and of replies that are being sent.
    static let bytesMax = 32 << 20
    /// Maximum number of replies and receipts that are being sent.
    static let sendingMax = 1024
    /// The longest pause between attempts to use a failing store. The first pause is 1/32 of it.
    static let storePauseMax = Duration.milliseconds(1600)
    /// Time after the start during which requests wait for a handler that isn't registered yet.
    static let registrationGracePeriod = Duration.seconds(2)

    struct Job: Sendable {
        let key: RequestKey
        let request: RequestMessage
    }

    struct State {
        var handlers: [String: RequestHandler] = [:]
        var liveCount = 0
        var sendingCount = 0
        var heldBytes = 0
        var sendingBytes = 0
        /// Waiting requests by peer ID. While a peer has an entry, even an empty one, a task runs its requests.
        var queues: [String: [Job]] = [:]
        var waitingCount = 0
        /// Replies of an earlier process to peers that the transport hasn't met yet.
        var restoredReplies: [(peerID: String, reply: RequestMessage)] = []
        /// Resolved when the app registers a handler, and when `registrationGracePeriod` ends. Requests without a
        /// handler wait for it. Nil after the grace period.
        var registration: AsyncValue<Bool>? = AsyncValue()
        var registrationEnd = Duration.zero
        /// True once the requests of an earlier process are being resumed.
        var hasStarted = false
        /// True once the store has failed through all retries. Then no request waits for it until it works again.
        var isStoreLost = false
    }

    let connection: any SessionConnection
    let board = ProblemBoard()
    let sender: RequestSender
    let ledger: RequestLedger
    let state = Locked(State())
    /// Resolved once the requests of an earlier process are in the queues, or the store has failed through all retries.
    let isReady = AsyncValue<Bool>()

    /// - Parameter ledger: the ledger of an earlier responder on this connection; nil if there was none.
    init(_ connection: any SessionConnection, ledger: RequestLedger?) {
        self.connection = connection
        sender = RequestSender(connection: connection)
        // A ledger may live as long as its connection, so it doesn't retain it.
        let clock = sender.clock
        self.ledger = ledger ?? RequestLedger(store: connection.store) { clock.now.millisecondsSince1970 }
    }

    /// Begins to serve an exchange, whose app registers all handlers again. The first call resumes the requests of an
    /// earlier process. New requests wait until that is done or has failed.
    func start() {
        let end = connection.clock.elapsed + Self.registrationGracePeriod
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            state.handlers = [:]
            state.registrationEnd = end
            state.registration = state.registration ?? AsyncValue()
            return !state.hasStarted
        }
        connection.clock.wake(at: end) { [weak self] in
            // A later exchange may have begun meanwhile.
            if self?.state.withLock({ $0.registrationEnd }) == end { self?.endRegistration(isLast: true) }
        }
        guard isFirst else { return }
        Task {
            await resume(Backoff(from: Self.storePauseMax * 2, to: Self.storePauseMax * 32))
            isReady.resolve(true)
        }
    }

    func report(_ event: DiagnosticEvent) { connection.diagnostics.publish(event) }

    /// - Returns: the replaced handler.
    func register(_ handler: RequestHandler, for type: String) -> RequestHandler? {
        let replaced = state.withLock { $0.handlers.updateValue(handler, forKey: type) }
        endRegistration(isLast: false)
        board.solve(.handlerMissing, of: type)
        return replaced
    }

    /// Lets requests that wait for a handler check again.
    /// - Parameter isLast: true if no request waits from now on.
    private func endRegistration(isLast: Bool) {
        let registration = state.withLock { state in
            defer { state.registration = isLast || state.registration == nil ? nil : AsyncValue() }
            return state.registration
        }
        registration?.resolve(true)
    }

    /// - Parameter backoff: the pauses between further attempts. Requests of an earlier process run once the store can be
    ///   read, even if no new request arrives.
    private func resume(_ backoff: Backoff) async {
        do {
            try await restore()
        } catch {
            var backoff = backoff
            connection.clock.wake(at: connection.clock.elapsed + backoff.next()) { [weak self, backoff] in
                Task { [weak self] in await self?.resume(backoff) }
            }
        }
    }

    /// Reads the requests of an earlier process, unless that is done.
    /// - Throws: the store's error. Then no request may be taken.
    private func restore(isPatient: Bool = true) async throws {
        guard await !ledger.isLoaded else { return }
        try await withStore(isPatient: isPatient) {
            try await ledger.load { [self] left in
                for (key, request) in left.waiting { enqueue(Job(key: key, request: request)) }
                state.withLock { $0.restoredReplies = left.replies }
                sendRestoredReplies()
            }
        }
    }
}

// MARK: - Received requests

extension Responder {
    /// Takes, answers or refuses a request. Doesn't wait for its handler.
    func receive(_ request: RequestMessage, from peerID: String) async {
        _ = await isReady.value()
        guard request.version <= RequestMessage.version else {
            report(.deliveryFailed(requestType: request.type, error: request.versionError, willRetry: false))
            return reply(.failure(request.versionError), to: request, of: peerID)
        }
        var request = request
        // Without a stamp the request would be below the floor. With an implausibly high one it would later raise the
        // floor above all new requests.
        if request.stamp?.isPlausible != true { request.stamp = connection.stamp() }
        let job = Job(key: RequestKey(peerID: peerID, id: request.id), request: request)
        let isLive = request.method ?? .live == .live
        do {
            try await restore(isPatient: !isLive)
            // A duplicate takes no space and is never late.
            if try await !ledger.knows(job.key) {
                guard hasRoom(job, isLive: isLive) else { return refuse(job, isLive: isLive) }
                if isLate(request) { return refuseLate(job) }
            }
            let status = try await withStore(isPatient: !isLive) {
                try await ledger.take(request, as: job.key, isKept: !isLive)
            }
            switch status {
            case .new:
                report(.messageReceived(requestType: request.type))
                if request.isFireAndForget == true, request.method != .queue { acknowledge(job) }
                if isLive { runLive(job) } else { enqueue(job) }
            case .underWay: acknowledge(job)
            case .answered(let answer?): send(answer, to: peerID, mode: .reliableEventually)
            case .answered(nil): acknowledge(job)
            case .tooOld:
                report(.requestExpired(requestType: request.type))
                reply(
                    .failure(.deliveryFailed(reason: "the request is too old to know whether it has run")), to: request,
                    of: peerID)
            }
        } catch {
            // An earlier copy is being handled and answers for both.
            if (try? await ledger.knows(job.key)) == true { return acknowledge(job) }
            // A request that isn't recorded must not run, because it might run again.
            let error = ConnectionError.remoteError(description: "the request can't be recorded: \(error)")
            report(.deliveryFailed(requestType: request.type, error: error, willRetry: false))
            reply(.failure(error), to: request, of: peerID)
        }
    }

    private func hasRoom(_ job: Job, isLive: Bool) -> Bool {
        state.withLock { state in
            (isLive ? state.liveCount < Self.liveMax : state.waitingCount < Self.waitingMax)
                && (state.heldBytes == 0 || state.heldBytes + job.request.body.count <= Self.bytesMax)
        }
    }

    private func refuse(_ job: Job, isLive: Bool) {
        let error = ConnectionError.deliveryFailed(reason: "too many requests are being handled")
        report(.deliveryFailed(requestType: job.request.type, error: error, willRetry: isLive))
        if !isLive { reply(.failure(error), to: job.request, of: job.key.peerID) }
    }

    private func isLate(_ request: RequestMessage) -> Bool { request.expiresAt.map { $0 <= sender.wall } ?? false }

    /// Refuses an expired request. The reply has this device's time, so that a waiting caller can correct its deadline.
    private func refuseLate(_ job: Job) {
        report(.requestExpired(requestType: job.request.type))
        var receipt = RequestMessage(.late, id: job.key.id, type: job.request.type)
        receipt.method = job.request.method
        send(receipt, to: job.key.peerID, mode: .realtimeBestEffort)
    }

    private func acknowledge(_ job: Job) {
        var receipt = RequestMessage(.received, id: job.key.id, type: job.request.type)
        receipt.method = job.request.method
        // This receipt empties a slot, so it must not be lost.
        let mode: SessionDeliveryMode = job.request.method == .latest ? .reliableEventually : .realtimeBestEffort
        send(receipt, to: job.key.peerID, mode: mode)
    }

    func echo(_ probe: RequestMessage, to peerID: String) {
        send(RequestMessage(.echo, id: probe.id, type: probe.type), to: peerID, mode: .realtimeBestEffort)
    }
}

// MARK: - A store that fails for a moment

extension Responder {
    /// Calls `body`, which uses the store. If the store fails, retries for about three seconds, because the sender may
    /// not repeat a request from the lanes `queue` and `latest`. Requests behind this one wait meanwhile. After that,
    /// failures throw at once until the store works again.
    /// - Throws: the error of the last attempt.
    private func withStore<Value: Sendable>(
        isPatient: Bool = true, _ body: () async throws -> Value
    ) async throws -> Value {
        var backoff = Backoff(from: Self.storePauseMax / 32, to: Self.storePauseMax * 2)
        while true {
            do {
                let value = try await body()
                state.withLock { $0.isStoreLost = false }
                board.solve(.storeFailed)
                return value
            } catch {
                guard isPatient else { throw error }
                let pause = backoff.next()
                let isLost = state.withLock { state in
                    state.isStoreLost = state.isStoreLost || pause > Self.storePauseMax
                    return state.isStoreLost
                }
                if isLost {
                    board.report(.storeFailed(of: RequestMessage.featureID, "requests can't be recorded", error))
                    throw error
                }
                await withCheckedContinuation { pausing in
                    connection.clock.wake(at: connection.clock.elapsed + pause) { pausing.resume() }
                }
            }
        }
    }
}

// MARK: - Order of handlers

extension Responder {
    private func runLive(_ job: Job) {
        state.withLock { state in
            state.liveCount += 1
            state.heldBytes += job.request.body.count
        }
        Task {
            await run(job)
            state.withLock { $0.liveCount -= 1 }
        }
    }

    private func enqueue(_ job: Job) {
        let peerID = job.key.peerID
        let isFirst = state.withLock { state in
            state.waitingCount += 1
            state.heldBytes += job.request.body.count
            defer { state.queues[peerID, default: []].append(job) }
            return state.queues[peerID] == nil
        }
        guard isFirst else { return }
        Task { while let job = next(of: peerID) { await run(job) } }
    }

    private func next(of peerID: String) -> Job? {
        state.withLock { state in
            guard state.queues[peerID]?.isEmpty == false else {
                state.queues[peerID] = nil
                return nil
            }
            state.waitingCount -= 1
            return state.queues[peerID]?.removeFirst()
        }
    }

    private func run(_ job: Job) async {
        defer { state.withLock { $0.heldBytes -= job.request.body.count } }
        let outcome = await outcome(of: job)
        var answer = RequestMessage.reply(outcome, to: job.request)
        do {
            try sender.checkSize(of: answer.body, type: answer.type)
        } catch {
            answer = .reply(.failure(error), to: job.request)
        }
        let hasReply = job.request.isFireAndForget != true
        await ledger.answer(job.key, with: hasReply ? answer : nil)
        if hasReply { send(answer, to: job.key.peerID, mode: .reliableEventually) }
    }

    private func outcome(of job: Job) async -> RequestOutcome {
        let type = job.request.type
        guard let handler = await handler(for: type) else {
            let error = ConnectionError.handlerNotRegistered(requestType: type)
            report(.deliveryFailed(requestType: type, error: error, willRetry: false))
            if job.request.isFireAndForget == true { reportMissingHandler(of: job) }
            return .failure(error)
        }
        if isLate(job.request) {
            report(.requestExpired(requestType: type))
            return .failure(.timeout)
        }
        do {
            try await withStore { try await ledger.begin(job.key) }
        } catch {
            let error = ConnectionError.remoteError(description: "the request can't be recorded: \(error)")
            report(.deliveryFailed(requestType: type, error: error, willRetry: false))
            return .failure(error)
        }
        return await handler.run(job.request)
    }

    /// Reports the problem here, because the sender expects no answer.
    private func reportMissingHandler(of job: Job) {
        guard board.problems.count < ProblemBoard.problemsMax / 2 else { return }
        board.report(
            SessionProblem(
                .handlerMissing, of: job.request.type,
                "'\(job.key.peerID)' sent a \(job.request.type), and this device has no handler for it",
                advice: "Register a handler at launch, or send the request only to peers that have one."))
    }

    /// Returns the handler. Waits after a launch, because requests may arrive before the app has registered all handlers.
    private func handler(for type: String) async -> RequestHandler? {
        while true {
            let (handler, registration) = state.withLock { ($0.handlers[type], $0.registration) }
            guard handler == nil, let registration else { return handler }
            _ = await registration.value()
        }
    }
}
