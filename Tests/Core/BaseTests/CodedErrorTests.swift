import Foundation
import MeshBase
import Testing

@Suite struct CodedErrorTests {
    private struct Failure: CodedError {
        struct Code: Hashable, Sendable, CustomStringConvertible {
            let description: String
        }

        let code = Code(description: "refused")
        var message = ""
        var cause: (any Error)?
        var advice = ""
    }

    private struct Plain: CodedError {
        let code = "plain"
        let message = "no more is known"
        let advice = "Ask."
    }

    @Test func `names the code, the message and the cause`() {
        #expect("\(Failure(message: "ask again", cause: Plain()))" == "refused: ask again (plain: no more is known)")
        #expect("\(Failure(message: "ask again"))" == "refused: ask again")
        #expect("\(Failure())" == "refused")
    }

    @Test func `A description for people says what happened and what to do`() {
        let error: any Error = Failure(message: "ask again", cause: Plain(), advice: "Wait a minute.")
        #expect(error.localizedDescription == "Ask again (plain: no more is known). Wait a minute.")
        #expect(Failure(message: "it ends here; ask!").localizedDescription == "It ends here; ask!")
        #expect(Failure(advice: "Wait.").localizedDescription == "Refused. Wait.")
    }

    @Test func `has no cause unless it keeps one`() {
        let errors: [any CodedError] = [Plain(), Failure(), Failure(cause: Plain())]
        #expect(errors.map { $0.cause == nil } == [true, true, false])
    }
}
