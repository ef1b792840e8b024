#if WebSocket
    import MeshBase
    import MeshResumeGateway
    import MeshWebSocket
    import NIOCore

    extension GatewayServer {
        /// On loopback, whatever the gateway is for.
        static func startMetrics(
            _ settings: GatewayServerSettings, _ buffer: any ReplayBuffer, _ gateway: NIOLoopBound<GatewayLoop>,
            _ loop: any EventLoop
        ) async throws(WebSocketError) -> HTTPService? {
            guard let port = settings.metricsPort else { return nil }
            return try await HTTPService.start(port: port, on: loop) { request in
                switch request.path.split(separator: "/").map(String.init) {
                case ["metrics"] where request.method == "GET":
                    let counts = try? await loop.submit { gateway.value.currentCounts() }.get()
                    return .init(status: 200, text: (counts ?? GatewayCounts()).text)
                case let path where path.count == 3 && path[0] == "publish" && request.method == "POST":
                    guard let token = settings.publishToken else { return .init(status: 404, text: "\n") }
                    let given = request.authorization ?? ""
                    guard given.utf8.isEqualInConstantTime(to: "Bearer \(token)".utf8) else {
                        return .init(status: 401, text: "\n", headers: [(name: "WWW-Authenticate", value: "Bearer")])
                    }
                    do {
                        let event = try ReplayEvent(type: path[2], json: request.body)
                        let position = try await buffer.append(event, to: path[1])
                        loop.execute { gateway.value.published() }
                        return .init(status: 200, text: "{\"s\":\(position.sequence)}\n")
                    } catch {
                        if let error = error as? ReplayBufferError, error.code == .invalidEvent {
                            return .init(status: 400, text: "\(error.message)\n")
                        }
                        loop.execute { gateway.value.failed(.events, "\(error)") }
                        return .init(status: 503, text: "no answer now\n")
                    }
                default: return .init(status: 404, text: "\n")
                }
            }
        }
    }
#endif
