#if MQTT
    import CMosquitto

    /// The limits that a broker states in CONNACK (MQTT 5.0, 3.2.2.3), and the problems with those that are too small.
    struct BrokerLimits: Hashable, Sendable {
        var packetBytes: UInt32 = .max
        var keepsRetained = true
        var qualityOfServiceMax: UInt8 = 2
        var receiveMaximum: UInt16 = .max

        /// The lowest Receive Maximum at which sending doesn't often wait for round trips.
        static let receiveMaximumMin: UInt16 = 10

        init() {}

        /// - Parameter properties: The properties of CONNACK; nil if there are none.
        init(_ properties: OpaquePointer?) {
            mosquitto_property_read_int32(
                properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), &packetBytes, false)
            var byte: UInt8 = 1
            mosquitto_property_read_byte(properties, Int32(MQTT_PROP_RETAIN_AVAILABLE.rawValue), &byte, false)
            keepsRetained = byte != 0
            mosquitto_property_read_byte(
                properties, Int32(MQTT_PROP_MAXIMUM_QOS.rawValue), &qualityOfServiceMax, false)
            mosquitto_property_read_int16(
                properties, Int32(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), &receiveMaximum, false)
        }

        private static let noRetained = "it doesn't keep retained messages, so peers can't find each other; allow them"
        private static let lowQuality = "it accepts QoS 0 only, so messages can be lost; allow QoS 1"

        /// Returns advice if the broker refused the connection because of a limit that the link's will exceeds.
        static func advice(refusal code: Int32) -> String? {
            switch code {
            case 0x9A: noRetained
            case 0x9B: lowQuality
            default: nil
            }
        }

        /// A sentence for each limit that is too small, with advice for the broker's settings.
        var problems: [String] {
            var problems: [String] = []
            if packetBytes < MosquittoClient.packetBytesMax {
                problems.append(
                    "it accepts packets of at most \(packetBytes) bytes, so larger messages can't be sent; raise its packet size "
                        + "to \(MosquittoClient.packetBytesMax)")
            }
            if !keepsRetained { problems.append(Self.noRetained) }
            if qualityOfServiceMax < 1 { problems.append(Self.lowQuality) }
            if receiveMaximum < Self.receiveMaximumMin {
                problems.append(
                    "it accepts \(receiveMaximum) messages at a time (Receive Maximum), so sending is slow; allow "
                        + "\(Self.receiveMaximumMin) or more")
            }
            return problems
        }
    }
#endif
