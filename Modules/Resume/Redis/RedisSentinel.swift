#if Redis
    internal import MeshBase

    /// Finds the master with Redis Sentinel, as its guidelines for clients say (redis.io, "Sentinel client spec"):
    /// before each connection, ask the first Sentinel that can be reached for the master's address. The guidelines also
    /// check the master's role; the script does that in each step.
    enum RedisSentinel {
        static let changes = "+switch-master"

        /// Returns the master's address, from the first Sentinel that knows it.
        static func master(
            _ name: String, of sentinels: [RedisAddress.Host], timeout: Duration
        ) throws(RedisFailure) -> RedisAddress.Host {
            var failure = RedisFailure("no Sentinel is listed")
            for sentinel in sentinels {
                do { return try master(name, on: RedisConnection(plain: sentinel, timeout: timeout)) } catch {
                    failure = RedisFailure("Sentinel \(sentinel): \(error)")
                }
            }
            throw failure
        }

        private static func master(
            _ name: String, on connection: RedisConnection
        ) throws(RedisFailure) -> RedisAddress.Host {
            let answer = try connection.expect(["SENTINEL", "get-master-addr-by-name", name])
            guard let parts = answer.list, parts.count == 2, let host = parts[0].string, !host.isEmpty,
                let port = parts[1].number, (1...65535).contains(port)
            else { throw RedisFailure("it knows no master '\(name)'") }
            return RedisAddress.Host(name: host, port: Int32(port))
        }

        /// Returns true for a published message which says that the master of this name has been replaced.
        static func announces(_ name: String, _ value: RedisValue) -> Bool {
            guard let parts = value.list, parts.count == 3, parts[0].string == "message", parts[1].string == changes
            else { return false }
            return parts[2].string?.split(separator: " ").first.map(String.init) == name
        }
    }

    /// Calls back when Sentinel announces another master, on one connection and one thread.
    ///
    /// Waiting for a lost connection isn't enough to notice a failover: the former master may still run, and not know
    /// that it was replaced.
    final class SentinelWatch: Sendable {
        private let sentinels: [RedisAddress.Host]
        private let name: String
        private let timeout: Duration
        private let onSwitch: @Sendable () -> Void
        private let wake: WakePipe
        private let hasEnded = Locked(false)

        /// Returns nil for an address without Sentinels.
        init?(
            _ address: RedisAddress, timeout: Duration, onSwitch: @escaping @Sendable () -> Void
        ) throws(SystemCallError) {
            guard case .sentinels(let sentinels, let name) = address.place else { return nil }
            (self.sentinels, self.name, self.timeout, self.onSwitch) = (sentinels, name, timeout, onSwitch)
            wake = try WakePipe()
        }

        func start() throws(SystemCallError) { try BlockingThread.start { self.run() } }

        func close() {
            hasEnded.withLock { $0 = true }
            wake.signal()
        }

        private var isClosed: Bool { hasEnded.withLock { $0 } }

        private func run() {
            var backoff = Backoff(from: .milliseconds(50), to: .seconds(2))
            var random = SplitMix64(seed: .random(in: 0 ... .max))
            var known: RedisAddress.Host?
            while true {
                for sentinel in sentinels {
                    do {
                        try watch(RedisConnection(plain: sentinel, timeout: timeout), &known) { backoff.reset() }
                    } catch { continue }
                    if isClosed { return }
                }
                wake.pause(for: backoff.next(&random)) { isClosed }
                if isClosed { return }
            }
        }

        private func watch(
            _ connection: RedisConnection, _ known: inout RedisAddress.Host?, hasBegun: () -> Void
        ) throws(RedisFailure) {
            try connection.expect(["SUBSCRIBE", RedisSentinel.changes])
            // Asked after the subscription, so that no failover falls between.
            let master = try RedisSentinel.master(name, of: sentinels, timeout: timeout)
            if let known, known != master { onSwitch() }
            known = master
            hasBegun()
            try connection.receiveMessages(
                waking: wake, timeout: timeout, prepare: { !isClosed },
                handle: { values in
                    if values.contains(where: { RedisSentinel.announces(name, $0) }) { onSwitch() }
                })
        }
    }
#endif
