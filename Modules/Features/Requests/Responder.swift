import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTransport

/// The answering side: the handlers, and every request that has come and is not answered yet.
///
/// Live requests run at once, 256 at a time; further ones are let go unanswered, and their senders try again. Queued ones
/// run one after another for each peer, in the order in which they were sent; 1024 wait in all, further ones fail with
/// `deliveryFailed`. The bodies of all of them are 32 MiB at most, and so are replies on their way. A handler that never
/// returns holds up the queued requests of its peer, and nobody else's.
///
/// Safe to use from any thread.
final class Responder: Sendable {
    static let liveMax = 256
    static let waitingMax = 1024
    /// Of the bodies of requests that run or wait, and of replies that are being sent.
    static let bytesMax = 32 << 20
    /// Replies and receipts that are being sent.
    static let sendingMax = 1024
    /// The longest pause between two tries of a store that fails; the first is a 32nd of it.
    static let storePauseMax = Duration.milliseconds(1600)
    /// How long after the start requests wait for a handler that has not been registered yet.
    static let launchGrace = Duration.seconds(2)

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
        /// By peer id: what waits for its turn; a peer with an entry is being served.
        var queues: [String: [Job]] = [:]
        var waitingCount = 0
        /// Replies of a process before this one to peers that the transport has not met yet.
        var leftovers: [(peerID: String, reply: RequestMessage)] = []
        /// The next one, for which those wait that have no handler; nil when the grace is over.
        var registration: Once<Bool>? = Once()
        /// The store has failed for as long as anybody waits for it.
        var isStoreLost = false
    }

    let connection: any SessionConnection
    let board: ProblemBoard
    let post: RequestPost
    let ledger: RequestLedger
    let state = Locked(State())
    /// What a process before this one has left has its place in the queues.
    let isReady = Once<Bool>()

    init(_ connection: any SessionConnection, board: ProblemBoard) {
        self.connection = connection
        self.board = board
        let post = RequestPost(connection: connection)
        self.post = post
        ledger = RequestLedger(store: connection.store) { post.wall }
    }

    /// Takes up what a process before this one has left. Nothing is handled before.
    func start() {
        Task { await resume() }
        connection.clock.wake(at: connection.clock.elapsed + Self.launchGrace) { [weak self] in
            self?.endRegistration(isLast: true)
        }
    }

    func report(_ event: DiagnosticEvent) { connection.diagnostics.publish(event) }

    /// - Returns: the handler before.
    func register(_ handler: RequestHandler, for type: String) -> RequestHandler? {
        let replaced = state.withLock { $0.handlers.updateValue(handler, forKey: type) }
        endRegistration(isLast: false)
        board.solve(.handlerMissing, of: type)
        return replaced
    }

    /// Those who wait for a handler look again.
    /// - Parameter isLast: and from now on nobody waits for one.
    private func endRegistration(isLast: Bool) {
        let registration = state.withLock { state in
            defer { state.registration = isLast || state.registration == nil ? nil : Once() }
            return state.registration
        }
        registration?.resolve(true)
    }

    private func resume() async {
        let left = (try? await withStore { try await ledger.load() }) ?? .init()
        for (key, request) in left.waiting { enqueue(Job(key: key, request: request)) }
        isReady.resolve(true)
        state.withLock { $0.leftovers = left.replies }
        sendLeftovers()
    }
}

// MARK: - What comes

extension Responder {
    /// Returns when the request has been taken, answered or refused, not when it has run.
    func receive(_ request: RequestMessage, from peerID: String) async {
        _ = await isReady.value()
        guard request.version <= RequestMessage.version else {
            report(.deliveryFailed(requestType: request.type, error: request.versionError, willRetry: false))
            return reply(.failure(request.versionError), to: request, of: peerID)
        }
        var request = request
        // Else what does not say when it was asked would be older than everything that has been forgotten; and what says
        // what no clock shows would make everything that comes later older.
        if request.stamp?.isPlausible != true { request.stamp = connection.stamp() }
        let job = Job(key: RequestKey(peerID: peerID, id: request.id), request: request)
        let isLive = request.method ?? .live == .live
        do {
            // Another copy of what is known takes no room, and is never late.
            if await !ledger.knows(job.key) {
                guard hasRoom(job, isLive: isLive) else { return refuse(job, isLive: isLive) }
                if isLate(request) { return refuseLate(job) }
            }
            let standing = try await withStore(isPatient: !isLive) {
                try await ledger.take(request, as: job.key, isKept: !isLive)
            }
            switch standing {
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
                    .failure(.deliveryFailed(reason: "it is too old to tell whether it has run")), to: request,
                    of: peerID)
            }
        } catch {
            // A copy that came before is being handled, and answers for both.
            if await ledger.knows(job.key) { return acknowledge(job) }
            // What has not been written must not run: it might run again.
            let error = ConnectionError.remoteError(description: "the request cannot be recorded: \(error)")
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

    private func isLate(_ request: RequestMessage) -> Bool { request.expiresAt.map { $0 <= post.wall } ?? false }

    /// Whoever still wants it learns what time it is here.
    private func refuseLate(_ job: Job) {
        report(.requestExpired(requestType: job.request.type))
        var receipt = RequestMessage(.late, id: job.key.id, type: job.request.type)
        receipt.method = job.request.method
        send(receipt, to: job.key.peerID, mode: .realtimeBestEffort)
    }

    private func acknowledge(_ job: Job) {
        var receipt = RequestMessage(.received, id: job.key.id, type: job.request.type)
        receipt.method = job.request.method
        // A slot is emptied on this word, so that one must not be lost.
        let mode: SessionDeliveryMode = job.request.method == .latest ? .reliableEventually : .realtimeBestEffort
        send(receipt, to: job.key.peerID, mode: mode)
    }

    func echo(_ probe: RequestMessage, to peerID: String) {
        send(RequestMessage(.echo, id: probe.id, type: probe.type), to: peerID, mode: .realtimeBestEffort)
    }
}

// MARK: - A store that fails for a moment

extension Responder {
    /// Tries again for some three seconds, since nobody may send again what the store is to keep. Meanwhile the requests
    /// behind it wait; once it was in vain, nobody waits until the store has taken something.
    /// - Throws: what the last try has thrown.
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

// MARK: - Whose turn it is

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
            try post.checkSize(of: answer.body, type: answer.type)
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
            let error = ConnectionError.remoteError(description: "the request cannot be recorded: \(error)")
            report(.deliveryFailed(requestType: type, error: error, willRetry: false))
            return .failure(error)
        }
        return await handler.run(job.request)
    }

    /// Its sender expects no answer, so only this device can say it.
    private func reportMissingHandler(of job: Job) {
        guard board.problems.count < ProblemBoard.problemsMax / 2 else { return }
        board.report(
            SessionProblem(
                .handlerMissing, of: job.request.type,
                "'\(job.key.peerID)' sent a \(job.request.type), and this device has no handler for it",
                advice: "Register one at launch, or send it to the peers that have one."))
    }

    /// Waits for one at launch, since requests may come before the app has registered all of its handlers.
    private func handler(for type: String) async -> RequestHandler? {
        while true {
            let (handler, registration) = state.withLock { ($0.handlers[type], $0.registration) }
            guard handler == nil, let registration else { return handler }
            _ = await registration.value()
        }
    }
}
