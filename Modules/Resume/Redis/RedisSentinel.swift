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

        /// Returns the new address in a published message which says that the master of this name has been replaced:
        /// its name, and the host and port of the former and of the new master.
        static func announced(_ name: String, _ value: RedisValue) -> RedisAddress.Host? {
            guard let parts = value.list, parts.count == 3, parts[0].string == "message", parts[1].string == changes,
                let words = parts[2].string?.split(separator: " "), words.count == 5, words[0] == name,
                let port = Int32(words[4]), (1...65535).contains(port)
            else { return nil }
            return RedisAddress.Host(name: String(words[3]), port: port)
        }
    }

    /// The master that Sentinel named last, whether it was asked or announced a failover.
    struct KnownMaster {
        private var known: RedisAddress.Host?

        /// - Returns: true if connections to the previous master must be replaced.
        mutating func isReplaced(by master: RedisAddress.Host) -> Bool {
            defer { known = master }
            return known.map { $0 != master } ?? false
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
            var known = KnownMaster()
            while true {
                for sentinel in sentinels {
                    do {
                        try watch(sentinel, &known) { backoff.reset() }
                    } catch { continue }
                    if isClosed { return }
                }
                wake.pause(for: backoff.next(&random)) { isClosed }
                if isClosed { return }
            }
        }

        private func watch(
            _ sentinel: RedisAddress.Host, _ known: inout KnownMaster, hasBegun: () -> Void
        ) throws(RedisFailure) {
            let connection = try RedisConnection(plain: sentinel, timeout: timeout)
            try connection.expect(["SUBSCRIBE", RedisSentinel.changes])
            // Asked after the subscription, and the same Sentinel, so that no failover falls between.
            let master = try RedisSentinel.master(name, of: [sentinel], timeout: timeout)
            if known.isReplaced(by: master) { onSwitch() }
            hasBegun()
            try connection.receiveMessages(
                waking: wake, timeout: timeout, prepare: { !isClosed },
                handle: { values in
                    for master in values.compactMap({ RedisSentinel.announced(name, $0) })
                    where known.isReplaced(by: master) { onSwitch() }
                })
        }
    }
#endif
