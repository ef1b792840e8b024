#if MQTT
    import CMosquitto
    import Foundation
    import MeshBase
    public import MeshRelay
    public import MeshTransport

    /// A relay client over libmosquitto (2.0 or newer): MQTT 5 over TCP or TLS.
    ///
    /// Its own thread connects, reads, writes and calls the observer. `publish` may be called from any thread; it
    /// passes the message to the library and wakes that thread. The thread waits with `poll`, because `mosquitto_loop`
    /// uses `select`, which fails for descriptors of 1,024 and above.
    ///
    /// At most `unacknowledgedMax` messages are outstanding: unacknowledged by the broker (QoS 1) or not yet sent (QoS
    /// 0). Beyond it `publish` throws `full`. The broker's Receive Maximum can lower the library's own window. Brokers
    /// are asked to send packets of at most `packetBytesMax` bytes. A broker that ignores this can make the library
    /// hold a packet of 256 MB.
    public final class MosquittoClient: RelayClient, @unchecked Sendable {
        /// Maximum number of outstanding messages.
        public static let unacknowledgedMax = 256
        /// Maximum number of messages in flight at once. A broker can lower it with its Receive Maximum.
        public static let receiveMaximum: UInt16 = 100
        /// Maximum number of bytes per packet that brokers are asked to send.
        public static let packetBytesMax: UInt32 = 135_168

        struct State {
            var observer: (any RelayClientObserver)?
            var isConnected = false
            /// True if the broker ended the connection because another client connected with the same ID.
            var isReplaced = false
            /// True if this side ended the connection.
            var isDropped = false
            /// The reason that the broker gave for a refusal or for the end of the connection.
            var brokerReason: String?
            /// The limits that the broker stated last, so that each change is reported once.
            var limits = BrokerLimits()
            var isStopping = false
            /// True while the library resolves a name or waits for a handshake, which can't be interrupted.
            var isConnecting = false
            /// True once pending messages have been sent or given up, so that the connection must end now.
            var mustEnd = false
            var hasEnded = false
            var isFull = false
            /// True if the thread has been woken and will check for messages to write.
            var isWoken = false
            /// IDs of outstanding messages of QoS 1, which the library keeps across connections, and of QoS 0.
            var unacknowledged: Set<Int32> = []
            var immediate: Set<Int32> = []
            /// IDs reported as done before `publish` had recorded them.
            var early: Set<Int32> = []
            var waiters: [CheckedContinuation<Void, Never>] = []

            var inFlightCount: Int { unacknowledged.count + immediate.count }

            func end(_ status: Int32) -> ReconnectBackoff.End {
                if isReplaced { return .replaced }
                let isClosed = isConnected && !isDropped && !isStopping && brokerReason == nil
                return isClosed && status == Int32(MOSQ_ERR_CONN_LOST.rawValue) ? .closed : .failed
            }
        }

        let broker: MQTTBroker
        public var address: String { broker.url }
        let sessionExpirySeconds: UInt32
        let state = Locked(State())
        /// Held while publishing, so that IDs are recorded in the library's order.
        private let publishing = Locked(())
        /// The library's client. Set once, before the thread starts; publishing with it is thread-safe.
        private let handle: OpaquePointer
        private let wake: WakePipe

        /// Creates a client for a broker.
        ///
        /// - Parameters:
        ///   - clientID: The ID under which the broker keeps the session. Another client with the same ID takes it
        ///     over.
        ///   - sessionExpiry: The time for which the broker keeps the session of an absent client.
        /// - Throws: `MQTTError`: `invalidArgument`; `noDescriptor` if the process can't open more files.
        public init(
            broker: MQTTBroker, clientID: String, sessionExpiry: Duration = .seconds(7 * 86_400)
        ) throws(MQTTError) {
            try broker.requireSafePassword()
            Self.prepareLibrary()
            self.broker = broker
            sessionExpirySeconds = Self.roundedUp(sessionExpiry)
            do throws(SystemCallError) {
                wake = try WakePipe()
            } catch {
                throw MQTTError(.noDescriptor, "can't create a pipe for the client", cause: error)
            }
            guard let handle = mosquitto_new(clientID, false, nil) else {
                throw MQTTError(.invalidArgument, "'\(clientID)' can't be used as a client ID")
            }
            self.handle = handle
            try configure()
        }

        deinit { mosquitto_destroy(handle) }

        /// Returns whole seconds. A fraction counts as a second, because the broker ends a session of 0 s at once.
        static func roundedUp(_ duration: Duration) -> UInt32 {
            let (seconds, attoseconds) = duration.components
            let whole = UInt32(clamping: seconds)
            return whole < .max && attoseconds > 0 ? whole + 1 : whole
        }

        private static func prepareLibrary() { _ = library }
        private static let library: Int32 = mosquitto_lib_init()

        private func configure() throws(MQTTError) {
            mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
            mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, Int32(Self.receiveMaximum))
            mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(Self.receiveMaximum))
            mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
            mosquitto_threaded_set(handle, true)
            if let user = broker.user { mosquitto_username_pw_set(handle, user, broker.password) }
            if broker.usesTLS {
                let status =
                    broker.authoritiesPath.map { mosquitto_tls_set(handle, $0, nil, nil, nil, nil) }
                    ?? mosquitto_int_option(handle, MOSQ_OPT_TLS_USE_OS_CERTS, 1)
                guard status == Int32(MOSQ_ERR_SUCCESS.rawValue) else {
                    throw MQTTError(
                        .invalidArgument,
                        "can't set up TLS with '\(broker.authoritiesPath ?? "the system's certificates")': "
                            + Self.text(status))
                }
            }
            setCallbacks(on: handle)
        }

        public func open(_ observer: any RelayClientObserver) {
            state.withLock { $0.observer = observer }
            mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
            // The thread keeps the client alive until it ends.
            Thread.detachNewThread { self.run() }
        }

        public func subscribe(to topics: [String]) {
            for topic in topics { mosquitto_subscribe_v5(handle, nil, topic, 1, 0, nil) }
            wakeThread()
        }

        public func unsubscribe(from topics: [String]) {
            for topic in topics { mosquitto_unsubscribe_v5(handle, nil, topic, nil) }
            wakeThread()
        }

        public func publish(_ message: RelayMessage) throws(LinkError) {
            if let error = publishing.withLock({ _ in publishNext(message) }) { throw error }
        }

        /// - Returns: The error if the message wasn't accepted.
        private func publishNext(_ message: RelayMessage) -> LinkError? {
            let refusal = state.withLock { state -> LinkError? in
                guard !state.isStopping, state.observer != nil else { return LinkError(.closed) }
                guard state.isConnected, state.inFlightCount < Self.unacknowledgedMax else {
                    state.isFull = true
                    return LinkError(.full)
                }
                return nil
            }
            if let refusal { return refusal }
            var identifier: Int32 = 0
            var properties: OpaquePointer?
            if let expiry = message.expirySeconds {
                mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), expiry)
            }
            defer { mosquitto_property_free_all(&properties) }
            let status = mosquitto_publish_v5(
                handle, &identifier, message.topic, Int32(message.bytes.count), message.bytes,
                message.isAcknowledged ? 1 : 0, message.isRetained, properties)
            switch mosq_err_t(status) {
            case MOSQ_ERR_SUCCESS: break
            // The library sends an acknowledged message on the next connection.
            case MOSQ_ERR_NO_CONN where message.isAcknowledged: break
            case MOSQ_ERR_OVERSIZE_PACKET, MOSQ_ERR_PAYLOAD_SIZE: return LinkError(.oversized, Self.text(status))
            default:
                state.withLock { $0.isFull = true }
                return LinkError(.full, Self.text(status))
            }
            state.withLock { state in
                guard state.early.remove(identifier) == nil else { return }
                if message.isAcknowledged {
                    state.unacknowledged.insert(identifier)
                } else {
                    state.immediate.insert(identifier)
                }
            }
            wakeThread()
            return nil
        }

        /// Wakes the thread, after the library got something to write.
        private func wakeThread() {
            let isNews = state.withLock { state in
                defer { state.isWoken = true }
                return !state.isWoken
            }
            if isNews { wake.signal() }
        }

        public func drop() {
            state.withLock { $0.isDropped = true }
            // The thread sees this as the end of the connection. 0x04 makes the broker publish the will.
            mosquitto_disconnect_v5(handle, 0x04, nil)
            wakeThread()
        }

        public func close() async {
            state.withLock { $0.isStopping = true }
            let end = ContinuousClock.now + .seconds(1)
            while state.withLock({ $0.isConnected && $0.inFlightCount > 0 }), ContinuousClock.now < end {
                try? await Task.sleep(for: .milliseconds(2))
            }
            state.withLock { $0.mustEnd = true }
            mosquitto_disconnect_v5(handle, 0, nil)
            wakeThread()
            await withCheckedContinuation { waiter in
                let isOver = state.withLock { state in
                    if state.hasEnded || state.isConnecting || state.observer == nil { return true }
                    state.waiters.append(waiter)
                    return false
                }
                if isOver { waiter.resume() }
            }
            // A thread that is still connecting finds no observer to call, and ends.
            state.withLock { $0.observer = nil }
        }
    }

    // MARK: - The thread

    extension MosquittoClient {
        /// The keep-alive interval. It exceeds delivery's idle interval, so that the library pings only if nothing else
        /// is sent.
        private static let keepAliveSeconds: Int32 = 35
        /// The interval at which the library checks whether a ping is due.
        private static let pingCheckMilliseconds: Int32 = 5_000

        private func run() {
            var backoff = ReconnectBackoff(from: .milliseconds(50), to: .seconds(5))
            var random = SplitMix64(seed: .random(in: 0 ... .max))
            while !state.withLock({ $0.isStopping }) {
                let began = ContinuousClock.now
                let status = connectOnce()
                let (wasConnected, end, reason) = state.withLock { state in
                    defer {
                        (state.isConnected, state.isReplaced, state.isDropped) = (false, false, false)
                        state.brokerReason = nil
                        state.immediate = []
                        state.early = []
                    }
                    return (
                        state.isConnected, state.end(status),
                        state.brokerReason ?? "\(broker.url): \(Self.text(status))"
                    )
                }
                let observer = state.withLock { $0.observer }
                if wasConnected { observer?.disconnected(reason) } else { observer?.refused(reason) }
                let pause = backoff.next(after: wasConnected ? ContinuousClock.now - began : nil, end, &random)
                if end != .failed, let problem = backoff.problem { observer?.refused("\(broker.url): \(problem)") }
                wait(for: pause)
            }
            let waiters = state.withLock { state in
                state.hasEnded = true
                state.observer = nil
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        private func wait(for pause: Duration) {
            let end = ContinuousClock.now + pause
            while !state.withLock({ $0.isStopping }), ContinuousClock.now < end { Thread.sleep(forTimeInterval: 0.02) }
        }

        /// - Returns: The library's status when the connection ended.
        private func connectOnce() -> Int32 {
            guard let observer = state.withLock({ $0.observer }) else { return Int32(MOSQ_ERR_NO_CONN.rawValue) }
            let will = observer.nextWill()
            mosquitto_will_clear(handle)
            mosquitto_will_set_v5(
                handle, will.topic, Int32(will.bytes.count), will.bytes, will.isAcknowledged ? 1 : 0, will.isRetained,
                nil)
            var properties: OpaquePointer?
            mosquitto_property_add_int32(
                &properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), sessionExpirySeconds)
            mosquitto_property_add_int16(&properties, Int32(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), Self.receiveMaximum)
            mosquitto_property_add_int32(
                &properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), Self.packetBytesMax)
            defer { mosquitto_property_free_all(&properties) }
            let mayConnect = state.withLock { state in
                state.isConnecting = !state.isStopping
                return state.isConnecting
            }
            guard mayConnect else { return Int32(MOSQ_ERR_NO_CONN.rawValue) }
            var status = mosquitto_connect_bind_v5(
                handle, broker.host, Int32(broker.port), Self.keepAliveSeconds, nil, properties)
            state.withLock { $0.isConnecting = false }
            var end: ContinuousClock.Instant?
            while status == Int32(MOSQ_ERR_SUCCESS.rawValue), end.map({ ContinuousClock.now < $0 }) ?? true {
                status = runLoopOnce(timeoutMilliseconds: end == nil ? Self.pingCheckMilliseconds : 200)
                guard end == nil, state.withLock({ $0.mustEnd }) else { continue }
                // `close` may have been called before there was a connection. The deadline protects against a broker
                // that hangs.
                mosquitto_disconnect_v5(handle, 0, nil)
                end = ContinuousClock.now + .seconds(1)
            }
            return status
        }

        /// Waits for events for at most the given time, and handles them.
        private func runLoopOnce(timeoutMilliseconds: Int32) -> Int32 {
            let socket = mosquitto_socket(handle)
            guard socket >= 0 else { return Int32(MOSQ_ERR_NO_CONN.rawValue) }
            let events = POLLIN | (mosquitto_want_write(handle) ? POLLOUT : 0)
            switch wake.wait(for: socket, Int32(events), timeoutMilliseconds: timeoutMilliseconds) {
            case .failed(let number): return Self.failure(number)
            case .timedOut: return mosquitto_loop_misc(handle)
            case .woken:
                wake.clear()
                // Cleared before checking for messages, so that later ones wake the thread again.
                state.withLock { $0.isWoken = false }
            case .ready: break
            }
            // Reads each time, so that constant publishing can't starve reading. Reading without data isn't an error.
            var status = mosquitto_loop_read(handle, 1)
            guard status == Int32(MOSQ_ERR_SUCCESS.rawValue) else { return status }
            if mosquitto_want_write(handle) { status = mosquitto_loop_write(handle, 1) }
            return status == Int32(MOSQ_ERR_SUCCESS.rawValue) ? mosquitto_loop_misc(handle) : status
        }

        private static func failure(_ number: Int32) -> Int32 {
            errno = number
            return Int32(MOSQ_ERR_ERRNO.rawValue)
        }

        static func text(_ status: Int32) -> String {
            switch mosq_err_t(status) {
            case MOSQ_ERR_ERRNO: return String(cString: strerror(errno))
            // The library gives no details.
            case MOSQ_ERR_TLS:
                return "TLS failed; check that its certificate is for this host and from a trusted authority"
            default: break
            }
            return mosquitto_strerror(status).map { String(cString: $0) } ?? "error \(status)"
        }
    }
#endif
