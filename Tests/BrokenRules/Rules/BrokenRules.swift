import Synchronization

/// A rule that can be broken on purpose. A test or a simulation that doesn't detect the mistake proves nothing.
public protocol Mutation: RawRepresentable<String>, CaseIterable, Hashable, Sendable {}

public enum BrokenRules {
    /// True if this build contains the calls of `breaks` that `Tests/BrokenRules/overlay` inserts.
    public static let areThere = false

    fileprivate struct Name: Hashable {
        let family: ObjectIdentifier
        let rule: String

        init<Rule: Mutation>(_ rule: Rule) { (family, self.rule) = (ObjectIdentifier(Rule.self), rule.rawValue) }
    }

    @TaskLocal fileprivate static var broken: Set<Name> = []
    /// False until a rule is broken, so that `breaks` is fast in ordinary runs.
    private static let haveBeenBroken = Atomic(false)

    fileprivate static func adding<Rule: Mutation>(_ rule: Rule?) -> Set<Name> {
        guard let rule else { return broken }
        precondition(areThere, "this build can break no rule")
        haveBeenBroken.store(true, ordering: .relaxed)
        return broken.union([Name(rule)])
    }

    fileprivate static func contain<Rule: Mutation>(_ rule: Rule) -> Bool {
        haveBeenBroken.load(ordering: .relaxed) && broken.contains(Name(rule))
    }
}

/// Runs `body` with the rule broken, also in the tasks that `body` starts. nil breaks no rule.
public func breaking<Rule: Mutation, Result>(_ rule: Rule?, during body: () throws -> Result) rethrows -> Result {
    try BrokenRules.$broken.withValue(BrokenRules.adding(rule), operation: body)
}

public func breaking<Rule: Mutation, Result>(
    _ rule: Rule?, isolation: isolated (any Actor)? = #isolation, during body: () async throws -> Result
) async rethrows -> Result {
    try await BrokenRules.$broken.withValue(BrokenRules.adding(rule), operation: body)
}

public func breaks(_ rule: EngineMutation) -> Bool { BrokenRules.contain(rule) }
public func breaks(_ rule: KeyMutation) -> Bool { BrokenRules.contain(rule) }
public func breaks(_ rule: LiarMutation) -> Bool { BrokenRules.contain(rule) }
public func breaks(_ rule: LobbyMutation) -> Bool { BrokenRules.contain(rule) }
public func breaks(_ rule: ResumeMutation) -> Bool { BrokenRules.contain(rule) }
