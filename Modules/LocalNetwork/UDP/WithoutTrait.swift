// Without the trait, these declarations make the compiler say how to turn it on.
#if !UDP
    @available(*, unavailable, message: "needs SessionMesh's trait 'UDP': traits: [.defaults, \"UDP\"]")
    public enum UDPSessionSyncTransport {}

    @available(*, unavailable, message: "needs SessionMesh's trait 'UDP': traits: [.defaults, \"UDP\"]")
    public enum UDPLinkConfiguration {}

    @available(*, unavailable, message: "needs SessionMesh's trait 'UDP': traits: [.defaults, \"UDP\"]")
    public enum UDPPairing {}
#endif
