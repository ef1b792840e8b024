#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import WorkoutExample

    /// Shows the progress of a replay.
    protocol ReplayDisplay: AnyObject {
        /// Called when a peer's process has started.
        func joined(_ actor: ReplayPlan.Actor)
        func take(_ report: PeerReport, from actor: ReplayPlan.Actor)
        /// Called when a peer has sent bytes to the other one, over a pipe that this process delays.
        func send(from actor: ReplayPlan.Actor)
        /// Called when this process begins or stops holding back what the peers send.
        func reach(isApart: Bool)
        /// Called 25 times a second with a live view, otherwise once a second.
        func tick()
        /// Called before the user stops the process. It may continue later.
        func suspend()
        /// - Parameter isComplete: True if both peers have finished.
        func end(isComplete: Bool)
    }

    /// Shows the progress on stderr: one changing line on a terminal, elsewhere a line at each quarter.
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

        /// Clears a terminal's line for the following output.
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
