import MeshBase
import MeshIdentity
import Observation

/// The problems of one object: at most 32, the newest last. Observable; safe to use from any thread.
///
/// If an owner also shows the problems of an object below it, such as its transport, it lists those before its own.
package final class ProblemBoard: Observable, Sendable {
    package static let problemsMax = 32

    private struct State {
        var problems: [SessionProblem] = []
        var printed: Set<SessionProblem> = []
    }

    private let state = Locked(State())
    private let registrar = ObservationRegistrar()

    package init() {}

    /// The problems that aren't solved.
    package var problems: [SessionProblem] {
        registrar.access(self, keyPath: \.problems)
        return state.withLock { $0.problems }
    }

    /// Adds a problem, and replaces an earlier one with the same code and subject. Beyond the limit the oldest is
    /// removed.
    /// - Parameter isMistake: false for a failure that no call site has caused. It isn't printed.
    package func report(_ problem: SessionProblem, isMistake: Bool = true) {
        guard !state.withLock({ $0.problems.contains(problem) }) else { return }
        let isNew = registrar.withMutation(of: self, keyPath: \.problems) {
            state.withLock { state in
                state.problems.removeAll { $0.id == problem.id }
                state.problems = (state.problems + [problem]).suffix(Self.problemsMax)
                if state.printed.count == Self.problemsMax { state.printed = [] }
                return state.printed.insert(problem).inserted
            }
        }
        #if DEBUG
            if isNew, isMistake { StandardError.print(problem.errorDescription ?? problem.message) }
        #endif
    }

    /// Removes the problems with that code, of one subject or of all.
    package func solve(_ code: SessionProblem.Code, of subject: String? = nil) {
        func isSolved(_ problem: SessionProblem) -> Bool {
            problem.code == code && subject.map { $0.printable() == problem.subject } ?? true
        }
        guard state.withLock({ $0.problems.contains(where: isSolved) }) else { return }
        registrar.withMutation(of: self, keyPath: \.problems) {
            state.withLock { $0.problems.removeAll(where: isSolved) }
        }
    }

    /// Notifies observers that the problems of an object below the owner have changed.
    package func touch() { registrar.withMutation(of: self, keyPath: \.problems) {} }

    /// Reports the problem, or solves those with that code and subject if there is none.
    package func set(_ code: SessionProblem.Code, of subject: String, _ problem: SessionProblem?) {
        if let problem { report(problem) } else { solve(code, of: subject) }
    }
}

extension ProblemBoard {
    /// Starts a transport, and reports a failure as a problem. For owners whose own `start` doesn't throw.
    package func start(_ transport: any SessionSyncTransport) {
        do {
            try transport.start()
            solve(.transportFailed)
        } catch {
            report(.transportFailed(transport.localPeer.id, error.shownText))
        }
    }
}
