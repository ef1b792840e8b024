#if Redis
    internal import MeshBase
    internal import MeshResumeGateway

    /// One Redis server of a buffer: a connection for questions and one for notices, each with its thread. With
    /// Sentinel, a third thread watches for failovers.
    final class RedisShard: Sendable {
        let address: RedisAddress
        let commands: RedisCommands
        let subscriber: RedisSubscriber
        private let watch: SentinelWatch?

        init(
            _ address: RedisAddress, _ script: ReplayScript, _ topic: Topic<ReplayNotice>, _ words: Topic<MailboxWord>
        ) throws(ReplayBufferError) {
            self.address = address
            do {
                let subscriber = try RedisSubscriber(address, script, topic, words)
                let commands = try RedisCommands(address, script)
                watch = try SentinelWatch(address, timeout: script.settings.timeout) {
                    commands.reconnect()
                    subscriber.reconnect()
                }
                (self.subscriber, self.commands) = (subscriber, commands)
                try commands.start()
                try subscriber.start()
                try watch?.start()
            } catch {
                throw ReplayBufferError(.unavailable, "can't start a thread for \(address)", cause: error)
            }
        }

        /// Returns once the stream's channel is subscribed. The buffer then gets a notice of every append after its
        /// next answer.
        ///
        /// - Throws: `unavailable` at once while the server is down, because a question would fail, too.
        func waitUntilReceived(_ stream: String) async throws(ReplayBufferError) {
            if let outage = commands.outage { throw ReplayBufferError(.unavailable, outage) }
            await subscriber.waitUntilReceived(stream)
        }

        func close() {
            commands.close()
            subscriber.close()
            watch?.close()
        }
    }
#endif
