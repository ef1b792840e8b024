#if WebSocket
    import Foundation
    import MeshBase
    import MeshMailbox
    import MeshResume
    public import MeshResumeGateway
    import MeshWebSocket
    import NIOCore
    import NIOPosix

    /// A gateway over WebSockets: resumable streams of numbered events for an app's users, and mailboxes of their devices.
    ///
    /// ```swift
    /// let app = GatewayApp { token, _ in await user(of: token) }
    /// let server = try await GatewayServer.start(settings, app: app, buffer: buffer)
    /// try await server.publish(ReplayEvent(type: "MESSAGE", json: Array("1".utf8)), to: "user 7")
    /// await server.shutDown()
    /// ```
    ///
    /// All sockets run on one thread. Only the app's closures and a buffer of your own run elsewhere. To use more cores, start more
    /// servers on one shared buffer.
    public final class GatewayServer: Sendable {
        /// The TCP port at which the gateway serves clients.
        public let port: Int
        /// The loopback port of the metrics; nil if there are none.
        public let metricsPort: Int?
        private let settings: GatewayServerSettings
        private let buffer: any ReplayBuffer
        private let store: (any MailboxStore)?
        private let loop: any EventLoop
        private let gateway: NIOLoopBound<GatewayLoop>
        private let mailboxes: NIOLoopBound<MailboxLoop?>
        /// Kept here, because sockets hold it weakly.
        private let reception: NIOLoopBound<any WebSocketObserver>
        private let listener: WebSocketServer
        private let metrics: HTTPService?
        private let ticks: RepeatedTask
        private let readers: [Task<Void, Never>]

        private init(
            _ settings: GatewayServerSettings, _ buffer: any ReplayBuffer, _ store: (any MailboxStore)?,
            _ loop: any EventLoop, _ gateway: NIOLoopBound<GatewayLoop>, _ mailboxes: NIOLoopBound<MailboxLoop?>,
            _ reception: NIOLoopBound<any WebSocketObserver>, _ listener: WebSocketServer, _ metrics: HTTPService?,
            _ readers: [Task<Void, Never>]
        ) {
            (self.settings, self.buffer, self.store, self.loop, self.gateway) = (settings, buffer, store, loop, gateway)
            (self.mailboxes, self.reception, self.readers) = (mailboxes, reception, readers)
            (self.listener, self.metrics) = (listener, metrics)
            (port, metricsPort) = (listener.port, metrics?.port)
            ticks = loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
                gateway.value.tick()
                mailboxes.value?.tick()
            }
        }

        /// Starts a gateway that serves clients from a buffer.
        ///
        /// - Parameter store: the store of devices' mailboxes; nil for none.
        /// - Throws: `WebSocketError`: `invalidSettings` for a port, a `publishToken` or a `connectionsMax` that can't be used.
        public static func start(
            _ settings: GatewayServerSettings = .init(), app: GatewayApp, buffer: any ReplayBuffer,
            mailboxes store: (any MailboxStore)? = nil
        ) async throws -> GatewayServer {
            if let token = settings.publishToken, token.utf8.count < 16 {
                throw WebSocketError(.invalidSettings, "publishToken must have at least 16 bytes")
            }
            let tls = try ServerCertificate.context(settings.certificateFile, settings.keyFile)
            let settings = settings.withServerNames()
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let (served, servedMailboxes) = (ServedStreams(), ServedStreams())
            let gateway = try await loop.submit {
                NIOLoopBound(GatewayLoop(settings, app, buffer, served, on: loop), eventLoop: loop)
            }.get()
            let mailboxes = try await loop.submit {
                NIOLoopBound(
                    store.map {
                        MailboxLoop(settings, app, $0, servedMailboxes, on: loop) { gateway.value.failed($0, $1) }
                    },
                    eventLoop: loop)
            }.get()
            let reception = try await loop.submit {
                NIOLoopBound<any WebSocketObserver>(
                    SocketReception(gateway.value, mailboxes.value), eventLoop: loop)
            }.get()
            let listener = try await WebSocketServer.start(
                host: settings.host, port: settings.port, tls: tls,
                protocols: [FrameEncoding.binary, .json].map(\.subprotocol)
                    + (store == nil ? [] : MailboxFrame.subprotocols),
                allowedOrigins: settings.allowedOrigins, limits: settings.socket,
                addresses: ClientAddressing(
                    trusting: settings.trustedProxies, usesProxyProtocol: settings.usesProxyProtocol),
                on: loop, observer: reception)
            try await loop.submit { gateway.value.mailboxes = mailboxes.value }.get()
            let metrics: HTTPService?
            do { metrics = try await HTTPDoor.start(settings, buffer, gateway, loop) } catch {
                await listener.stop()
                throw error
            }
            let executor = buffer is any PromptReplayBuffer ? LoopExecutor(loop) : nil
            var readers = [read(buffer.notices(of: served), loop, on: executor) { gateway.value.noticed($0) }]
            if let store {
                readers.append(read(store.notices(of: servedMailboxes), loop) { mailboxes.value?.noticed($0) })
                readers.append(read(store.words(of: servedMailboxes), loop) { mailboxes.value?.changed($0) })
            }
            // After the subscription, so that no disconnection is missed. Without an answer the loop asks again.
            let standing = try? await buffer.standing(of: DisconnectionLog.stream)
            loop.execute { gateway.value.readDisconnections(in: standing) }
            return GatewayServer(
                settings, buffer, store, loop, gateway, mailboxes, reception, listener, metrics, readers)
        }

        /// Appends an event to a user's stream. When this returns, the buffer has the event, and no client misses it while the
        /// buffer's limits keep it.
        ///
        /// - Throws: `ReplayBufferError`; the event may have been appended.
        @discardableResult
        public func publish(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition {
            let position = try await buffer.append(event, to: stream)
            loop.execute { self.gateway.value.published() }
            return position
        }

        /// Closes a user's connections to streams and mailboxes, at every gateway on the same buffer, with close code
        /// 4016.
        ///
        /// Every gateway learns of this call at once, or as soon as it reaches the buffer again. For
        /// `GatewaySettings.tokenLifetimeMax` it then refuses the user's tokens that were issued before the call
        /// (`GatewayUser.issued`). `GatewayApp.authenticate` decides whether the user may return. A gateway that starts
        /// later learns of the call too, while the buffer keeps its event.
        ///
        /// - Parameter user: the user's name, as `authenticate` returns it.
        /// - Throws: `ReplayBufferError`; some gateways may have disconnected the user nevertheless.
        public func disconnect(user: String) async throws {
            try await Self.disconnect(user, through: buffer)
        }

        static func disconnect(_ user: String, through buffer: any ReplayBuffer) async throws {
            _ = try await buffer.append(Disconnection(user: user, madeAt: Date()).event(), to: DisconnectionLog.stream)
        }

        /// Removes a user's device: its mailbox and all messages in it. The device no longer counts as one of the user's, and its
        /// connection at any gateway is closed with code 4004. If the app still accepts the device's token, the device may return
        /// with an empty mailbox.
        ///
        /// - Parameters:
        ///   - deviceID: the ID of the device's key (`PeerID`), in 64 hexadecimal digits.
        ///   - user: the user's stream, as `GatewayApp.authenticate` returns it.
        /// - Throws: `ReplayBufferError.Code.unavailable`, also for a gateway without mailboxes; the mailbox may have been
        ///   removed.
        public func removeDevice(_ deviceID: String, of user: String) async throws {
            guard let store else { throw ReplayBufferError(.unavailable, "this gateway has no mailboxes") }
            try await store.remove(deviceID, of: user)
        }

        /// Returns the counters of the gateway so far. They are all zero once it has ended.
        public func counts() async -> GatewayCounts {
            let gateway = gateway
            return (try? await loop.submit { gateway.value.currentCounts() }.get()) ?? GatewayCounts()
        }

        /// Asks every client to reconnect, each at a different time. Waits until they have gone and the store has the last
        /// writes of their mailboxes, but at most ten seconds. Then ends.
        public func shutDown() async {
            ticks.cancel()
            await listener.stop()
            let (gateway, mailboxes, loop, settings) = (gateway, mailboxes, loop, settings)
            let closeTimeout = settings.socket.closeTimeout
            try? await loop.flatSubmit { () -> EventLoopFuture<Void> in
                loop.scheduleTask(in: TimeAmount(closeTimeout)) {
                    gateway.value.drop { _ in true }
                    mailboxes.value?.drop { _ in true }
                }
                let streams = gateway.value.shutDown(spread: settings.shutdownSpread)
                guard let devices = mailboxes.value?.shutDown(within: closeTimeout * 2) else { return streams }
                return streams.and(devices).map { _ in }
            }.get()
            for reader in readers { reader.cancel() }
            await metrics?.stop()
        }

        /// Ends as a crash would, without a message to any client.
        package func crash() async {
            ticks.cancel()
            await listener.stop()
            await drop { _ in true }
            for reader in readers { reader.cancel() }
            await metrics?.stop()
        }

        /// Closes these connections without a close frame, as a network failure would.
        package func drop(where isCut: @escaping @Sendable (Int) -> Bool) async {
            let (gateway, mailboxes) = (gateway, mailboxes)
            try? await loop.submit {
                gateway.value.drop(where: isCut)
                mailboxes.value?.drop(where: isCut)
            }.get()
        }

        /// Forwards a subscription's elements to the loop in batches. While 1024 wait for the loop, the subscription
        /// buffers the rest, and drops elements beyond its own limit.
        ///
        /// - Parameter executor: runs the subscription; nil for Swift's thread pool.
        private static func read<Element: Sendable>(
            _ stream: AsyncStream<Element>, _ loop: any EventLoop, on executor: LoopExecutor? = nil,
            _ handle: @escaping @Sendable ([Element]) -> Void
        ) -> Task<Void, Never> {
            let waiting = Locked<[Element]>([])
            let handOver: @Sendable () -> Void = {
                handle(
                    waiting.withLock { waiting in
                        defer { waiting = [] }
                        return waiting
                    })
            }
            return LoopExecutor.run(on: executor) {
                for await element in stream {
                    let count = waiting.withLock { waiting in
                        waiting.append(element)
                        return waiting.count
                    }
                    if count == 1 { loop.execute(handOver) }
                    if count >= 1024 { try? await loop.submit(handOver).get() }
                }
            }
        }
    }
#endif
