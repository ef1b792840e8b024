#if MQTT
    import Testing

    @testable import MeshMQTTTransport

    @Suite struct SessionExpiryTests {
        @Test(
            arguments: [
                (.zero, 0), (.milliseconds(1), 1), (.seconds(7), 7), (.milliseconds(7500), 8), (.seconds(-1), 0),
                (.milliseconds(-500), 0), (.seconds(Int64.max), .max),
            ] as [(Duration, UInt32)])
        func `A fraction of a second keeps the session for a second, and only zero ends it at once`(
            expiry: Duration, seconds: UInt32
        ) {
            #expect(MosquittoClient.roundedUp(expiry) == seconds)
        }
    }
#endif
