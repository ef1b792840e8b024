// Without the trait, using these types is an error that says how to turn it on.
#if !Inspector
    @available(*, unavailable, message: "needs SessionMesh's trait 'Inspector': traits: [.defaults, \"Inspector\"]")
    public enum Inspector {}
#endif
