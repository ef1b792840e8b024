public import MeshBase

/// One thing that every implementation of a plugin point must do, and how to find out whether it does.
///
/// It needs no test framework: tests, `plugins-tool verify` and other programs may run it. `Bench` is the type of its
/// tools.
public struct ConformanceRule<Bench: Sendable>: Sendable {
    /// Stable, such as `transport.order.reliable`.
    public let id: String
    /// One line: what must hold.
    public let summary: String
    /// Why the rule says nothing about this implementation; nil when it applies.
    public private(set) var exemption: @Sendable (Bench) -> String? = { _ in nil }
    /// Checks the rule, and throws if it is broken.
    ///
    /// - Throws: `ConformanceFailure` when the rule is broken; any other error breaks it too.
    public let check: @Sendable (Bench) async throws -> Void

    /// A rule of that id, which never changes. `check` throws ``ConformanceFailure`` where the rule is not kept.
    public init(_ id: String, _ summary: String, check: @escaping @Sendable (Bench) async throws -> Void) {
        self.id = id
        self.summary = summary
        self.check = check
    }

    /// Returns the rule with an exemption.
    public func unless(_ exemption: @escaping @Sendable (Bench) -> String?) -> ConformanceRule {
        var rule = self
        rule.exemption = exemption
        return rule
    }
}

/// The failure that a rule found.
public struct ConformanceFailure: ExplainedError, Hashable, Sendable {
    public let description: String

    /// The description says what was found, and what must be.
    public init(_ description: String) { self.description = description }

    public var advice: String { "Change the implementation until it keeps the rule." }
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
        let (found, wanted) = brief("\(actual)", "\(expected)")
        throw ConformanceFailure("\(subject()) is \(found), expected \(wanted)")
    }
}

/// Long values make long reports: what both begin with is left out, and what is far behind the difference.
private func brief(_ actual: String, _ expected: String) -> (String, String) {
    let common = zip(actual, expected).prefix { $0 == $1 }.count
    func around(_ text: String) -> String {
        guard text.count > 160 else { return text }
        let start = max(0, common - 30)
        let end = start + 130
        return (start > 0 ? "…" : "") + text.dropFirst(start).prefix(130) + (end < text.count ? "…" : "")
    }
    return (around(actual), around(expected))
}
