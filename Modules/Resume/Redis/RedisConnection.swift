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

        /// Connects to a server, or to the master that Sentinel names now.
        ///
        /// - Parameter timeout: the maximum time for connecting, and for each read and write.
        convenience init(_ address: RedisAddress, timeout: Duration) throws(RedisFailure) {
            let time = Self.time(timeout)
            switch address.place {
            case .host(let host): try self.init(plain: host, timeout: timeout)
            case .socket(let path): try self.init(redisConnectUnixWithTimeout(path, time), time)
            case .sentinels(let sentinels, let master):
                try self.init(
                    plain: RedisSentinel.master(master, of: sentinels, timeout: timeout), timeout: timeout)
            }
            if let password = address.password {
                try expect(["AUTH"] + (address.user.map { [$0] } ?? []) + [password])
            }
            if address.database != 0 { try expect(["SELECT", "\(address.database)"]) }
        }

        /// Connects without a password.
        convenience init(plain host: RedisAddress.Host, timeout: Duration) throws(RedisFailure) {
            let time = Self.time(timeout)
            try self.init(redisConnectWithTimeout(host.name, host.port, time), time)
        }

        private init(_ made: UnsafeMutablePointer<redisContext>?, _ time: timeval) throws(RedisFailure) {
            guard let made else { throw RedisFailure("not enough memory for a connection") }
            context = made
            guard made.pointee.err == 0, redisSetTimeout(made, time) == REDIS_OK else { throw failure() }
        }

        deinit { redisFree(context) }

        /// True if the server has closed the connection or sent something that wasn't requested. Valid only while no
        /// answer is awaited.
        var isUnusable: Bool { WakePipe.isReady(context.pointee.fd, 1) }

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

        /// Receives published messages, and pings a server that is silent for `timeout`. Calls `prepare`, which may
        /// send commands, before each wait. Ends when `prepare` returns false.
        ///
        /// - Throws: `RedisFailure`, also if two pings aren't answered.
        func receiveMessages(
            waking wake: WakePipe, timeout: Duration, prepare: () throws(RedisFailure) -> Bool,
            handle: ([RedisValue]) -> Void
        ) throws(RedisFailure) {
            let milliseconds = Int32(clamping: max(100, timeout.milliseconds))
            var silentCount = 0
            while try prepare() {
                switch wake.wait(for: context.pointee.fd, 1, timeoutMilliseconds: milliseconds) {
                case .woken: wake.clear()
                case .ready:
                    silentCount = 0
                    handle(try receiveAvailable())
                case .timedOut:
                    silentCount += 1
                    guard silentCount < 3 else { throw RedisFailure("no answer to a ping") }
                    try send([Array("PING".utf8)])
                case .failed(let code): throw RedisFailure("poll: \(code)")
                }
                try flush()
            }
        }

        /// Reads once from the socket, which must be readable, and returns all complete values.
        private func receiveAvailable() throws(RedisFailure) -> [RedisValue] {
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

    extension WakePipe {
        /// Waits for a duration. Ends earlier if `isClosed` returns true after a signal.
        func pause(for duration: Duration, isClosed: () -> Bool) {
            let end = ContinuousClock.now + duration
            while !isClosed(), ContinuousClock.now < end {
                let left = ContinuousClock.now.duration(to: end).milliseconds
                _ = wait(timeoutMilliseconds: Int32(clamping: max(1, left)))
                clear()
            }
        }
    }
#endif
