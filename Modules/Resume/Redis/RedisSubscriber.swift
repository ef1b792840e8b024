#if Redis
    internal import MeshBase
    internal import MeshResumeGateway

    /// Receives all processes' messages about the streams that this process serves, through Redis Pub/Sub, on one connection
    /// and one thread.
    ///
    /// Redis keeps nothing for a subscriber whose connection is lost. When the subscription is back, each stream gets
    /// `ReplayNotice.missed` and `MailboxWord.missed`, after which a gateway asks the store. A message that can't be read,
    /// because another program published it, is skipped and counted.
    final class RedisSubscriber: Sendable {
        /// The channel of a stream, kept while this process serves the stream, and then until Redis has confirmed the
        /// end of the subscription.
        fileprivate struct Channel {
            var serversCount = 0
            var isSubscribed = false
            /// Commands for this channel that Redis hasn't answered.
            var pendingCount = 0
            /// True if the connection was lost while the stream was served.
            var mayHaveMissed = false
        }

        fileprivate struct State {
            var isClosed = false
            /// True if the connection must be replaced, because Sentinel has announced another master.
            var mustReconnect = false
            /// True if all channels must be received: until a reader names the streams that it serves, and once one hasn't.
            var receivesAll = true
            /// True once a reader hasn't named the streams that it serves.
            var hasReaderOfAll = false
            var channels: [String: Channel] = [:]
            /// Streams whose channel may have to be subscribed or unsubscribed.
            var changed: Set<String> = []
            var isReceivingAll = false
            /// Questions that wait until their stream is subscribed.
            var waiting: [(stream: String, continuation: CheckedContinuation<Void, Never>)] = []
            var skippedCount: UInt64 = 0
            var lossCount: UInt64 = 0

            func isReady(_ stream: String) -> Bool {
                if receivesAll { return isReceivingAll }
                guard let channel = channels[stream], channel.serversCount > 0 else { return true }
                return channel.isConfirmed
            }
        }

        /// The number of channels in one command.
        private static let batchCount = 256

        private let address: RedisAddress
        private let script: ReplayScript
        private let topic: Topic<ReplayNotice>
        private let words: Topic<MailboxWord>
        private let wake: WakePipe
        private let state = Locked(State())

        init(
            _ address: RedisAddress, _ script: ReplayScript, _ topic: Topic<ReplayNotice>, _ words: Topic<MailboxWord>
        ) throws(SystemCallError) {
            self.address = address
            self.script = script
            (self.topic, self.words) = (topic, words)
            wake = try WakePipe()
        }

        func start() throws(SystemCallError) { try BlockingThread.start { self.run() } }

        func close() {
            state.withLock { $0.isClosed = true }
            wake.signal()
        }

        /// Connects anew, because another server may be the master.
        func reconnect() {
            state.withLock { $0.mustReconnect = true }
            wake.signal()
        }

        /// The number of messages that can't be read.
        var skippedCount: UInt64 { state.withLock { $0.skippedCount } }
        /// The number of times that the connection was lost.
        var lossCount: UInt64 { state.withLock { $0.lossCount } }

        // MARK: Streams

        func receiveAll() {
            state.withLock { ($0.receivesAll, $0.hasReaderOfAll) = (true, true) }
            wake.signal()
        }

        /// Receives only the streams of `serve` from now on, unless an earlier reader wants all.
        func receiveServed() {
            state.withLock { $0.receivesAll = $0.hasReaderOfAll }
            wake.signal()
        }

        /// Reports that a stream is served, or no longer.
        func serve(_ stream: String, _ isServed: Bool) {
            state.withLock { state in
                state.channels[stream, default: Channel()].serversCount += isServed ? 1 : -1
                state.changed.insert(stream)
            }
            wake.signal()
        }

        /// Returns once the stream's channel is subscribed, if the stream is served, or when the connection is lost. In
        /// that case the stream's readers get `missed`.
        func waitUntilReceived(_ stream: String) async {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.isClosed || state.isReady(stream) { return true }
                    state.waiting.append((stream, continuation))
                    return false
                }
                if isReady { continuation.resume() }
            }
        }

        /// Resumes the questions whose stream is received.
        private func resumeReady() {
            let ready = state.withLock { state in
                let ready = state.waiting.filter { state.isReady($0.stream) }
                if !ready.isEmpty { state.waiting = state.waiting.filter { !state.isReady($0.stream) } }
                return ready
            }
            for entry in ready { entry.continuation.resume() }
        }

        /// Resumes all questions although Redis can't be reached. Their streams get `missed` once they are subscribed.
        private func releaseWaiting() {
            let released = state.withLock { state in
                for entry in state.waiting { state.channels[entry.stream]?.mayHaveMissed = true }
                defer { state.waiting = [] }
                return state.waiting
            }
            for entry in released { entry.continuation.resume() }
        }

        // MARK: On the thread

        private var isClosed: Bool { state.withLock { $0.isClosed } }

        private func run() {
            var backoff = Backoff(from: .milliseconds(50), to: .seconds(2))
            var random = SplitMix64(seed: .random(in: 0 ... .max))
            while !isClosed {
                // Reset before connecting: the new connection may lead to a former master, and a failover announced
                // meanwhile must replace it.
                state.withLock { $0.mustReconnect = false }
                do {
                    let connection = try RedisConnection(address, timeout: script.settings.timeout)
                    do { try receive(on: connection) { backoff.reset() } } catch {
                        noteLoss()
                        throw error
                    }
                } catch {
                    releaseWaiting()
                    wake.pause(for: backoff.next(&random)) { isClosed }
                }
            }
            releaseWaiting()
            topic.finish()
            words.finish()
        }

        /// Handles a lost connection: all subscriptions are gone.
        private func noteLoss() {
            state.withLock { state in
                state.lossCount += 1
                state.isReceivingAll = false
                for (stream, channel) in state.channels {
                    guard channel.serversCount > 0 else {
                        state.channels[stream] = nil
                        continue
                    }
                    state.channels[stream] = Channel(serversCount: channel.serversCount, mayHaveMissed: true)
                    state.changed.insert(stream)
                }
            }
        }

        /// Receives until the subscriber is closed.
        private func receive(on connection: RedisConnection, hasBegun: () -> Void) throws(RedisFailure) {
            var subscribesAll = false
            try connection.receiveMessages(
                waking: wake, timeout: script.settings.timeout,
                prepare: { () throws(RedisFailure) -> Bool in
                    let (isClosed, mustReconnect) = state.withLock { ($0.isClosed, $0.mustReconnect) }
                    if isClosed { return false }
                    if mustReconnect { throw RedisFailure("another server is the master") }
                    try subscribe(on: connection, &subscribesAll)
                    return true
                },
                handle: { values in
                    hasBegun()
                    handle(values)
                })
        }

        /// Subscribes to new channels and unsubscribes from unused ones.
        private func subscribe(on connection: RedisConnection, _ subscribesAll: inout Bool) throws(RedisFailure) {
            let (receivesAll, added, removed) = state.withLock { state in
                var (added, removed): ([String], [String]) = ([], [])
                for stream in state.changed {
                    guard let channel = state.channels[stream] else { continue }
                    let isWanted = channel.serversCount > 0
                    guard isWanted != channel.isSubscribed else {
                        state.forgetIfUnused(stream)
                        continue
                    }
                    state.channels[stream]?.isSubscribed = isWanted
                    state.channels[stream]?.pendingCount += 1
                    if isWanted { added.append(stream) } else { removed.append(stream) }
                }
                state.changed = []
                return (state.receivesAll, added, removed)
            }
            try send("SUBSCRIBE", added, on: connection)
            try send("UNSUBSCRIBE", removed, on: connection)
            if receivesAll != subscribesAll {
                try connection.send(
                    [receivesAll ? "PSUBSCRIBE" : "PUNSUBSCRIBE", script.allChannels].map { Array($0.utf8) })
                subscribesAll = receivesAll
            }
            try connection.flush()
        }

        private func send(_ command: String, _ streams: [String], on connection: RedisConnection) throws(RedisFailure) {
            for start in stride(from: 0, to: streams.count, by: Self.batchCount) {
                let batch = streams[start..<min(start + Self.batchCount, streams.count)]
                try connection.send([Array(command.utf8)] + batch.map { Array(script.channel(of: $0).utf8) })
            }
        }

        // MARK: Messages

        private func handle(_ values: [RedisValue]) {
            var (notices, changes): ([ReplayNotice], [MailboxWord]) = ([], [])
            for value in values {
                guard let parts = value.list, let kind = parts.first?.string, parts.count >= 3 else { continue }
                switch kind {
                case "message", "pmessage":
                    // While all channels are subscribed, a channel that is also subscribed by name delivers twice.
                    // Skips the copy by name.
                    if kind == "message", state.withLock({ $0.isReceivingAll }) { continue }
                    let channel = parts[parts.count - 2].string ?? ""
                    switch ReplayScript.message(parts[parts.count - 1].bytes ?? [], stream: script.stream(of: channel))
                    {
                    case .notice(let notice): notices.append(notice)
                    case .word(let word): changes.append(word)
                    case nil: state.withLock { $0.skippedCount += 1 }
                    }
                case "subscribe", "unsubscribe":
                    guard let stream = parts[1].string.flatMap({ script.stream(of: $0) }), confirm(stream) else {
                        continue
                    }
                    notices.append(.missed(in: stream))
                    changes.append(.missed(stream: stream))
                case "psubscribe": state.withLock { $0.isReceivingAll = true }
                case "punsubscribe": state.withLock { $0.isReceivingAll = false }
                default: break
                }
            }
            if !notices.isEmpty { topic.publish(contentsOf: notices) }
            if !changes.isEmpty { words.publish(contentsOf: changes) }
            resumeReady()
        }

        /// Handles Redis's answer to a command for a stream's channel.
        ///
        /// - Returns: true if messages may have been missed before.
        private func confirm(_ stream: String) -> Bool {
            state.withLock { state in
                guard var channel = state.channels[stream] else { return false }
                channel.pendingCount = max(0, channel.pendingCount - 1)
                let hasMissed = channel.isConfirmed && channel.mayHaveMissed
                if hasMissed { channel.mayHaveMissed = false }
                state.channels[stream] = channel
                state.forgetIfUnused(stream)
                return hasMissed
            }
        }
    }

    extension RedisSubscriber.Channel {
        fileprivate var isConfirmed: Bool { isSubscribed && pendingCount == 0 }
    }

    extension RedisSubscriber.State {
        fileprivate mutating func forgetIfUnused(_ stream: String) {
            guard let channel = channels[stream], channel.serversCount <= 0, !channel.isSubscribed,
                channel.pendingCount == 0
            else { return }
            channels[stream] = nil
        }
    }
#endif
