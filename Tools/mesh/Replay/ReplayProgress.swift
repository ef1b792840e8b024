#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import WorkoutExample

    /// Shows how a replay goes.
    protocol ReplayDisplay: AnyObject {
        /// A peer's process has been started.
        func joined(_ actor: ReplayPlan.Actor)
        func take(_ report: PeerReport, from actor: ReplayPlan.Actor)
        /// That peer has sent bytes to the other one, over a pipe that this process slows.
        func send(from actor: ReplayPlan.Actor)
        /// Whether what the peers send is held back.
        func reach(isApart: Bool)
        /// Called 25 times a second.
        func tick()
        /// The process is about to be stopped by the person, who may continue it later.
        func suspend()
        /// - Parameter isComplete: whether both peers have come to their end.
        func end(isComplete: Bool)
    }

    /// Says on stderr how far the replay is: one changing line on a terminal, else a line at every quarter.
    final class ReplayProgress: ReplayDisplay {
        private let total: Int
        private let isQuiet: Bool
        private let isTerminal = isatty(STDERR_FILENO) == 1
        private var steps: [ReplayPlan.Actor: Int] = [:]
        private var quartersShown = 0

        init(plan: ReplayPlan, isQuiet: Bool) {
            total = plan.steps.count
            self.isQuiet = isQuiet
        }

        func joined(_ actor: ReplayPlan.Actor) {
            steps[actor] = 0
            if !isTerminal { write("\(actor.rawValue) joins\(place)\n") }
        }

        func take(_ report: PeerReport, from actor: ReplayPlan.Actor) {
            switch report {
            case .progress(let count): reached(count, by: actor)
            case .finished: reached(total, by: actor)
            case .state, .tapped, .failed: break
            }
        }

        func send(from actor: ReplayPlan.Actor) {}
        func reach(isApart: Bool) {}
        func tick() {}
        func suspend() {}

        private func reached(_ count: Int, by actor: ReplayPlan.Actor) {
            steps[actor] = count
            if isTerminal {
                write(eraseLine + line)
            } else {
                let quarters = 4 * (steps.values.min() ?? 0) / max(1, total)
                if quarters > quartersShown { write(line + "\n") }
                quartersShown = max(quartersShown, quarters)
            }
        }

        /// Leaves a terminal's line empty for what follows.
        func end(isComplete: Bool) { if isTerminal { write(eraseLine) } }

        private var line: String {
            let parts = ReplayPlan.Actor.allCases.compactMap { actor in
                steps[actor].map { "\(actor.rawValue) \($0)/\(total)" }
            }
            guard isTerminal else { return parts.joined(separator: "  ") }
            return parts.fitted(to: (ToolOutput.width(of: STDERR_FILENO) ?? 80) - 1, separator: "  ")
        }

        private var place: String {
            let most = steps.values.max() ?? 0
            return most > 0 ? " after \(most) of \(total) steps" : ""
        }

        private let eraseLine = "\r\u{1B}[K"

        private func write(_ text: String) {
            if !isQuiet { ToolOutput.drawRemark(text) }
        }
    }
#endif
