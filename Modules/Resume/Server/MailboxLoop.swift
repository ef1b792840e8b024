#if WebSocket
    import Foundation
    import MeshBase
    import MeshMailbox
    import MeshResume
    import MeshResumeGateway
    import MeshSecurity
    import MeshWebSocket
    import NIOCore

    /// Drives the mailboxes' core on its event loop, as `GatewayLoop` does that of streams.
    final class MailboxLoop: WebSocketObserver {
        private let loop: any EventLoop
        private let app: GatewayApp
        private let store: any MailboxStore
        private let watch: (@Sendable (MailboxActivity) -> Void)?
        private let failed: (GatewayProblem.Source, _ cause: String) -> Void
        private let start = ContinuousClock.now
        private var core: MailboxCore
        private var sockets: [Int: WebSocket] = [:]
        /// Of each connection one after another, also its last ones.
        private var writers: [Int: AsyncStream<MailboxWrite>.Continuation] = [:]
        private var isShuttingDown = false
        private(set) var acceptedCount = 0
        /// By close code.
        private(set) var closedCounts: [UInt16: Int] = [:]

        /// - Parameter failed: told of a question that the app or the store could not answer.
        init(
            _ settings: GatewayServerSettings, _ app: GatewayApp, _ store: any MailboxStore, on loop: any EventLoop,
            failed: @escaping (GatewayProblem.Source, _ cause: String) -> Void
        ) {
            (self.loop, self.app, self.store, watch) = (loop, app, store, settings.onMailboxActivity)
            self.failed = failed
            var mailbox = settings.mailbox
            mailbox.tellsActivity = watch != nil
            core = MailboxCore(mailbox, admission: settings.admission) { key, signature, signed in
                PeerID(signer: key, of: signed, signature: signature).flatMap { MailboxID(bytes: $0.bytes) }
            }
        }

        private var now: Duration { start.duration(to: .now) }
        var connectionCount: Int { sockets.count }
        var unsentBytes: Int { core.unsentBytes }

        // MARK: Sockets

        func opened(_ socket: WebSocket) {
            guard !isShuttingDown else { return socket.close(1001, "this gateway ends") }
            sockets[socket.key] = socket
            acceptedCount += 1
            var random = SystemRandomNumberGenerator()
            let challenge = (0..<MailboxFrame.challengeByteCount).map { _ in
                UInt8.random(in: 0 ... .max, using: &random)
            }
            core.open(socket.key, challenge: challenge, now)
            carryOut()
        }

        func received(_ message: [UInt8], isText: Bool, on socket: WebSocket) {
            guard !isText else { return socket.close(CloseCode.decodeError.rawValue, "frames are binary here") }
            core.receive(message, on: socket.key, now)
            carryOut()
        }

        func flushed(_ count: Int, on socket: WebSocket) {
            core.flushed(count, on: socket.key, now)
            carryOut()
        }

        func closed(_ code: UInt16?, _ socket: WebSocket) {
            guard sockets.removeValue(forKey: socket.key) != nil else { return }
            core.remove(socket.key)
            carryOut()
            writers.removeValue(forKey: socket.key)?.finish()
        }

        // MARK: The rest

        func noticed(_ notices: [ReplayNotice]) {
            for notice in notices { core.noticed(notice, now) }
            carryOut()
        }

        func heard(_ words: [MailboxWord]) {
            for word in words { core.heard(word, now) }
            carryOut()
        }

        func tick() {
            core.tick(now)
            carryOut()
        }

        func disconnect(_ user: String, madeAt: Date) {
            core.disconnect(user, madeAt: now.advanced(to: madeAt), now)
            carryOut()
        }

        func authenticateAgain() {
            core.authenticateAgain()
            carryOut()
        }

        func shutDown() {
            isShuttingDown = true
            core.shutDown()
            carryOut()
        }

        func drop(where isCut: (Int) -> Bool) {
            for (key, socket) in sockets.sorted(by: { $0.key < $1.key }) where isCut(key) { socket.drop() }
        }
    }

    // MARK: - Carrying out

    extension MailboxLoop {
        private func carryOut() {
            for (key, directive) in core.takeDirectives() { carryOut(directive, key) }
        }

        private func carryOut(_ directive: MailboxDirective, _ key: Int) {
            switch directive {
            case .send(let bytes): sockets[key]?.send(PreparedMessage(binary: bytes))
            case .pause: sockets[key]?.pause()
            case .resume: sockets[key]?.resume()
            case .close(let code, let reason):
                closedCounts[code.rawValue, default: 0] += 1
                sockets[key]?.close(code.rawValue, reason)
            case .write(let write): writer(of: key).yield(write)
            case .authenticate(let token):
                ask(
                    .app, key, { [app] in try await app.authenticate(token, nil) },
                    { core, user, now in
                        core.authenticated(
                            user?.name, issued: user?.issued.map { now.advanced(to: $0) },
                            expires: user?.expires.map { now.advanced(to: $0) }, on: key, now)
                    })
            case .locate(let stream):
                // Asked for users only.
                sockets[key]?.markAuthenticated()
                ask(
                    .mailboxes, key, { [store] in try await store.standing(of: stream) },
                    { core, standing, now in core.located(standing, on: key, now) })
            case .find(let names, let stream):
                ask(
                    .mailboxes, key, { [store] in try await store.values(names, of: stream) },
                    { core, values, now in core.found(values, on: key, now) })
            case .read(let stream, let position, let limit):
                ask(
                    .mailboxes, key, { [store] in try await store.page(of: stream, after: position, limit: limit) },
                    { core, page, now in core.read(page, on: key, now) })
            case .view(let stream):
                // Without an answer it is asked again by time.
                ask(
                    .mailboxes, nil, { [store] in try await store.values(MailboxCore.viewedNames, of: stream) },
                    { core, values, now in core.viewed(values, of: stream, now) })
            case .tell(let activity): watch?(activity)
            case .pass(let bytes, let stream):
                ask(.mailboxes, nil, { [store] in try await store.pass(bytes, to: stream) }, { _, _, _ in })
            }
        }

        private func writer(of key: Int) -> AsyncStream<MailboxWrite>.Continuation {
            if let writer = writers[key] { return writer }
            let (writes, writer) = AsyncStream<MailboxWrite>.makeStream()
            writers[key] = writer
            let (bound, loop, store) = (NIOLoopBound(self, eventLoop: loop), loop, store)
            Task {
                var failure: MailboxOutcome?
                for await write in writes {
                    let outcome: MailboxOutcome
                    if let failure, write.isPost { outcome = failure } else { outcome = await store.perform(write) }
                    if case .failed = outcome { failure = outcome }
                    loop.execute {
                        if case .failed(let cause) = outcome { bound.value.failed(.mailboxes, cause) }
                        bound.value.core.wrote(write, outcome, on: key, bound.value.now)
                        bound.value.carryOut()
                    }
                }
            }
            return writer
        }

        /// - Parameter key: whose connection ends where there is no answer; nil for nobody's.
        private func ask<Answer: Sendable>(
            _ source: GatewayProblem.Source, _ key: Int?, _ question: @escaping @Sendable () async throws -> Answer,
            _ tell: @escaping @Sendable (inout MailboxCore, Answer, Duration) -> Void
        ) {
            let (bound, loop) = (NIOLoopBound(self, eventLoop: loop), loop)
            Task {
                let answer: Result<Answer, any Error>
                do { answer = .success(try await question()) } catch { answer = .failure(error) }
                loop.execute {
                    let mailboxes = bound.value
                    switch answer {
                    case .success(let answer): tell(&mailboxes.core, answer, mailboxes.now)
                    case .failure(let error):
                        mailboxes.failed(source, "\(error)")
                        if let key { mailboxes.core.failed(on: key, mailboxes.now) }
                    }
                    mailboxes.carryOut()
                }
            }
        }
    }
#endif
