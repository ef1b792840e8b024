// Without the trait, these declarations make the compiler say how to turn it on.
#if !(SystemDiscovery || canImport(Darwin))
    @available(
        *, unavailable, message: "needs SessionMesh's trait 'SystemDiscovery': traits: [.defaults, \"SystemDiscovery\"]"
    )
    public enum SystemDiscovery {}
#endif
