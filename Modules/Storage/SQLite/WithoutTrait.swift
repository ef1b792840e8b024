// Without the trait, using these types is an error that says how to turn it on.
#if !SQLite
    @available(*, unavailable, message: "needs SessionMesh's trait 'SQLite': traits: [.defaults, \"SQLite\"]")
    public enum SQLiteStore {}
#endif
