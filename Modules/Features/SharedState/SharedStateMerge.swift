/// A rule that decides between concurrent changes of two peers. All peers must use the same rule.
///
/// A change whose author had seen the other one isn't concurrent. It always replaces the other one.
public struct SharedStateMerge<State: Sendable>: Sendable {
    enum Rule: Sendable {
        case whole, fields
        case custom(@Sendable (State, State) -> State)
    }

    let rule: Rule

    /// Keeps the newest value as a whole. Of values with equal stamps, the one of the higher peer ID wins. The default.
    public static var whole: Self { Self(rule: .whole) }

    /// Merges each top-level coding key separately: the newest change of a field wins. Only changed fields are sent. A field
    /// set to nil disappears on every peer. Fields that this type doesn't know stay.
    ///
    /// Two valid changes may not fit together. If the combined fields don't decode, every peer shows the newest whole value that
    /// did, until a peer changes the state. At most 4,096 fields.
    public static var fields: Self { Self(rule: .fields) }

    /// Merges with the app's closure. It gets both values, the older one first, and every peer shows its result. With more
    /// than two values, each result is merged with the next value, in the order of stamps. At most 64 values.
    ///
    /// The closure must be deterministic, so that all peers agree. Make it commutative, associative and idempotent (a union, a
    /// maximum), so that the order of changes doesn't matter. It never gets a value that the other value's author had already
    /// seen, so removed content doesn't come back.
    /// - Parameter combine: called often and on the main actor, so it must be fast.
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
