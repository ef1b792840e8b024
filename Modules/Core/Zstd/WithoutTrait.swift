// Without the trait, code that uses this type gets an error message that says how to enable it.
#if !Zstd
    @available(*, unavailable, message: "needs SessionMesh's trait 'Zstd': traits: [.defaults, \"Zstd\"]")
    public enum ZstdFormat {}
#endif
