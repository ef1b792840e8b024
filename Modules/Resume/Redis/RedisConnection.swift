#if Redis
    internal import CHiredis
    internal import MeshBase

    struct RedisFailure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// One connection, used by one thread. Every call blocks until it is done or times out. After an error it can't be used.
    final class RedisConnection {
        private let context: UnsafeMutablePointer<redisContext>

        /// - Parameter timeout: the maximum time for connecting, and for each read and write.
        init(_ address: RedisAddress, timeout: Duration) throws(RedisFailure) {
            let time = Self.time(timeout)
            let made =
                switch address.place {
                case .host(let host, let port): redisConnectWithTimeout(host, port, time)
                case .socket(let path): redisConnectUnixWithTimeout(path, time)
                }
            guard let made else { throw RedisFailure("not enough memory for a connection") }
            context = made
            guard made.pointee.err == 0 else { throw failure() }
            guard redisSetTimeout(made, time) == REDIS_OK else { throw failure() }
            if let password = address.password {
                try expect(["AUTH"] + (address.user.map { [$0] } ?? []) + [password])
            }
            if address.database != 0 { try expect(["SELECT", "\(address.database)"]) }
        }

        deinit { redisFree(context) }

        /// True if the server has closed the connection or sent something unasked. Valid only while no answer is awaited.
        var isUnusable: Bool { WakePipe.isReady(context.pointee.fd, 1) }

        /// The descriptor to poll for published messages.
        var descriptor: Int32 { context.pointee.fd }

        func call(_ arguments: [[UInt8]]) throws(RedisFailure) -> RedisValue {
            try send(arguments)
            return try receive()
        }

        /// Adds a command to the output buffer. The next `receive` or `flush` writes it.
        func send(_ arguments: [[UInt8]]) throws(RedisFailure) {
            var bytes = arguments.flatMap { $0 }
            // An empty array has no address.
            bytes.append(0)
            let lengths = arguments.map(\.count)
            let status = bytes.withUnsafeMutableBytes { buffer in
                var next = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
                let places = lengths.map { length in
                    defer { next = next?.advanced(by: length) }
                    return next
                }
                return mesh_redis_append(context, Int32(places.count), places, lengths)
            }
            guard status == REDIS_OK else { throw failure() }
        }

        func receive() throws(RedisFailure) -> RedisValue {
            var reply: UnsafeMutableRawPointer?
            guard redisGetReply(context, &reply) == REDIS_OK, let reply else { throw failure() }
            defer { freeReplyObject(reply) }
            return RedisValue(UnsafePointer(reply.assumingMemoryBound(to: redisReply.self)))
        }

        /// Writes the output buffer to the socket.
        func flush() throws(RedisFailure) {
            var isDone: Int32 = 0
            while isDone == 0 { guard redisBufferWrite(context, &isDone) == REDIS_OK else { throw failure() } }
        }

        /// Reads once from the socket, which must be readable, and returns all complete values.
        func receiveAvailable() throws(RedisFailure) -> [RedisValue] {
            guard redisBufferRead(context) == REDIS_OK else { throw failure() }
            var values: [RedisValue] = []
            while true {
                var reply: UnsafeMutableRawPointer?
                guard redisGetReplyFromReader(context, &reply) == REDIS_OK else { throw failure() }
                guard let reply else { return values }
                defer { freeReplyObject(reply) }
                values.append(RedisValue(UnsafePointer(reply.assumingMemoryBound(to: redisReply.self))))
            }
        }

        /// Sends a command and returns the answer. Throws `RedisFailure`, also if Redis answers with an error.
        @discardableResult
        func expect(_ arguments: [String]) throws(RedisFailure) -> RedisValue {
            let answer = try call(arguments.map { Array($0.utf8) })
            if case .error(let text) = answer { throw RedisFailure(text) }
            return answer
        }

        private func failure() -> RedisFailure { RedisFailure(String(cString: mesh_redis_error(context))) }

        private static func time(_ duration: Duration) -> timeval {
            let (seconds, attoseconds) = duration.components
            return timeval(tv_sec: Int(seconds), tv_usec: .init(attoseconds / 1_000_000_000_000))
        }
    }
#endif
