#if WebSocket
    import Foundation
    import MeshBase
    import MeshResume
    import MeshResumeGateway
    import MeshWebSocket
    import NIOCore

    /// Drives the core on its event loop: input from sockets, answers and notices go in, frames and requests to the app
    /// and the buffer come out. Used on the loop only, so it needs no locks.
    final class GatewayLoop: WebSocketObserver {
        private let loop: any EventLoop
        private let app: GatewayApp
        private let buffer: any ReplayBuffer
        private let served: ServedStreams
        /// The stream of each connection.
        private var streams: [Int: String] = [:]
        private let onProblem: (@Sendable (GatewayProblem) -> Void)?
        private let turns: StoreTurns
        private let start = ContinuousClock.now
        private var core: GatewayCore
        private var sockets: [Int: WebSocket] = [:]
        /// The last frame that was prepared. It is reused, because all sockets of a user get the same bytes in
        /// succession.
        private var prepared: (bytes: [UInt8], message: PreparedMessage)?
        private var disconnections = DisconnectionLog()
        private var isReadingDisconnections = false
        private let catchUpInterval: Duration
        /// The loop of the mailboxes, which must also learn of disconnected users. Weak, because the server keeps it
        /// alive.
        weak var mailboxes: MailboxLoop?
        private var isShuttingDown = false
        private var whenEmpty: EventLoopPromise<Void>?
        private(set) var counts = GatewayCounts()

        init(
            _ settings: GatewayServerSettings, _ app: GatewayApp, _ buffer: any ReplayBuffer, _ served: ServedStreams,
            on loop: any EventLoop
        ) {
            self.loop = loop
            self.app = app
            self.buffer = buffer
            self.served = served
            served.add(DisconnectionLog.stream)
            catchUpInterval = settings.connection.catchUpInterval
            onProblem = settings.onProblem
            turns = StoreTurns(
                settings.userBudget, on: loop, executor: buffer is any PromptReplayBuffer ? LoopExecutor(loop) : nil)
            core = GatewayCore(settings.connection, admission: settings.admission, seed: .random(in: 0 ... .max))
        }

        private var now: Duration { start.duration(to: .now) }

        // MARK: Sockets

        func opened(_ socket: WebSocket) {
            guard !isShuttingDown else { return socket.close(1001, "this gateway is shutting down") }
            sockets[socket.key] = socket
            counts.accepted += 1
            core.open(socket.key, as: FrameEncoding(subprotocol: socket.subprotocol), from: socket.address, now)
            performDirectives()
        }

        func received(_ message: [UInt8], isText: Bool, on socket: WebSocket) {
            let isAgreed = isText == (FrameEncoding(subprotocol: socket.subprotocol) == .json)
            guard isAgreed else {
                return socket.close(
                    CloseCode.decodeError.rawValue, "this connection uses \(isText ? "binary" : "text") frames")
            }
            counts.framesReceived += 1
            core.receive(message, on: socket.key, now)
            performDirectives()
        }

        func flushed(_ count: Int, on socket: WebSocket) {
            core.flushed(count, on: socket.key, now)
            performDirectives()
        }

        func closed(_ code: UInt16?, _ socket: WebSocket) {
            guard sockets.removeValue(forKey: socket.key) != nil else { return }
            core.remove(socket.key)
            serve(nil, socket.key)
            if sockets.isEmpty { whenEmpty?.succeed() }
        }

        // MARK: Notices and time

        func noticed(_ notices: [ReplayNotice]) {
            let now = now
            for notice in notices {
                guard notice.stream == DisconnectionLog.stream else {
                    core.noticed(notice, now)
                    // After each notice, because it may have a frame for each of thousands of sockets.
                    performDirectives()
                    continue
                }
                apply(disconnections.noticed(notice, now))
                readDisconnections()
            }
        }

        func tick() {
            core.tick(now)
            performDirectives()
            readDisconnections()
        }

        func published(_ count: Int = 1) { counts.published += count }

        /// - Parameter cause: the description for the operator, which clients don't get.
        func failed(_ source: GatewayProblem.Source, _ cause: String) {
            counts.unanswered[source, default: 0] += 1
            onProblem?(GatewayProblem(source: source, cause: cause))
        }

        func currentCounts() -> GatewayCounts {
            var counts = counts
            (counts.connections, counts.unsentBytes) = (sockets.count, core.unsentBytes)
            if let mailboxes {
                counts.connections += mailboxes.connectionCount
                counts.unsentBytes += mailboxes.unsentBytes
                counts.accepted += mailboxes.acceptedCount
                counts.closed.merge(mailboxes.closedCounts, uniquingKeysWith: +)
            }
            return counts
        }

        /// - Returns: a future that succeeds when all sockets are closed. All calls return the same one.
        func shutDown(spread: Duration) -> EventLoopFuture<Void> {
            isShuttingDown = true
            core.shutDown(spread: spread, now)
            performDirectives()
            let promise = whenEmpty ?? loop.makePromise(of: Void.self)
            whenEmpty = promise
            if sockets.isEmpty { promise.succeed() }
            return promise.futureResult
        }

        func drop(where isCut: (Int) -> Bool) {
            for (key, socket) in sockets.sorted(by: { $0.key < $1.key }) where isCut(key) { socket.drop() }
        }
    }

    // MARK: - Users that were disconnected

    extension GatewayLoop {
        private func apply(_ news: DisconnectionLog.News) {
            switch news {
            case .users(let users):
                for user in users {
                    core.disconnect(user.user, madeAt: now.advanced(to: user.madeAt), now)
                    mailboxes?.disconnect(user.user, madeAt: user.madeAt)
                }
            case .missed:
                core.authenticateAgain(now)
                mailboxes?.authenticateAgain()
            }
            performDirectives()
        }

        /// - Parameter standing: the range of the stream of disconnections; nil if the buffer couldn't answer.
        func readDisconnections(in standing: ReplayStanding?) {
            if let standing, disconnections.isUnknown { disconnections.located(standing, now) }
            readDisconnections()
        }

        /// Reads the stream of disconnections, with one request at a time. The next tick repeats a request that failed.
        func readDisconnections() {
            guard !isReadingDisconnections else { return }
            if disconnections.isUnknown {
                askForDisconnections(
                    { [buffer] in try await buffer.standing(of: DisconnectionLog.stream) },
                    { gateway, standing in
                        gateway.disconnections.located(standing, gateway.now)
                        gateway.readDisconnections()
                    })
            } else if let position = disconnections.page(after: catchUpInterval, now) {
                askForDisconnections(
                    { [buffer] in
                        try await buffer.page(of: DisconnectionLog.stream, after: position, limit: 1000)
                    },
                    { gateway, page in
                        gateway.apply(gateway.disconnections.take(page, gateway.now))
                        gateway.readDisconnections()
                    })
            }
        }

        private func askForDisconnections<Answer: Sendable>(
            _ question: @escaping @Sendable () async throws -> Answer,
            _ handle: @escaping @Sendable (GatewayLoop, Answer) -> Void
        ) {
            isReadingDisconnections = true
            let (bound, loop) = (NIOLoopBound(self, eventLoop: loop), loop)
            Task {
                let answer = try? await question()
                loop.execute {
                    bound.value.isReadingDisconnections = false
                    if let answer { handle(bound.value, answer) } else { bound.value.disconnections.failed() }
                }
            }
        }
    }

    // MARK: - Directives

    extension GatewayLoop {
        private func performDirectives() {
            for (key, directive) in core.takeDirectives() {
                switch directive {
                case .send(let bytes): send(bytes, to: key)
                case .close(let code, let reason):
                    counts.closed[code.rawValue, default: 0] += 1
                    sockets[key]?.close(code.rawValue, reason)
                case .authenticate(let token, let properties):
                    counts.handshakes += 1
                    let app = app
                    ask(
                        .app, key, { try await app.user(of: token, properties) },
                        { core, answer, now in
                            let (user, ready) = answer ?? (nil, .none)
                            core.authenticated(
                                user?.name, issued: user?.issued.map { now.advanced(to: $0) },
                                expires: user?.expires.map { now.advanced(to: $0) }, ready: ready, on: key, now)
                        })
                case .locate(let stream):
                    // The core asks this only after authentication.
                    sockets[key]?.markAuthenticated()
                    if sockets[key] != nil { serve(stream, key) }
                    askBuffer(
                        key, of: stream, { [buffer] in try await buffer.standing(of: stream) },
                        { core, standing, now in core.located(standing, on: key, now) })
                case .read(let stream, let position, let limit):
                    counts.pagesRead += 1
                    askBuffer(
                        key, of: stream,
                        { [buffer] in try await buffer.page(of: stream, after: position, limit: limit) },
                        { core, page, now in core.read(page, on: key, now) })
                }
            }
        }

        /// - Parameter stream: the connection's stream; nil once the connection is closed.
        private func serve(_ stream: String?, _ key: Int) {
            let former = streams[key]
            guard former != stream else { return }
            streams[key] = stream
            if let stream { served.add(stream) }
            if let former { served.remove(former) }
        }

        private func send(_ bytes: [UInt8], to key: Int) {
            guard let socket = sockets[key] else { return }
            counts.framesSent += 1
            counts.bytesSent += bytes.count
            socket.send(message(of: bytes, for: socket))
        }

        /// Returns a message with these bytes. Reuses the last message if it was made from the same array, compared by
        /// address.
        private func message(of bytes: [UInt8], for socket: WebSocket) -> PreparedMessage {
            if let prepared, Self.areSame(prepared.bytes, bytes) { return prepared.message }
            let encoding = FrameEncoding(subprotocol: socket.subprotocol)
            let message = encoding == .json ? PreparedMessage(text: bytes) : PreparedMessage(binary: bytes)
            prepared = (bytes, message)
            return message
        }

        private static func areSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
            left.count == right.count
                && left.withUnsafeBufferPointer { left in
                    right.withUnsafeBufferPointer { left.baseAddress == $0.baseAddress }
                }
        }

        /// Asks the app, and passes the answer to the core on the loop.
        private func ask<Answer: Sendable>(
            _ source: GatewayProblem.Source, _ key: Int, _ question: @escaping @Sendable () async throws -> Answer,
            _ handle: @escaping @Sendable (inout GatewayCore, Answer, Duration) -> Void
        ) {
            let bound = NIOLoopBound(self, eventLoop: loop)
            let loop = loop
            Task {
                let answer: Result<Answer, any Error>
                do { answer = .success(try await question()) } catch { answer = .failure(error) }
                loop.execute { bound.value.answered(answer, source, key, handle) }
            }
        }

        /// Asks the buffer in the user's turn, and passes the answer to the core.
        private func askBuffer<Answer: Sendable>(
            _ key: Int, of user: String, _ question: @escaping @Sendable () async throws -> Answer,
            _ handle: @escaping @Sendable (inout GatewayCore, Answer, Duration) -> Void
        ) {
            let bound = NIOLoopBound(self, eventLoop: loop)
            turns.ask(
                of: user, isWanted: { bound.value.sockets[key] != nil }, question,
                answered: { bound.value.answered($0, .events, key, handle) })
        }

        private func answered<Answer>(
            _ answer: Result<Answer, any Error>, _ source: GatewayProblem.Source, _ key: Int,
            _ handle: (inout GatewayCore, Answer, Duration) -> Void
        ) {
            switch answer {
            case .success(let answer): handle(&core, answer, now)
            case .failure(let error):
                failed(source, "\(error)")
                core.failed("temporarily unavailable", on: key, now)
            }
            performDirectives()
        }
    }

    extension GatewayApp {
        fileprivate func user(
            of token: String, _ properties: ClientProperties?
        ) async throws -> (user: GatewayUser?, ready: ReadyFields)? {
            guard let user = try await authenticate(token, properties) else { return nil }
            guard let properties else { return (user, .none) }
            return (user, try await ready(user.name, properties))
        }
    }

    extension Duration {
        /// Converts a date to the time of a core whose current time is `self`.
        func advanced(to date: Date) -> Duration { self + .seconds(date.timeIntervalSinceNow) }
    }
#endif
