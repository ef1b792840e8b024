// Without the trait, these declarations make the compiler say how to turn it on.
#if !(UDP || MQTT || WebSocket)
    @available(*, unavailable, message: "needs one of SessionMesh's traits 'UDP', 'MQTT' and 'WebSocket'")
    public enum PeerIdentity {}

    @available(*, unavailable, message: "needs one of SessionMesh's traits 'UDP', 'MQTT' and 'WebSocket'")
    public enum TrustedPeer {}

    @available(*, unavailable, message: "needs one of SessionMesh's traits 'UDP', 'MQTT' and 'WebSocket'")
    public enum TrustedPeers {}
#endif
