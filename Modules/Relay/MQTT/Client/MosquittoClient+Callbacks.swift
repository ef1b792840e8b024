#if MQTT
    import CMosquitto
    import MeshBase
    import MeshRelay

    // libmosquitto's callbacks, on the client's thread. The C closures are in nonisolated functions. In others, the
    // compiler might isolate them to the main actor.
    extension MosquittoClient {
        nonisolated func setCallbacks(on handle: OpaquePointer) {
            mosquitto_connect_v5_callback_set(handle) { _, user, reason, _, properties in
                MosquittoClient.of(user)?.answered(reason, BrokerLimits(properties))
            }
            mosquitto_disconnect_v5_callback_set(handle) { _, user, reason, _ in
                MosquittoClient.of(user)?.ended(reason)
            }
            mosquitto_subscribe_v5_callback_set(handle) { _, user, _, count, granted, _ in
                let codes = UnsafeBufferPointer(start: granted, count: granted == nil ? 0 : Int(count))
                MosquittoClient.of(user)?.subscribed(codes.first { $0 >= 0x80 })
            }
            mosquitto_publish_v5_callback_set(handle) { _, user, identifier, reason, _ in
                MosquittoClient.of(user)?.published(identifier, reason)
            }
            mosquitto_message_v5_callback_set(handle) { _, user, message, _ in
                guard let message = message?.pointee, let topic = message.topic else { return }
                let bytes = UnsafeRawBufferPointer(start: message.payload, count: Int(message.payloadlen))
                MosquittoClient.of(user)?.current?.received(bytes, on: String(cString: topic))
            }
        }

        private static func of(_ user: UnsafeMutableRawPointer?) -> MosquittoClient? {
            user.map { Unmanaged<MosquittoClient>.fromOpaque($0).takeUnretainedValue() }
        }

        private var current: (any RelayClientObserver)? { state.withLock { $0.observer } }

        private func answered(_ reason: Int32, _ limits: BrokerLimits) {
            guard reason == 0 else {
                let advice = BrokerLimits.advice(refusal: reason).map { ": \($0)" } ?? ""
                let text = "\(broker.url) refuses the connection: \(Self.reason(reason))\(advice)"
                return state.withLock { $0.brokerReason = text }
            }
            let (wasFull, isNews) = state.withLock { state in
                state.isConnected = true
                defer { (state.isFull, state.limits) = (false, limits) }
                return (state.isFull, state.limits != limits)
            }
            current?.connected()
            if isNews { for problem in limits.problems { current?.refused("\(broker.url): \(problem)") } }
            if wasFull { current?.writable() }
        }

        private func ended(_ reason: Int32) {
            // "Session taken over" (MQTT 5.0, 2.4).
            if reason == 0x8E { state.withLock { $0.isReplaced = true } }
            // The broker's reason says more than the library's error for the broken connection.
            if reason > 0x80 {
                let text = "\(broker.url) ends the connection: \(Self.reason(reason))"
                state.withLock { $0.brokerReason = text }
            }
        }

        private func subscribed(_ refusal: Int32?) {
            if let refusal { current?.refused("\(broker.url) refuses a subscription: \(Self.reason(refusal))") }
            current?.subscribed()
        }

        private func published(_ identifier: Int32, _ reason: Int32) {
            let hasRoom = state.withLock { state in
                if state.unacknowledged.remove(identifier) == nil, state.immediate.remove(identifier) == nil {
                    state.early.insert(identifier)
                }
                guard state.isFull, state.isConnected, state.inFlightCount <= Self.unacknowledgedMax / 2 else {
                    return false
                }
                state.isFull = false
                return true
            }
            if reason >= 0x80 { current?.refused("\(broker.url) refuses a message: \(Self.reason(reason))") }
            if hasRoom { current?.writable() }
        }

        private static func reason(_ code: Int32) -> String {
            mosquitto_reason_string(code).map { String(cString: $0) } ?? "reason \(code)"
        }
    }
#endif
