import Foundation
import MeshEngine
import Testing

extension Trait where Self == ConditionTrait {
    /// A test that breaks a rule on purpose, which only some builds can.
    static var breaksRules: Self {
        .enabled(if: EngineMutations.areCompiledIn, "breaks a rule: needs MESH_MUTATIONS=1, which Tools/test sets")
    }
}

@Suite struct BrokenRules {
    @Test func `Continuous integration breaks rules`() {
        let isContinuousIntegration = ProcessInfo.processInfo.environment["CI"] == "true"
        #expect(EngineMutations.areCompiledIn || !isContinuousIntegration)
    }
}
