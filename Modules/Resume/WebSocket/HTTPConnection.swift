#if WebSocket
    import NIOCore
    import NIOHTTP1

    /// A connection of an `HTTPService`. Confined to its event loop.
    ///
    /// Holds at most `pipelinedMax` waiting requests, the requests of one more read of the socket, and the body of one
    /// request that is being received. Closes the connection of a client that is slow to send a request or to take
    /// answers, or that sends no further request.
    final class HTTPConnection: ChannelDuplexHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundIn = Never
        typealias OutboundOut = ByteBuffer

        /// A request that is being received or waits for its answer.
        private struct Turn {
            var request: HTTPService.Request
            /// The answer, if the request is refused. Its body is dropped.
            var refusal: HTTPService.Response?
            /// True if the connection ends after this answer.
            var isLast: Bool
            var bytes = 0

            var hasBodyInAnswer: Bool { request.method != "HEAD" }
        }

        private let answers: HTTPService.Answers
        private let executor: LoopExecutor?
        private var context: ChannelHandlerContext?
        private var incoming: Turn?
        private var waiting: [Turn] = []
        /// Requests before this index are answered.
        private var first = 0
        private var isAnswering = false
        /// True once nothing more is read from this client, because of its last request or an error.
        private var isEnding = false
        private var wantsRead = false
        private var isReceiving = false
        private var hasPart = false
        private var deadline: NIODeadline
        private var check: Scheduled<Void>?
        private var acceptedHost: String?

        init(_ answers: HTTPService.Answers, on loop: any EventLoop) {
            self.answers = answers
            executor = answers.usesLoop ? LoopExecutor(loop) : nil
            deadline = loop.now + HTTPService.requestTimeout
        }

        func handlerAdded(context: ChannelHandlerContext) {
            self.context = context
            planCheck(context)
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            self.context = nil
            check?.cancel()
            (waiting, first, incoming) = ([], 0, nil)
        }

        // MARK: Requests

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            hasPart = true
            guard !isEnding else { return }
            switch unwrapInboundIn(data) {
            case .head(let head): begin(head, context)
            case .body(let bytes): take(bytes)
            case .end: endRequest()
            }
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            // If the bytes that were read completed no part, they belong to a head that hasn't ended.
            let isWithinRequest = incoming != nil || (!hasPart && waiting.isEmpty && !isAnswering)
            if isWithinRequest, !isReceiving, !isEnding {
                isReceiving = true
                limitTime(HTTPService.requestTimeout)
            }
            hasPart = false
            context.fireChannelReadComplete()
        }

        private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
            let fields = Fields(head.headers)
            let request = HTTPService.Request(
                method: head.method.rawValue, path: head.uri, authorization: fields.authorization,
                idempotencyKeys: fields.idempotencyKeys)
            // The bytes after a request to change the protocol aren't HTTP.
            var turn = Turn(
                request: request, refusal: nil, isLast: !head.isKeepAlive || fields.upgrades || head.method == .CONNECT)
            if let status = refusal(head, fields, context) {
                turn.refusal = .error(Int(status.code), "refused", status.reasonPhrase)
            } else if let count = fields.contentLength, count > HTTPService.bodyBytesMax {
                turn.refusal = Self.tooLarge
            } else {
                turn.refusal = answers.refusal(request)
            }
            incoming = turn
            if fields.expectsContinue, turn.refusal == nil, waiting.isEmpty, !isAnswering {
                context.writeAndFlush(
                    wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
            }
        }

        /// Checks `Host` and `Origin`. Skips the check for a request without an origin whose host was accepted before.
        private func refusal(
            _ head: HTTPRequestHead, _ fields: Fields, _ context: ChannelHandlerContext
        ) -> HTTPResponseStatus? {
            if fields.hosts.count == 1, !fields.hasOrigin, fields.hosts.first == acceptedHost { return nil }
            let status = OriginPolicy().refusal(head, port: context.channel.localAddress?.port)
            if status == nil { acceptedHost = fields.hosts.first }
            return status
        }

        private func take(_ bytes: ByteBuffer) {
            guard var turn = incoming else { return }
            // The turn is taken out while it changes, which avoids copying the body.
            incoming = nil
            turn.bytes += bytes.readableBytes
            if turn.refusal == nil, turn.bytes > HTTPService.bodyBytesMax {
                turn.refusal = Self.tooLarge
                turn.request.body = []
            }
            if turn.refusal == nil { turn.request.body += bytes.readableBytesView }
            incoming = turn
            guard turn.bytes > HTTPService.refusedBytesMax else { return }
            incoming?.isLast = true
            endRequest()
        }

        private func endRequest() {
            guard let turn = incoming else { return }
            (incoming, isReceiving) = (nil, false)
            isEnding = turn.isLast
            waiting.append(turn)
            answerNext()
        }

        private static let tooLarge = HTTPService.Response.error(
            413, "tooLarge", "a body has at most \(HTTPService.bodyBytesMax) bytes")

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            guard !isEnding else { return }
            guard let error = error as? HTTPParserError else { return context.close(promise: nil) }
            let refusal: HTTPService.Response =
                error == .headerOverflow
                ? .error(431, "headersTooLarge", "headers have at most \(HTTPService.headerBytesMax) bytes")
                : .error(400, "malformed", "this isn't a request of HTTP/1.1")
            let request = HTTPService.Request(method: "", path: "", authorization: nil, idempotencyKeys: [])
            incoming = Turn(request: request, refusal: refusal, isLast: true)
            endRequest()
        }

        // MARK: Answers

        private func answerNext() {
            while !isAnswering, first < waiting.count, let context, context.channel.isWritable {
                let turn = takeNext()
                if let refusal = turn.refusal {
                    write(refusal, to: turn, context)
                } else {
                    isAnswering = true
                    answer(turn, context)
                }
            }
            readOn()
        }

        private func takeNext() -> Turn {
            defer {
                first += 1
                if first * 2 >= waiting.count {
                    waiting.removeFirst(first)
                    first = 0
                }
            }
            return waiting[first]
        }

        private func answer(_ turn: Turn, _ context: ChannelHandlerContext) {
            let (connection, loop) = (NIOLoopBound(self, eventLoop: context.eventLoop), context.eventLoop)
            let (answer, request) = (answers.answer, turn.request)
            let (isLast, hasBody) = (turn.isLast, turn.hasBodyInAnswer)
            LoopExecutor.run(on: executor) {
                let response = await answer(request)
                let bytes = response.encoded(closes: isLast, hasBody: hasBody)
                loop.perform { connection.value.answered(bytes, isLast: isLast) }
            }
        }

        private func answered(_ bytes: ByteBuffer, isLast: Bool) {
            isAnswering = false
            guard let context else { return }
            write(bytes, isLast: isLast, context)
            answerNext()
        }

        private func write(_ response: HTTPService.Response, to turn: Turn, _ context: ChannelHandlerContext) {
            let bytes = response.encoded(closes: turn.isLast, hasBody: turn.hasBodyInAnswer)
            write(bytes, isLast: turn.isLast, context)
        }

        private func write(_ bytes: ByteBuffer, isLast: Bool, _ context: ChannelHandlerContext) {
            // The next request's time limit starts here, even if a part of that request has already arrived.
            limitTime(isReceiving || isLast ? HTTPService.requestTimeout : HTTPService.idleTimeout)
            guard isLast else {
                context.write(wrapOutboundOut(bytes), promise: nil)
                // Answers to requests that arrived together are flushed together.
                if waiting.isEmpty || !context.channel.isWritable { context.flush() }
                return
            }
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(bytes)).whenComplete { _ in channel.close(promise: nil) }
        }

        // MARK: Backpressure and time

        func read(context: ChannelHandlerContext) {
            wantsRead = waiting.count - first >= HTTPService.pipelinedMax || !context.channel.isWritable
            if !wantsRead { context.read() }
        }

        private func readOn() {
            guard wantsRead, let context else { return }
            read(context: context)
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            limitTime(context.channel.isWritable ? HTTPService.idleTimeout : HTTPService.requestTimeout)
            answerNext()
            context.fireChannelWritabilityChanged()
        }

        private func limitTime(_ time: TimeAmount) {
            guard let context else { return }
            let isSooner = context.eventLoop.now + time < deadline
            deadline = context.eventLoop.now + time
            guard isSooner else { return }
            check?.cancel()
            planCheck(context)
        }

        /// Schedules one check at the deadline. If the deadline has moved by then, the check schedules the next one.
        private func planCheck(_ context: ChannelHandlerContext) {
            check = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] in
                guard let self, let context = self.context else { return }
                let isBusy = isAnswering && context.channel.isWritable
                if context.eventLoop.now >= deadline {
                    guard isBusy else { return context.close(promise: nil) }
                    deadline = context.eventLoop.now + HTTPService.requestTimeout
                }
                planCheck(context)
            }
        }
    }

    /// The headers that the server reads, found in one pass.
    private struct Fields {
        var hosts: [String] = []
        var hasOrigin = false
        var authorization: String?
        var idempotencyKeys: [String] = []
        var contentLength: Int?
        var expectsContinue = false
        var upgrades = false

        init(_ headers: HTTPHeaders) {
            var authorizations = 0
            for (name, value) in headers {
                switch name.lowercased() {
                case "host": hosts.append(value)
                case "origin": hasOrigin = true
                case "authorization":
                    authorizations += 1
                    authorization = authorizations == 1 ? value : nil
                case "idempotency-key": idempotencyKeys.append(value)
                case "content-length": contentLength = Int(value)
                case "expect": expectsContinue = value.lowercased() == "100-continue"
                case "upgrade": upgrades = true
                default: break
                }
            }
        }
    }
#endif
