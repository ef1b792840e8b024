#if MQTT
    import CMosquitto
    import MeshBase
    import MeshRelay

    // What libmosquitto calls, on the client's thread. C closures stand in nonisolated functions: elsewhere they might belong
    // to the main actor.
    extension MosquittoClient {
        nonisolated func setCallbacks(on handle: OpaquePointer) {
            mosquitto_connect_v5_callback_set(handle) { _, user, reason, _, _ in
                MosquittoClient.of(user)?.answered(reason)
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

        private func answered(_ reason: Int32) {
            guard reason == 0 else {
                current?.refused("\(broker.url) refuses the connection: \(Self.reason(reason))")
                return
            }
            let wasFull = state.withLock { state in
                state.isConnected = true
                defer { state.isFull = false }
                return state.isFull
            }
            current?.connected()
            if wasFull { current?.writable() }
        }

        private func ended(_ reason: Int32) {
            // The broker's own word; the loop says what it is to the connection.
            if reason > 0x80 { current?.refused("\(broker.url) ends the connection: \(Self.reason(reason))") }
        }

        private func subscribed(_ refusal: Int32?) {
            if let refusal { current?.refused("\(broker.url) refuses a subscription: \(Self.reason(refusal))") }
            current?.subscribed()
        }

        private func published(_ identifier: Int32, _ reason: Int32) {
            let hasRoom = state.withLock { state in
                if state.kept.remove(identifier) == nil, state.immediate.remove(identifier) == nil {
                    state.early.insert(identifier)
                }
                guard state.isFull, state.isConnected, state.underWayCount <= Self.unacknowledgedMax / 2 else {
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
