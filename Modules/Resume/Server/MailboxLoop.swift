#if WebSocket
    import Foundation
    import MeshBase
    import MeshMailbox
    import MeshResume
    import MeshResumeGateway
    import MeshSecurity
    import MeshWebSocket
    import NIOCore

    /// Drives the mailboxes' core on its event loop, as `GatewayLoop` drives the core of streams.
    final class MailboxLoop: WebSocketObserver {
        private let loop: any EventLoop
        private let app: GatewayApp
        private let store: any MailboxStore
        private let served: ServedStreams
        private let onActivity: (@Sendable (MailboxActivity) -> Void)?
        private let failed: (GatewayProblem.Source, _ cause: String) -> Void
        private let start = ContinuousClock.now
        private var core: MailboxCore
        private var sockets: [Int: WebSocket] = [:]
        /// The user of each connection whose token was accepted.
        private var users: [Int: String] = [:]
        private let turns: StoreTurns
        /// The writes of each connection, in order. The first one is in progress.
        private var writes: [Int: WriteQueue] = [:]
        private var isShuttingDown = false
        private var whenDone: EventLoopPromise<Void>?
        private(set) var acceptedCount = 0
        /// The number of connections that the gateway closed, by close code.
        private(set) var closedCounts: [UInt16: Int] = [:]

        private struct WriteQueue {
            let user: String
            var waiting: [MailboxWrite] = []
            var failure: MailboxOutcome?
        }

        /// - Parameter failed: called for each request that the app or the store couldn't answer.
        init(
            _ settings: GatewayServerSettings, _ app: GatewayApp, _ store: any MailboxStore, _ served: ServedStreams,
            on loop: any EventLoop, failed: @escaping (GatewayProblem.Source, _ cause: String) -> Void
        ) {
            (self.loop, self.app, self.store, self.served) = (loop, app, store, served)
            onActivity = settings.onMailboxActivity
            self.failed = failed
            var mailbox = settings.mailbox
            mailbox.tellsActivity = onActivity != nil
            mailbox.tokenRenewalLead = settings.connection.tokenRenewalLead
            mailbox.tokenLifetimeMax = settings.connection.tokenLifetimeMax
            turns = StoreTurns(settings.userBudget, on: loop)
            core = MailboxCore(mailbox, admission: settings.admission) { key, signature, signed in
                PeerID(signer: key, of: signed, signature: signature).flatMap { MailboxID(bytes: $0.bytes) }
            }
            turns.onStrain = { [weak self] user, isStrained in
                self?.core.strain(user, isStrained)
                self?.performDirectives()
            }
        }

        private var now: Duration { start.duration(to: .now) }
        var connectionCount: Int { sockets.count }
        var unsentBytes: Int { core.unsentBytes }

        // MARK: Sockets

        func opened(_ socket: WebSocket) {
            guard !isShuttingDown else { return socket.close(1001, "this gateway is shutting down") }
            sockets[socket.key] = socket
            acceptedCount += 1
            var random = SystemRandomNumberGenerator()
            let challenge = (0..<MailboxFrame.challengeByteCount).map { _ in
                UInt8.random(in: 0 ... .max, using: &random)
            }
            core.open(socket.key, challenge: challenge, from: socket.address, now)
            performDirectives()
        }

        func received(_ message: [UInt8], isText: Bool, on socket: WebSocket) {
            guard !isText else {
                return socket.close(CloseCode.decodeError.rawValue, "this connection uses binary frames")
            }
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
            performDirectives()
            users[socket.key] = nil
            if writes[socket.key]?.waiting.isEmpty == true { writes[socket.key] = nil }
            reportIfDone()
        }

        // MARK: Notices and time

        func noticed(_ notices: [ReplayNotice]) {
            for notice in notices { core.noticed(notice, now) }
            performDirectives()
        }

        func changed(_ words: [MailboxWord]) {
            for word in words { core.changed(word, now) }
            performDirectives()
        }

        func tick() {
            core.tick(now)
            performDirectives()
        }

        func disconnect(_ user: String, madeAt: Date) {
            core.disconnect(user, madeAt: now.advanced(to: madeAt), now)
            performDirectives()
        }

        func authenticateAgain() {
            core.authenticateAgain()
            performDirectives()
        }

        /// - Returns: a future that succeeds when all sockets are closed and the store has answered their last writes, or
        ///   after `timeout`. All calls return the same one.
        func shutDown(within timeout: Duration) -> EventLoopFuture<Void> {
            isShuttingDown = true
            core.shutDown()
            performDirectives()
            let promise = whenDone ?? loop.makePromise(of: Void.self)
            whenDone = promise
            loop.scheduleTask(in: TimeAmount(timeout)) { promise.succeed() }
            reportIfDone()
            return promise.futureResult
        }

        private func reportIfDone() { if sockets.isEmpty, writes.isEmpty { whenDone?.succeed() } }

        func drop(where isCut: (Int) -> Bool) {
            for (key, socket) in sockets.sorted(by: { $0.key < $1.key }) where isCut(key) { socket.drop() }
        }
    }

    // MARK: - Directives

    extension MailboxLoop {
        private func performDirectives() {
            for (key, directive) in core.takeDirectives() { perform(directive, key) }
        }

        private func perform(_ directive: MailboxDirective, _ key: Int) {
            switch directive {
            case .send(let bytes): sockets[key]?.send(PreparedMessage(binary: bytes))
            case .pause: sockets[key]?.pause()
            case .resume: sockets[key]?.resume()
            case .close(let code, let reason):
                closedCounts[code.rawValue, default: 0] += 1
                sockets[key]?.close(code.rawValue, reason)
            case .write(let write): enter(write, key)
            case .authenticate(let token): authenticate(token, key)
            case .locate(let stream):
                // The core asks this only after authentication.
                sockets[key]?.markAuthenticated()
                ask(
                    key, { [store] in try await store.standing(of: stream) },
                    { core, standing, now in core.located(standing, on: key, now) })
            case .find(let names, let stream):
                ask(
                    key, { [store] in try await store.values(names, of: stream) },
                    { core, values, now in core.found(values, on: key, now) })
            case .read(let stream, let position, let limit):
                ask(
                    key, { [store] in try await store.page(of: stream, after: position, limit: limit) },
                    { core, page, now in core.read(page, on: key, now) })
            case .view(let stream):
                // If there is no answer, the core asks again after a time.
                ask(
                    key, endsWithoutAnswer: false,
                    { [store] in try await store.values(MailboxCore.viewedNames, of: stream) },
                    { core, values, now in core.viewed(values, of: stream, now) })
            case .serve(let stream, let isServed): isServed ? served.add(stream) : served.remove(stream)
            case .report(let activity): onActivity?(activity)
            case .pass(let bytes, let stream):
                guard let user = users[key], !turns.dropsLivePackets(of: user) else { return }
                ask(
                    key, endsWithoutAnswer: false, byteCount: bytes.count,
                    { [store] in try await store.pass(bytes, to: stream) }, { _, _, _ in })
            }
        }

        private func authenticate(_ token: String, _ key: Int) {
            let (bound, loop, app) = (NIOLoopBound(self, eventLoop: loop), loop, app)
            Task {
                let answer: Result<GatewayUser?, any Error>
                do { answer = .success(try await app.authenticate(token, nil)) } catch { answer = .failure(error) }
                loop.execute {
                    let mailboxes = bound.value
                    guard mailboxes.sockets[key] != nil else { return }
                    switch answer {
                    case .success(let user):
                        let now = mailboxes.now
                        mailboxes.users[key] = user?.name
                        mailboxes.core.authenticated(
                            user?.name, issued: user?.issued.map { now.advanced(to: $0) },
                            expires: user?.expires.map { now.advanced(to: $0) }, on: key, now)
                    case .failure(let error):
                        mailboxes.failed(.app, "\(error)")
                        mailboxes.core.failed(on: key, mailboxes.now)
                    }
                    mailboxes.performDirectives()
                }
            }
        }

        /// - Parameter endsWithoutAnswer: true to close the connection if there is no answer.
        private func ask<Answer: Sendable>(
            _ key: Int, endsWithoutAnswer: Bool = true, byteCount: Int = 0,
            _ question: @escaping @Sendable () async throws -> Answer,
            _ handle: @escaping @Sendable (inout MailboxCore, Answer, Duration) -> Void
        ) {
            guard let user = users[key] else { return }
            let bound = NIOLoopBound(self, eventLoop: loop)
            turns.ask(
                of: user, byteCount: byteCount, isWanted: { bound.value.sockets[key] != nil }, question,
                answered: { answer in
                    let mailboxes = bound.value
                    switch answer {
                    case .success(let answer): handle(&mailboxes.core, answer, mailboxes.now)
                    case .failure(let error):
                        mailboxes.failed(.mailboxes, "\(error)")
                        if endsWithoutAnswer { mailboxes.core.failed(on: key, mailboxes.now) }
                    }
                    mailboxes.performDirectives()
                })
        }
    }

    // MARK: - Writing

    extension MailboxLoop {
        private func enter(_ write: MailboxWrite, _ key: Int) {
            guard let user = writes[key]?.user ?? users[key] else { return }
            writes[key, default: WriteQueue(user: user)].waiting.append(write)
            if writes[key]?.waiting.count == 1 { writeNext(key) }
        }

        /// Starts a connection's next write. After a failed write, later posts fail too: they would overtake the post that
        /// the device repeats.
        private func writeNext(_ key: Int) {
            guard let queue = writes[key], let write = queue.waiting.first else { return }
            // A device whose connection is closed posts again on the next one.
            let isGone = sockets[key] == nil && write.isPost
            if let failure = isGone ? .failed("the connection is closed") : write.isPost ? queue.failure : nil {
                let bound = NIOLoopBound(self, eventLoop: loop)
                return loop.execute { bound.value.wrote(write, failure, key) }
            }
            let (bound, store) = (NIOLoopBound(self, eventLoop: loop), store)
            turns.ask(
                of: queue.user, byteCount: write.byteCount, { try await store.perform(write) },
                answered: { answer in
                    switch answer {
                    case .success(let hasRoom): bound.value.wrote(write, hasRoom ? .done : .full, key)
                    case .failure(let error):
                        bound.value.failed(.mailboxes, "\(error)")
                        bound.value.wrote(write, .failed("\(error)"), key)
                    }
                })
        }

        private func wrote(_ write: MailboxWrite, _ outcome: MailboxOutcome, _ key: Int) {
            if case .failed = outcome { writes[key]?.failure = outcome }
            core.wrote(write, outcome, on: key, now)
            performDirectives()
            writes[key]?.waiting.removeFirst()
            if writes[key]?.waiting.isEmpty == true, sockets[key] == nil { writes[key] = nil }
            writeNext(key)
            reportIfDone()
        }
    }
#endif
