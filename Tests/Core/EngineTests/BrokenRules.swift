import Foundation
import MeshBrokenRules
import Testing

/// Breaks a rule while the test runs. Only some builds support this.
struct BrokenRule: TestTrait, TestScoping {
    let rule: EngineMutation

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await breaking(rule) { try await function() }
    }
}

extension Trait where Self == BrokenRule {
    static func breaks(_ rule: EngineMutation) -> Self { Self(rule: rule) }
}

extension Trait where Self == ConditionTrait {
    static var breaksRules: Self { .enabled(if: BrokenRules.areThere, "breaks a rule: Tools/test can") }
}

@Suite struct BrokenRulesTests {
    @Test func `Continuous integration breaks rules`() {
        let isContinuousIntegration = ProcessInfo.processInfo.environment["CI"] == "true"
        #expect(BrokenRules.areThere || !isContinuousIntegration)
    }
}
