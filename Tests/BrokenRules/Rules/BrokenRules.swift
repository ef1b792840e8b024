import Synchronization

/// A rule that can be broken on purpose: a test or a search that does not notice proves nothing.
public protocol Mutation: RawRepresentable<String>, CaseIterable, Hashable, Sendable {}

public enum BrokenRules {
    /// Whether this build has the switches: the one that `Tests/BrokenRules/overlay` writes has them.
    public static let areThere = false

    fileprivate struct Name: Hashable {
        let family: ObjectIdentifier
        let rule: String

        init<Rule: Mutation>(_ rule: Rule) { (family, self.rule) = (ObjectIdentifier(Rule.self), rule.rawValue) }
    }

    @TaskLocal fileprivate static var broken: Set<Name> = []
    /// So that searches which break nothing look no further.
    private static let haveBeenBroken = Atomic(false)

    fileprivate static func adding<Rule: Mutation>(_ rules: [Rule]) -> Set<Name> {
        precondition(rules.isEmpty || areThere, "this build can break no rule")
        if !rules.isEmpty { haveBeenBroken.store(true, ordering: .relaxed) }
        return broken.union(rules.map { Name($0) })
    }

    fileprivate static func contain<Rule: Mutation>(_ rule: Rule) -> Bool {
        haveBeenBroken.load(ordering: .relaxed) && broken.contains(Name(rule))
    }
}

/// The rules are broken for what `body` does, and for the tasks that it begins.
public func breaking<Rule: Mutation, Result>(_ rules: Rule..., during body: () throws -> Result) rethrows -> Result {
    try BrokenRules.$broken.withValue(BrokenRules.adding(rules), operation: body)
}

/// As above; nil breaks none.
public func breaking<Rule: Mutation, Result>(_ rule: Rule?, during body: () throws -> Result) rethrows -> Result {
    try BrokenRules.$broken.withValue(BrokenRules.adding(rule.map { [$0] } ?? []), operation: body)
}

public func breaking<Rule: Mutation, Result>(
    _ rule: Rule?, isolation: isolated (any Actor)? = #isolation, during body: () async throws -> Result
) async rethrows -> Result {
    try await BrokenRules.$broken.withValue(BrokenRules.adding(rule.map { [$0] } ?? []), operation: body)
}

public func breaks(_ rule: EngineMutation) -> Bool { BrokenRules.contain(rule) }
public func breaks(_ rule: KeyMutation) -> Bool { BrokenRules.contain(rule) }
public func breaks(_ rule: LobbyMutation) -> Bool { BrokenRules.contain(rule) }
public func breaks(_ rule: ResumeMutation) -> Bool { BrokenRules.contain(rule) }
