// Without the trait, code that uses these types gets a message with the way to enable it.
#if !Libdeflate
    @available(*, unavailable, message: "needs SessionMesh's trait 'Libdeflate': traits: [.defaults, \"Libdeflate\"]")
    public enum LibdeflateCompressor {}
#endif
