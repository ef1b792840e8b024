#if WebSocket
    import MeshBase
    import MeshMailbox
    import MeshRelay
    import MeshSecurity
    import MeshTransport

    /// A relay client for a gateway's mailboxes. It opens one socket after another, on which `MailboxClientCore` speaks
    /// the protocol.
    ///
    /// The observer is called on the socket's thread; failed attempts are reported from the connecting task. The core's
    /// bounds apply. With more than `unsentBytesMax` bytes unsent, `publish` throws `full`.
    final class GatewayRelayClient: RelayClient, Sendable {
        static let unsentBytesMax = 1 << 20

        private struct State {
            var core = MailboxClientCore()
            var observer: (any RelayClientObserver)?
            var socket: (any MailboxSocket)?
            var unsentBytes = 0
            /// The peers that this one follows and admits.
            var followed: Set<PeerID> = []
            /// The challenge to sign once there is a token.
            var challenge: [UInt8]?
            var isAskingForToken = false
            var wasOpen = false
            var dropReason: String?
            var isClosed = false
            var tasks: [Task<Void, Never>] = []
        }

        let address: String
        private let configuration: GatewayLinkConfiguration
        private let dial: MailboxDial
        private let state = Locked(State())
        private let clock = SystemClock()
        private let timer: DueTimer

        init(_ configuration: GatewayLinkConfiguration, dial: @escaping MailboxDial) {
            (self.configuration, self.dial, address) = (configuration, dial, configuration.url)
            timer = DueTimer(clock)
        }

        private var own: PeerID { configuration.identity.peerID }

        func open(_ observer: any RelayClientObserver) {
            state.withLock { $0.observer = observer }
            let tasks = [
                Task { await connect() },
                timer.run { [weak self] in self?.perform { $0.tick($1) } },
            ]
            state.withLock { $0.tasks = tasks }
        }

        func subscribe(to topics: [String]) { follow(topics) { $0.formUnion($1) } }
        func unsubscribe(from topics: [String]) { follow(topics) { $0.subtract($1) } }

        private func follow(_ topics: [String], _ change: (inout Set<PeerID>, [PeerID]) -> Void) {
            let ids = topics.compactMap { topic -> PeerID? in
                if case .presence(let id) = RelayTopic(topic), id != own { id } else { nil }
            }
            let followed = state.withLock { state in
                change(&state.followed, ids)
                return state.followed.sorted()
            }
            perform { $0.follow(followed.compactMap { MailboxID(bytes: $0.bytes) }, $1) }
        }

        func publish(_ message: RelayMessage) throws(LinkError) {
            guard let (lane, receiver, key, isHeld) = MailboxLane.of(message.topic),
                let id = MailboxID(bytes: receiver.bytes)
            else { throw LinkError(.unreachable, "peers don't publish to \(message.topic)") }
            let result = perform { core, now in
                core.post(message.bytes, to: id, on: lane, key: key, isHeld: isHeld, now)
            }
            switch result {
            case .taken: return
            case .full: throw LinkError(state.withLock { $0.isClosed } ? .closed : .full)
            case .oversized:
                throw LinkError(.oversized, "a gateway accepts at most \(MailboxFrame.bytesMax) bytes per message")
            }
        }

        func drop() { state.withLock { $0.socket }?.drop() }

        func close() async {
            let end = ContinuousClock.now + .seconds(1)
            while state.withLock({ $0.core.isOpen && ($0.core.heldCount > 0 || $0.unsentBytes > 0) }),
                ContinuousClock.now < end
            { try? await Task.sleep(for: .milliseconds(2)) }
            let (socket, tasks) = state.withLock { state in
                state.isClosed = true
                defer { state.tasks = [] }
                return (state.socket, state.tasks)
            }
            for task in tasks { task.cancel() }
            socket?.close()
            // Limits the time that a hanging gateway can delay `close`.
            let late = Task {
                try await Task.sleep(for: .milliseconds(500))
                socket?.drop()
            }
            for task in tasks { await task.value }
            late.cancel()
            state.withLock { $0.observer = nil }
        }
    }

    // MARK: - One socket after another

    extension GatewayRelayClient {
        private func connect() async {
            var backoff = ReconnectBackoff(from: .milliseconds(250), to: .seconds(30))
            var random = SplitMix64(seed: .random(in: 0 ... .max))
            while !Task.isCancelled {
                let connection = Connection(self)
                let began = ContinuousClock.now
                do {
                    try await dial(connection)
                    await withTaskCancellationHandler {
                        await connection.end.value
                    } onCancel: {
                        self.state.withLock { $0.socket }?.close()
                    }
                } catch {
                    if !Task.isCancelled { observer?.refused("\(address): \(error)") }
                }
                let outcome = connection.outcome.withLock { $0 }
                let pause = backoff.next(
                    after: outcome.wasOpen ? ContinuousClock.now - began : nil,
                    outcome.isReplaced ? .replaced : .failed,
                    &random)
                if outcome.isReplaced, let problem = backoff.problem { observer?.refused("\(address): \(problem)") }
                try? await Task.sleep(for: pause)
            }
        }

        private var observer: (any RelayClientObserver)? { state.withLock { $0.observer } }

        /// Calls the core and performs its directives. Frames must leave in the core's order, so they are passed to the
        /// socket under the lock. That can't deadlock, because the socket doesn't call the observer from `send`.
        @discardableResult
        private func perform<Result>(_ body: (inout MailboxClientCore, Duration) -> Result) -> Result {
            let (result, rest) = state.withLock { state in
                if state.unsentBytes > Self.unsentBytesMax { state.core.setSocketWritable(false) }
                let result = body(&state.core, clock.elapsed)
                timer.wake(at: state.core.dueAt)
                var rest: [MailboxClientCore.Directive] = []
                for directive in state.core.takeDirectives() {
                    guard case .send(let bytes) = directive else {
                        rest.append(directive)
                        continue
                    }
                    state.unsentBytes += bytes.count
                    state.socket?.send(bytes)
                }
                return (result, rest)
            }
            for directive in rest { perform(directive) }
            return result
        }

        private func perform(_ directive: MailboxClientCore.Directive) {
            switch directive {
            case .send: break
            case .prove(let challenge): prove(challenge)
            case .opened:
                state.withLock { ($0.wasOpen, $0.followed) = (true, []) }
                observer?.connected()
            case .following: observer?.subscribed()
            case .presence(let id, let bytes):
                guard let id = PeerID(bytes: id.bytes) else { return }
                bytes.withUnsafeBytes { observer?.received($0, on: RelayTopic.presence(id).name) }
            case .received(let packet):
                guard let topic = packet.topic(to: own) else { return }
                packet.bytes.withUnsafeBytes { observer?.received($0, on: topic.name) }
            case .writable: observer?.writable()
            case .refused(_, let reason): observer?.refused("\(address): \(reason)")
            case .drop(let reason):
                let socket = state.withLock { state in
                    state.dropReason = reason
                    return state.socket
                }
                socket?.drop()
            }
        }

        /// Asks the app for the token, one call at a time, and signs the newest challenge.
        private func prove(_ challenge: [UInt8]) {
            let isAsking = state.withLock { state in
                state.challenge = challenge
                defer { state.isAskingForToken = true }
                return state.isAskingForToken
            }
            guard !isAsking else { return }
            Task {
                let token = await configuration.token()
                let challenge = state.withLock { state in
                    state.isAskingForToken = false
                    return state.challenge.take()
                }
                guard let challenge, let observer else { return }
                guard let token else { return drop("the app returned no token") }
                let identity = configuration.identity
                let server = configuration.server
                guard let signature = try? identity.signature(of: MailboxFrame.signed(challenge, server: server)) else {
                    return drop("the identity's key can't sign")
                }
                let opening = MailboxOpening(
                    token: token, publicKey: identity.publicKeyDER, signature: signature,
                    will: observer.nextWill().bytes, server: server)
                perform { $0.open(opening, $1) }
            }
        }

        private func drop(_ reason: String) { perform(.drop(reason)) }

        /// Forwards a socket's events to the client.
        fileprivate final class Connection: MailboxSocketObserver {
            private let client: GatewayRelayClient
            let outcome = Locked((wasOpen: false, isReplaced: false))
            let end: Task<Void, Never>
            private let over: AsyncStream<Never>.Continuation

            init(_ client: GatewayRelayClient) {
                self.client = client
                let (stream, over) = AsyncStream<Never>.makeStream()
                self.over = over
                end = Task { for await _ in stream {} }
            }

            deinit { over.finish() }

            func opened(_ socket: any MailboxSocket) {
                let isClosed = client.state.withLock { state in
                    (state.socket, state.unsentBytes) = (socket, 0)
                    (state.wasOpen, state.dropReason, state.challenge) = (false, nil, nil)
                    return state.isClosed
                }
                if isClosed { socket.close() }
                client.perform { $0.connected($1) }
            }

            func received(_ bytes: [UInt8]) { client.perform { $0.received(bytes, $1) } }

            func flushed(_ count: Int) {
                let hasRoom = client.state.withLock { state in
                    state.unsentBytes = max(0, state.unsentBytes - count)
                    return state.unsentBytes < GatewayRelayClient.unsentBytesMax / 2
                }
                if hasRoom { client.perform { core, _ in core.setSocketWritable(true) } }
            }

            func closed(_ code: UInt16?) {
                let (wasOpen, reason) = client.state.withLock { state in
                    state.socket = nil
                    return (state.wasOpen, state.dropReason)
                }
                outcome.withLock { $0 = (wasOpen, code == Self.replaced) }
                client.perform { core, _ in core.disconnected() }
                let description = "\(client.address): \(reason ?? code.map(Self.reason) ?? "the connection was lost")"
                if wasOpen { client.observer?.disconnected(description) } else { client.observer?.refused(description) }
                over.finish()
            }

            private static let replaced: UInt16 = 4009

            private static func reason(_ code: UInt16) -> String {
                switch code {
                case 4004: "the gateway doesn't accept this token or key"
                case 4008: "the gateway is overloaded, or this user has too many devices"
                case replaced: "another connection holds this mailbox"
                case 4015: "the token has expired or expires soon"
                case 4016: "the server's app has disconnected this user"
                default: "the gateway closed the connection with code \(code)"
                }
            }
        }
    }

    extension MailboxLane {
        /// Returns the lane of a topic and its parts; nil if peers don't publish on the topic.
        fileprivate static func of(_ topic: String) -> (lane: MailboxLane, to: PeerID, key: String, isHeld: Bool)? {
            switch RelayTopic(topic) {
            case .presence(let peer): (.presence, peer, "", true)
            case .hello(let peer, _): (.hello, peer, "", false)
            case .datagram(let peer, _): (.datagram, peer, "", false)
            case .queue(let peer, _): (.queue, peer, "", true)
            case .latest(let peer, _, let key): (.latest, peer, key, true)
            case nil: nil
            }
        }
    }

    extension MailboxPacket {
        fileprivate func topic(to own: PeerID) -> RelayTopic? {
            guard let from = PeerID(bytes: from.bytes) else { return nil }
            return switch lane {
            case .hello: .hello(to: own, from: from)
            case .datagram: .datagram(to: own, from: from)
            case .queue: .queue(to: own, from: from)
            case .latest: .latest(to: own, from: from, key: key)
            case .presence: nil
            }
        }
    }
#endif
