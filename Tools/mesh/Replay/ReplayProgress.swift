#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import WorkoutExample

    /// Says on stderr how far the replay is: one changing line on a terminal, else a line at every quarter.
    final class ReplayProgress {
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

        func reached(_ count: Int, by actor: ReplayPlan.Actor) {
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
        func end() { if isTerminal { write(eraseLine) } }

        private var line: String {
            let parts = ReplayPlan.Actor.allCases.compactMap { actor in
                steps[actor].map { "\(actor.rawValue) \($0)/\(total)" }
            }
            return parts.joined(separator: "  ")
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
