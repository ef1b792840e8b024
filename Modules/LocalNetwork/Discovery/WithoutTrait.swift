// Without the trait, a mention of these types says how to turn it on.
#if !(SystemDiscovery || canImport(Darwin))
    @available(
        *, unavailable, message: "needs SessionMesh's trait 'SystemDiscovery': traits: [.defaults, \"SystemDiscovery\"]"
    )
    public enum SystemDiscovery {}
#endif
