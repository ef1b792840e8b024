// Without the trait, code that uses these types gets an error message that says how to enable it.
#if !Libdeflate
    @available(*, unavailable, message: "needs SessionMesh's trait 'Libdeflate': traits: [.defaults, \"Libdeflate\"]")
    public enum LibdeflateCompressor {}
#endif
