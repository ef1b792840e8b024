/// One thing that every implementation of a plugin point must do, and how to find out whether it does.
///
/// Bound to no test framework: tests, `plugins-tool verify` and anybody else may run it. `Bench` is what the rule is
/// given to work with.
public struct ConformanceRule<Bench: Sendable>: Sendable {
    /// Stable, such as `transport.order.reliable`.
    public let id: String
    /// One line: what must hold.
    public let summary: String
    /// Why the rule says nothing about this implementation; nil when it applies.
    public let exemption: @Sendable (Bench) -> String?
    /// - Throws: `ConformanceFailure` when the rule is broken; any other error breaks it too.
    public let check: @Sendable (Bench) async throws -> Void

    public init(
        _ id: String, _ summary: String, exemption: @escaping @Sendable (Bench) -> String? = { _ in nil },
        check: @escaping @Sendable (Bench) async throws -> Void
    ) {
        self.id = id
        self.summary = summary
        self.exemption = exemption
        self.check = check
    }
}

/// What a rule found to be otherwise than it must be.
public struct ConformanceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Throws `ConformanceFailure` unless the condition holds.
public func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(ConformanceFailure) {
    guard condition else { throw ConformanceFailure(message()) }
}

/// Throws `ConformanceFailure` unless both are equal.
public func requireEqual<Value: Equatable>(
    _ actual: Value, _ expected: Value, _ subject: @autoclosure () -> String
) throws(ConformanceFailure) {
    guard actual == expected else {
        throw ConformanceFailure("\(subject()) is \(brief(actual)), expected \(brief(expected))")
    }
}

/// Long values make long reports.
private func brief(_ value: some Any) -> String {
    let text = "\(value)"
    return text.count <= 160 ? text : "\(text.prefix(157))…"
}
