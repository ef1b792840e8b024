/// A rule for changes that two peers make without knowing of each other. All peers must use the same rule.
///
/// A change whose author has seen the other one always replaces it.
public struct SharedStateMerge<State: Sendable>: Sendable {
    enum Rule: Sendable {
        case whole, fields
        case custom(@Sendable (State, State) -> State)
    }

    let rule: Rule

    /// The newest value wins, whole; of two of the same moment the one of the higher peer id. The default.
    public static var whole: Self { Self(rule: .whole) }

    /// Each top-level coding key by itself: changes of different fields are all kept, of one field the newest is, and
    /// only fields that changed travel. A field that becomes nil vanishes everywhere; one that this type does not know
    /// stays.
    ///
    /// Two changes may each be fine and not fit together. When the fields together do not decode, every peer shows the
    /// newest whole value that did, until a peer changes it. At most 4,096 fields.
    public static var fields: Self { Self(rule: .fields) }

    /// Both values are given to the closure, the older first; what it returns is shown, on every peer. With more than
    /// two the results are merged again, in the order of their stamps; up to 64 values.
    ///
    /// The closure must be deterministic, then all peers agree. It should be commutative, associative and idempotent
    /// (a union, a maximum), so that it does not matter which peer's change was first. It is not asked about a value
    /// that the author of the other has seen: what was removed on purpose does not come back.
    /// - Parameter combine: called on the main actor, often: it must be fast.
    public static func custom(_ combine: @escaping @Sendable (_ older: State, _ newer: State) -> State) -> Self {
        Self(rule: .custom(combine))
    }

    var kind: StateRegister.Kind {
        switch rule {
        case .whole: .whole
        case .fields: .fields
        case .custom: .custom
        }
    }
}
