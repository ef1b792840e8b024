#if WebSocket
    import Foundation
    import MeshBase
    import MeshResumeGateway
    import MeshWebSocket
    import NIOCore

    /// The HTTP server of a gateway for operators and backends, always on loopback: metrics, and with the token also publishing and
    /// disconnecting.
    ///
    /// With a `PromptReplayBuffer`, requests are handled on the gateway's event loop, so that no thread waits for another.
    final class HTTPDoor: Sendable {
        private static let lanesMax = 32

        private let buffer: any ReplayBuffer
        private let gateway: NIOLoopBound<GatewayLoop>
        private let loop: any EventLoop
        /// The value of the header `Authorization` that backends must send; nil if they can neither publish nor
        /// disconnect.
        private let authorization: [UInt8]?
        private let keys = Locked(IdempotencyKeys())
        private let start = ContinuousClock.now

        private init(
            _ settings: GatewayServerSettings, _ buffer: any ReplayBuffer, _ gateway: NIOLoopBound<GatewayLoop>,
            _ loop: any EventLoop
        ) {
            (self.buffer, self.gateway, self.loop) = (buffer, gateway, loop)
            authorization = settings.publishToken.map { Array("Bearer \($0)".utf8) }
        }

        /// - Returns: nil if the settings have no port for it.
        static func start(
            _ settings: GatewayServerSettings, _ buffer: any ReplayBuffer, _ gateway: NIOLoopBound<GatewayLoop>,
            _ loop: any EventLoop
        ) async throws(WebSocketError) -> HTTPService? {
            guard let port = settings.metricsPort else { return nil }
            let door = HTTPDoor(settings, buffer, gateway, loop)
            return try await HTTPService.start(
                port: port, on: loop,
                .init(
                    usesLoop: buffer is any PromptReplayBuffer, refusal: { door.refusal(of: $0) },
                    answer: { await door.answer($0) }))
        }

        // MARK: Requests

        private enum Place {
            case metrics
            case publish
            case publishEvent(user: String, type: String)
            case disconnect(user: String)

            var method: String { if case .metrics = self { "GET" } else { "POST" } }
        }

        private static func place(of path: String) -> Place? {
            // By bytes, because a comparison of characters takes several times as long.
            let parts = path.utf8.prefix { $0 != UInt8(ascii: "?") }.split(separator: UInt8(ascii: "/")).map {
                let part = String(Substring($0))
                return $0.contains(UInt8(ascii: "%")) ? part.removingPercentEncoding ?? part : part
            }
            switch (parts.first, parts.count) {
            case ("metrics", 1): return .metrics
            case ("publish", 1): return .publish
            case ("publish", 3): return .publishEvent(user: parts[1], type: parts[2])
            case ("disconnect", 2): return .disconnect(user: parts[1])
            default: return nil
            }
        }

        private func refusal(of request: HTTPService.Request) -> HTTPService.Response? {
            guard let place = Self.place(of: request.path) else { return Self.notFound }
            if case .metrics = place {
                guard request.method != "HEAD" else { return nil }
            } else {
                guard let authorization else { return Self.notFound }
                guard (request.authorization ?? "").utf8.isEqualInConstantTime(to: authorization) else {
                    return .error(
                        401, "unauthorized", "send the gateway's token: 'Authorization: Bearer TOKEN'",
                        headers: [(name: "WWW-Authenticate", value: "Bearer")])
                }
            }
            guard request.method == place.method else {
                return .error(
                    405, "methodNotAllowed", "use \(place.method)", headers: [(name: "Allow", value: place.method)])
            }
            return nil
        }

        private static let notFound = HTTPService.Response.error(404, "notFound", "there is nothing at this path")

        private func answer(_ request: HTTPService.Request) async -> HTTPService.Response {
            switch Self.place(of: request.path) {
            case nil: return Self.notFound
            case .metrics:
                let gateway = gateway
                let counts = try? await loop.submit { gateway.value.currentCounts() }.get()
                return .init(status: 200, text: (counts ?? GatewayCounts()).text)
            case .disconnect(let user):
                do throws(PublishingError) {
                    try PublishedEvent.check(user: user)
                    try await disconnect(user)
                    return .init(status: 200, text: "{}\n", type: "application/json")
                } catch {
                    return error.response
                }
            case .publish:
                return await publish(request, asBatch: true) { () throws(PublishingError) in
                    try PublishedEvent.batch(request.body)
                }
            case .publishEvent(let user, let type):
                return await publish(request, asBatch: false) { () throws(PublishingError) in
                    [try PublishedEvent(user: user, type: type, json: request.body)]
                }
            }
        }

        private func disconnect(_ user: String) async throws(PublishingError) {
            do { try await GatewayServer.disconnect(user, through: buffer) } catch { throw failed(error) }
        }

        // MARK: Publishing

        private func publish(
            _ request: HTTPService.Request, asBatch: Bool, _ read: () throws(PublishingError) -> [PublishedEvent]
        ) async -> HTTPService.Response {
            do throws(PublishingError) {
                let events = try read()
                guard let key = try IdempotencyKeys.key(in: request.idempotencyKeys) else {
                    let sequences = try await append(events, Array(repeating: nil, count: events.count)).get()
                    return Self.published(sequences, asBatch: asBatch)
                }
                var hasher = Hasher()
                hasher.combine(request.path)
                hasher.combine(request.body)
                let (request, count) = (hasher.finalize(), events.count)
                let held = try keys.withLock { keys in
                    Result { () throws(PublishingError) in
                        try keys.begin(key, request: request, count: count, start.duration(to: .now))
                    }
                }.get()
                let outcome = await append(events, held)
                keys.withLock { $0.end(key, outcome.sequences) }
                return Self.published(try outcome.get(), asBatch: asBatch)
            } catch {
                return error.response
            }
        }

        private static func published(_ sequences: [UInt64], asBatch: Bool) -> HTTPService.Response {
            let text = sequences.map(String.init).joined(separator: ",")
            return .init(
                status: 200, text: asBatch ? "{\"s\":[\(text)]}\n" : "{\"s\":\(text)}\n", type: "application/json")
        }

        private struct Outcome {
            var sequences: [UInt64?]
            var error: PublishingError?

            func get() throws(PublishingError) -> [UInt64] {
                guard var error else { return sequences.compactMap { $0 } }
                error.sequences = sequences
                throw error
            }
        }

        /// Appends the events that aren't appended yet: those of one user in order, those of several users
        /// concurrently. Stops at the first error.
        private func append(_ events: [PublishedEvent], _ held: [UInt64?]) async -> Outcome {
            var lanes = Dictionary(grouping: events.indices.filter { held[$0] == nil }) { events[$0].user }
                .values.sorted { $0[0] < $1[0] }
            var outcome = Outcome(sequences: held)
            guard lanes.count > 1 else {
                for index in lanes.first ?? [] {
                    do { outcome.sequences[index] = try await append(events[index]) } catch {
                        outcome.error = error
                        break
                    }
                }
                count(outcome.sequences, held)
                return outcome
            }
            // A user's events stay in one lane, so that they keep their order.
            let perLane = (lanes.count + Self.lanesMax - 1) / Self.lanesMax
            lanes = stride(from: 0, to: lanes.count, by: perLane).map { start in
                lanes[start..<min(start + perLane, lanes.count)].flatMap { $0 }
            }
            let hasFailed = Locked(false)
            await withTaskGroup(of: ([(Int, UInt64)], PublishingError?).self) { group in
                for lane in lanes {
                    group.addTask {
                        var sequences: [(Int, UInt64)] = []
                        do throws(PublishingError) {
                            for index in lane where !hasFailed.withLock({ $0 }) {
                                sequences.append((index, try await self.append(events[index])))
                            }
                            return (sequences, nil)
                        } catch {
                            hasFailed.withLock { $0 = true }
                            return (sequences, error)
                        }
                    }
                }
                for await (sequences, error) in group {
                    for (index, sequence) in sequences { outcome.sequences[index] = sequence }
                    outcome.error = outcome.error ?? error
                }
            }
            count(outcome.sequences, held)
            return outcome
        }

        private func append(_ event: PublishedEvent) async throws(PublishingError) -> UInt64 {
            do { return try await buffer.append(event.event, to: event.user).sequence } catch { throw failed(error) }
        }

        private func count(_ sequences: [UInt64?], _ held: [UInt64?]) {
            let count = sequences.count { $0 != nil } - held.count { $0 != nil }
            loop.perform { self.gateway.value.published(count) }
        }

        private func failed(_ error: any Error) -> PublishingError {
            let isBusy = (error as? ReplayBufferError)?.code == .busy
            if let error = error as? ReplayBufferError, error.code == .invalidEvent {
                return PublishingError(.invalidEvent, error.message)
            }
            loop.execute { self.gateway.value.failed(.events, "\(error)") }
            return isBusy
                ? PublishingError(.busy, "too much is being published: try again later")
                : PublishingError(.unavailable, "the store didn't answer, so an event may have been appended")
        }
    }
#endif
