#if Redis
    import MeshBase

    /// A connection to a Redis server that has loaded the script.
    final class ScriptConnection {
        private let connection: RedisConnection
        private let digest: [UInt8]

        init(_ address: RedisAddress, timeout: Duration) throws(RedisFailure) {
            connection = try RedisConnection(address, timeout: timeout)
            guard let digest = try connection.expect(["SCRIPT", "LOAD", ReplayScript.source]).bytes else {
                throw RedisFailure("Redis returned no digest for the script")
            }
            self.digest = digest
        }

        var isUnusable: Bool { connection.isUnusable }

        /// Sends all requests in one batch. If Redis has forgotten the script, it hasn't executed the request, which is
        /// sent again with the script's source.
        /// - Parameter answer: called once for each request.
        func call(
            _ requests: [[[UInt8]]], answer: (_ index: Int, RedisValue) -> Void
        ) throws(RedisFailure) {
            for request in requests { try connection.send([Array("EVALSHA".utf8), digest] + request) }
            var forgotten: [Int] = []
            for index in requests.indices {
                let value = try connection.receive()
                // Another client may load the script meanwhile, so later requests may have been executed.
                if case .error(let text) = value, text.hasPrefix("NOSCRIPT") {
                    forgotten.append(index)
                } else {
                    answer(index, value)
                }
            }
            for index in forgotten {
                let request = [Array("EVAL".utf8), Array(ReplayScript.source.utf8)] + requests[index]
                answer(index, try connection.call(request))
            }
        }

        func call(_ request: [[UInt8]]) throws(RedisFailure) -> RedisValue {
            var result = RedisValue.none
            try call([request]) { result = $1 }
            return result
        }

        /// Sends all commands in one batch and ignores the answers.
        func callPlain(_ commands: [[[UInt8]]]) throws(RedisFailure) {
            for command in commands { try connection.send(command) }
            for _ in commands { _ = try connection.receive() }
        }
    }
#endif
