#if WebSocket
    import MeshBus
    import MeshResume
    public import MeshResumeGateway
    import MeshWebSocket
    import NIOCore
    import NIOPosix

    /// A gateway over WebSockets: resumable streams of numbered events for an app's users.
    ///
    /// ```swift
    /// let server = try await GatewayServer.start(settings, app: GatewayApp { token, _ in await user(of: token) }, buffer: buffer)
    /// try await server.publish(ReplayEvent(type: "MESSAGE", json: Array("1".utf8)), to: "user 7")
    /// await server.shutDown()
    /// ```
    ///
    /// All sockets live on one thread, beside which only the app's closures and the buffer run. A process of more cores runs
    /// more servers on one shared buffer.
    public final class GatewayServer: Sendable {
        /// Where it serves.
        public let port: Int
        public let metricsPort: Int?
        private let settings: GatewayServerSettings
        private let buffer: any ReplayBuffer
        private let loop: any EventLoop
        private let gateway: NIOLoopBound<GatewayLoop>
        private let listener: WebSocketServer
        private let metrics: HTTPService?
        private let ticks: RepeatedTask
        private let reader: Task<Void, Never>

        private init(
            _ settings: GatewayServerSettings, _ buffer: any ReplayBuffer, _ loop: any EventLoop,
            _ gateway: NIOLoopBound<GatewayLoop>, _ listener: WebSocketServer, _ metrics: HTTPService?
        ) {
            (self.settings, self.buffer, self.loop, self.gateway) = (settings, buffer, loop, gateway)
            (self.listener, self.metrics) = (listener, metrics)
            (port, metricsPort) = (listener.port, metrics?.port)
            ticks = loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in gateway.value.tick()
            }
            reader = Self.read(buffer.notices(), gateway, loop)
        }

        /// - Throws: `WebSocketError`.
        public static func start(
            _ settings: GatewayServerSettings = .init(), app: GatewayApp, buffer: any ReplayBuffer
        ) async throws -> GatewayServer {
            let tls = try ServerCertificate.context(settings.certificateFile, settings.keyFile)
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let gateway = try await loop.submit {
                NIOLoopBound(GatewayLoop(settings, app, buffer, on: loop), eventLoop: loop)
            }.get()
            let observer = try await loop.submit {
                NIOLoopBound<any WebSocketObserver>(gateway.value, eventLoop: loop)
            }.get()
            let listener = try await WebSocketServer.start(
                host: settings.host, port: settings.port, tls: tls,
                protocols: [FrameEncoding.binary, .json].map(\.subprotocol),
                limits: settings.socket, on: loop, observer: observer)
            let metrics = try await startMetrics(settings, buffer, gateway, loop)
            return GatewayServer(settings, buffer, loop, gateway, listener, metrics)
        }

        /// Appends an event. When it returns, the buffer has it: no client misses it while the buffer's limits keep it.
        /// - Throws: `ReplayBufferError`; the event may have been appended.
        @discardableResult
        public func publish(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition {
            let position = try await buffer.append(event, to: stream)
            loop.execute { self.gateway.value.published() }
            return position
        }

        public func counts() async -> GatewayCounts {
            let gateway = gateway
            return (try? await loop.submit { gateway.value.currentCounts() }.get()) ?? GatewayCounts()
        }

        /// Tells every client to come again, each at a time of its own, waits until they have gone, for a few seconds at most,
        /// and ends.
        public func shutDown() async {
            ticks.cancel()
            await listener.stop()
            let (gateway, loop, settings) = (gateway, loop, settings)
            try? await loop.flatSubmit {
                loop.scheduleTask(in: TimeAmount(settings.socket.closeTimeout)) { gateway.value.drop { _ in true } }
                return gateway.value.shutDown(spread: settings.shutdownSpread)
            }.get()
            reader.cancel()
            await metrics?.stop()
        }

        /// Ends as a crash would: no client hears a word.
        package func crash() async {
            ticks.cancel()
            await listener.stop()
            await drop { _ in true }
            reader.cancel()
            await metrics?.stop()
        }

        /// Cuts these connections, as a network would.
        package func drop(where isCut: @escaping @Sendable (Int) -> Bool) async {
            let gateway = gateway
            try? await loop.submit { gateway.value.drop(where: isCut) }.get()
        }

        /// Notices that come together cross to the loop together. While 1024 wait for it, the buffer's subscription keeps the
        /// rest, and drops what it cannot keep.
        private static func read(
            _ notices: AsyncStream<ReplayNotice>, _ gateway: NIOLoopBound<GatewayLoop>, _ loop: any EventLoop
        ) -> Task<Void, Never> {
            let waiting = Locked<[ReplayNotice]>([])
            let tell: @Sendable () -> Void = {
                gateway.value.noticed(
                    waiting.withLock { waiting in
                        defer { waiting = [] }
                        return waiting
                    })
            }
            return Task {
                for await notice in notices {
                    let count = waiting.withLock { waiting in
                        waiting.append(notice)
                        return waiting.count
                    }
                    if count == 1 { loop.execute(tell) }
                    if count >= 1024 { try? await loop.submit(tell).get() }
                }
            }
        }
    }
#endif
