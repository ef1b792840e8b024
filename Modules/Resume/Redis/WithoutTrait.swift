// Without the trait, using these types is a compile error that says how to turn it on.
#if !Redis
    @available(*, unavailable, message: "needs SessionMesh's trait 'Redis': traits: [.defaults, \"Redis\"]")
    public enum RedisReplayBuffer {}

    @available(*, unavailable, message: "needs SessionMesh's trait 'Redis': traits: [.defaults, \"Redis\"]")
    public enum RedisReplaySettings {}
#endif
