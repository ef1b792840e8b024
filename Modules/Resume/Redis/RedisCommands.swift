#if Redis
    internal import MeshBase
    internal import MeshResumeGateway

    /// Sends questions to Redis, through one connection and on its own thread. All waiting questions go in one batch.
    ///
    /// At most 4096 questions and 16 MiB may wait. Further ones fail at once with `busy`. If no connection can be made,
    /// all waiting questions fail with the reason. Later ones fail at once, so that they take no turns from questions
    /// to other shards. The thread retries with a backoff of 50 ms to 2 s. Safe to use from any thread.
    ///
    /// Live packets have their own queue of 1024 packets and 4 MiB. They are sent after the questions, and dropped if that
    /// queue is full or the connection is lost.
    final class RedisCommands: Sendable {
        fileprivate struct Question: Sendable {
            let operation: ReplayScript.Operation
            let byteCount: Int
            let continuation: CheckedContinuation<Result<RedisValue, ReplayBufferError>, Never>
        }

        fileprivate struct State {
            var waiting: [Question] = []
            var bytes = 0
            var isClosed = false
            /// The reason why the last attempt to connect failed; nil after one that succeeded.
            var outage: String?
            /// True if the connection must be replaced, because Sentinel has announced another master.
            var mustReconnect = false
            var known: ReplayScript.Tail?
            /// The waiting commands that publish live packets.
            var packets: [[[UInt8]]] = []
            var packetBytes = 0

            /// True if the thread has something to do. While the server is down, the thread tries to connect.
            var hasWork: Bool { !waiting.isEmpty || !packets.isEmpty || outage != nil || mustReconnect }
        }

        static let questionsMax = 4096
        static let bytesMax = 16 << 20
        static let packetsMax = 1024
        static let packetBytesMax = 4 << 20

        private let address: RedisAddress
        private let script: ReplayScript
        private let wake: WakePipe
        private let state = Locked(State())

        init(_ address: RedisAddress, _ script: ReplayScript) throws(SystemCallError) {
            self.address = address
            self.script = script
            wake = try WakePipe()
        }

        func start() throws(SystemCallError) { try BlockingThread.start { self.run() } }

        /// Fails all waiting questions and ends the thread.
        func close() {
            let left = state.withLock { state in
                state.isClosed = true
                return state.takeAll()
            }
            wake.signal()
            fail(left, "the buffer is closed")
        }

        /// Connects anew, because another server may be the master.
        func reconnect() {
            state.withLock { $0.mustReconnect = true }
            wake.signal()
        }

        /// The reason why questions fail at once; nil while the server can be reached.
        var outage: String? { state.withLock { $0.outage } }

        func ask(_ operation: ReplayScript.Operation) async throws(ReplayBufferError) -> RedisValue {
            let result = await withCheckedContinuation { continuation in
                enqueue(Question(operation: operation, byteCount: operation.byteCount, continuation: continuation))
            }
            return try result.get()
        }

        /// Queues a live packet, or drops it if the queue of packets is full.
        func pass(_ bytes: [UInt8], to stream: String) {
            let hasRoom = state.withLock { state in
                guard !state.isClosed, state.outage == nil, state.packets.count < Self.packetsMax,
                    state.packetBytes + bytes.count <= Self.packetBytesMax
                else { return false }
                state.packets.append(script.publish(bytes, to: stream))
                state.packetBytes += bytes.count
                return true
            }
            if hasRoom { wake.signal() }
        }

        private func enqueue(_ question: Question) {
            let refusal: ReplayBufferError? = state.withLock { state in
                if state.isClosed { return ReplayBufferError(.unavailable, "the buffer is closed") }
                if let outage = state.outage { return ReplayBufferError(.unavailable, outage) }
                guard state.waiting.count < Self.questionsMax, state.bytes + question.byteCount <= Self.bytesMax else {
                    return ReplayBufferError(
                        .busy, "\(state.waiting.count) questions to \(address) are already waiting")
                }
                state.waiting.append(question)
                state.bytes += question.byteCount
                return nil
            }
            if let refusal { question.continuation.resume(returning: .failure(refusal)) } else { wake.signal() }
        }

        // MARK: On the thread

        private func run() {
            var backoff = Backoff(from: .milliseconds(50), to: .seconds(2))
            var random = SplitMix64(seed: .random(in: 0 ... .max))
            var connection: ScriptConnection?
            while true {
                if !state.withLock({ $0.isClosed || $0.hasWork }) { _ = wake.wait() }
                wake.clear()
                if state.withLock({ $0.isClosed }) { return }
                if !state.withLock({ $0.hasWork }) { continue }
                // Taken before connecting: the new connection may lead to a former master, and a failover announced
                // meanwhile must replace it.
                let mustReconnect = state.withLock { $0.takeReconnect() }
                if mustReconnect || connection?.isUnusable == true { connection = nil }
                do {
                    let open = try connection ?? connect()
                    connection = try perform(open) ? open : nil
                    backoff.reset()
                } catch {
                    connection = nil
                    _ = state.withLock { $0.takePackets() }
                    fail(state.withLock { $0.takeAll() }, "\(address): \(error)")
                    wake.pause(for: backoff.next(&random)) { state.withLock { $0.isClosed } }
                }
            }
        }

        private func connect() throws(RedisFailure) -> ScriptConnection {
            do {
                let connection = try ScriptConnection(address, timeout: script.settings.timeout)
                state.withLock { $0.outage = nil }
                return connection
            } catch {
                state.withLock { $0.outage = "\(address): \(error)" }
                throw error
            }
        }

        /// Sends all waiting questions and packets. Returns true if the server accepts questions.
        private func perform(_ connection: ScriptConnection) throws(RedisFailure) -> Bool {
            let (questions, packets, known) = state.withLock { ($0.takeAll(), $0.takePackets(), $0.known) }
            var isServing = true
            var unanswered = Set(questions.indices)
            /// Asks some of the questions. Returns those that were refused because of another list of shards.
            func ask(_ indexes: [Int]) throws(RedisFailure) -> [Int] {
                var refused: [Int] = []
                try connection.call(indexes.map { script.arguments(questions[$0].operation, known: known) }) {
                    let (index, value) = (indexes[$0], $1)
                    if let tail = ReplayScript.tail(value) { learn(tail) }
                    if case .error(let text) = value {
                        if text.hasPrefix("LIST") { return refused.append(index) }
                        if !text.hasPrefix("ERR") { isServing = false }
                        fail([questions[index]], "\(address): \(text)")
                    } else {
                        questions[index].continuation.resume(returning: .success(value))
                    }
                    unanswered.remove(index)
                }
                return refused
            }
            do {
                var refused = try ask(Array(questions.indices))
                if !refused.isEmpty, try hasNewList(connection) { refused = try ask(refused) }
                unanswered.subtract(refused)
                let reason = "\(address): another process has begun with another list of shards"
                fail(refused.map { questions[$0] }, reason, .otherShards)
            } catch {
                fail(unanswered.sorted().map { questions[$0] }, "\(address): \(error); the operation may have happened")
                throw error
            }
            try connection.callPlain(packets)
            return isServing
        }

        /// Returns true if another process has begun a newer list with the same shards as this process's list. Then
        /// this process uses the newer list from now on.
        private func hasNewList(_ connection: ScriptConnection) throws(RedisFailure) -> Bool {
            let value = try connection.call(script.arguments(.list, known: nil))
            return script.list.withLock { list in
                guard let newest = ShardList(value), newest.digest == list.digest else { return false }
                if newest.id > list.id { list = newest }
                return true
            }
        }

        /// Remembers the store's count. Within an incarnation it never decreases.
        private func learn(_ tail: ReplayScript.Tail) {
            state.withLock { state in
                if let known = state.known, known.incarnation == tail.incarnation, known.count >= tail.count { return }
                state.known = tail
            }
        }

        private func fail(
            _ questions: [Question], _ reason: String, _ code: ReplayBufferError.Code = .unavailable
        ) {
            for question in questions {
                question.continuation.resume(returning: .failure(ReplayBufferError(code, reason)))
            }
        }
    }

    extension RedisCommands.State {
        fileprivate mutating func takeReconnect() -> Bool {
            defer { mustReconnect = false }
            return mustReconnect
        }

        fileprivate mutating func takeAll() -> [RedisCommands.Question] {
            defer { (waiting, bytes) = ([], 0) }
            return waiting
        }

        fileprivate mutating func takePackets() -> [[[UInt8]]] {
            defer { (packets, packetBytes) = ([], 0) }
            return packets
        }
    }

    extension ReplayScript.Operation {
        var byteCount: Int {
            switch self {
            case .tail, .list: 0
            case .standing(let stream), .page(let stream, _, _): stream.utf8.count
            case .append(let event, let stream), .post(let event, let stream): event.byteCount + stream.utf8.count
            case .enrol(let mailbox, let stream, _), .leave(let mailbox, let stream):
                mailbox.utf8.count + stream.utf8.count
            case .drop(let stream): stream.utf8.count
            case .set(let value, let name, let stream): value.count + name.utf8.count + stream.utf8.count
            case .values(let names, let stream): (names ?? []).reduce(stream.utf8.count) { $0 + $1.utf8.count }
            }
        }
    }
#endif
