// Without the trait, a mention of these types says how to turn it on.
#if !Libdeflate
    @available(*, unavailable, message: "needs SessionMesh's trait 'Libdeflate': traits: [.defaults, \"Libdeflate\"]")
    public enum LibdeflateCompressor {}
#endif
