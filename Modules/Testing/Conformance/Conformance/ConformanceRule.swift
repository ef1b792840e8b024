public import MeshBase

/// A requirement on every implementation of a plugin point, and a function that checks it.
///
/// A rule needs no test framework: tests, `plugins-tool verify` and other programs can run it. `Bench` is the type of
/// the tools that the check uses.
public struct ConformanceRule<Bench: Sendable>: Sendable {
    /// The rule's ID, such as `transport.order.reliable`. It never changes.
    public let id: String
    /// The requirement in one line.
    public let summary: String
    /// Returns the reason why the rule doesn't apply to an implementation; nil if it applies.
    public private(set) var exemption: @Sendable (Bench) -> String? = { _ in nil }
    /// Checks the rule on a plugin.
    ///
    /// - Throws: `ConformanceFailure` if the rule is broken. Any other error counts as a broken rule too.
    public let check: @Sendable (Bench) async throws -> Void

    /// Creates a rule with an ID that never changes. `check` throws ``ConformanceFailure`` if the rule is broken.
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

/// The violation that a rule has found.
public struct ConformanceFailure: ExplainedError, Hashable, Sendable {
    public let description: String

    /// Creates a failure with its description. The description says what was found and what was expected.
    public init(_ description: String) { self.description = description }

    public var advice: String { "Change the implementation until it keeps the rule." }
}

/// Throws `ConformanceFailure` unless the condition holds.
public func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(ConformanceFailure) {
    guard condition else { throw ConformanceFailure(message()) }
}

/// Throws `ConformanceFailure` unless both values are equal.
public func requireEqual<Value: Equatable>(
    _ actual: Value, _ expected: Value, _ subject: @autoclosure () -> String
) throws(ConformanceFailure) {
    guard actual == expected else {
        let (found, wanted) = brief("\(actual)", "\(expected)")
        throw ConformanceFailure("\(subject()) is \(found), expected \(wanted)")
    }
}

/// Shortens two long values: omits most of their common beginning, and everything far after the first difference.
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
