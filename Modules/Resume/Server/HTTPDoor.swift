#if WebSocket
    import Foundation
    import MeshBase
    import MeshResumeGateway
    import MeshWebSocket
    import NIOCore

    extension GatewayServer {
        /// Serves operators and backends, always on loopback: metrics, and with the token also publishing and disconnecting.
        static func startMetrics(
            _ settings: GatewayServerSettings, _ buffer: any ReplayBuffer, _ gateway: NIOLoopBound<GatewayLoop>,
            _ loop: any EventLoop
        ) async throws(WebSocketError) -> HTTPService? {
            guard let port = settings.metricsPort else { return nil }
            return try await HTTPService.start(port: port, on: loop) { request in
                let path = request.path.split(separator: "/").map { $0.removingPercentEncoding ?? String($0) }
                switch (request.method, path.first, path.count) {
                case ("GET", "metrics", 1):
                    let counts = try? await loop.submit { gateway.value.currentCounts() }.get()
                    return .init(status: 200, text: (counts ?? GatewayCounts()).text)
                case ("POST", "publish", 3):
                    return await append(settings, gateway, loop, request) {
                        let event = try ReplayEvent(type: path[2], json: request.body)
                        let position = try await buffer.append(event, to: path[1])
                        loop.execute { gateway.value.published() }
                        return "{\"s\":\(position.sequence)}"
                    }
                case ("POST", "disconnect", 2):
                    return await append(settings, gateway, loop, request) {
                        try await disconnect(path[1], through: buffer)
                        return "{}"
                    }
                default: return .init(status: 404, text: "\n")
                }
            }
        }

        /// Answers a request if it carries the token for publishing.
        private static func append(
            _ settings: GatewayServerSettings, _ gateway: NIOLoopBound<GatewayLoop>, _ loop: any EventLoop,
            _ request: HTTPService.Request, _ body: () async throws -> String
        ) async -> HTTPService.Response {
            guard let token = settings.publishToken else { return .init(status: 404, text: "\n") }
            guard (request.authorization ?? "").utf8.isEqualInConstantTime(to: "Bearer \(token)".utf8) else {
                return .init(status: 401, text: "\n", headers: [(name: "WWW-Authenticate", value: "Bearer")])
            }
            do { return .init(status: 200, text: try await body() + "\n") } catch {
                if let error = error as? ReplayBufferError, error.code == .invalidEvent {
                    return .init(status: 400, text: "\(error.message)\n")
                }
                loop.execute { gateway.value.failed(.events, "\(error)") }
                return .init(status: 503, text: "temporarily unavailable\n")
            }
        }
    }
#endif
