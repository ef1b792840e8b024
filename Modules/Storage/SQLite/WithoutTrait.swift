// Without the trait, a mention of these types says how to turn it on.
#if !SQLite
    @available(*, unavailable, message: "needs SessionMesh's trait 'SQLite': traits: [.defaults, \"SQLite\"]")
    public enum SQLiteStore {}
#endif
