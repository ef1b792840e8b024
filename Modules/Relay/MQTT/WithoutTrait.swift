// Without the trait, using these types is a compile error that says how to turn it on.
#if !MQTT
    @available(*, unavailable, message: "needs SessionMesh's trait 'MQTT': traits: [.defaults, \"MQTT\"]")
    public enum MQTTSessionSyncTransport {}

    @available(*, unavailable, message: "needs SessionMesh's trait 'MQTT': traits: [.defaults, \"MQTT\"]")
    public enum MQTTLinkConfiguration {}

    @available(*, unavailable, message: "needs SessionMesh's trait 'MQTT': traits: [.defaults, \"MQTT\"]")
    public enum MQTTBroker {}

    @available(*, unavailable, message: "needs SessionMesh's trait 'MQTT': traits: [.defaults, \"MQTT\"]")
    public enum MQTTPairing {}
#endif
