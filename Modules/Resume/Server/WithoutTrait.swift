// Without the trait, using these types is a compile error that says how to turn it on.
#if !WebSocket
    @available(*, unavailable, message: "needs SessionMesh's trait 'WebSocket': traits: [.defaults, \"WebSocket\"]")
    public enum GatewayServer {}
#endif
