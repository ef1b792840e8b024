import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshWire

// Comparison of states (Convergence.md, rule 11).
//
// - milestone: the state after a multiple of 32 confirmed events. All members reach the same milestones.
// - digest: a hash of a milestone's state. Members exchange digests, and a difference raises `.stateDiverged`.
// - stride: the number of confirmed events between two digests. It doubles while digests would exceed the CPU budget.
// Docs/Internals/Glossary.md defines the terms.

/// The schedule of digests, which limits them to a millisecond of CPU time a minute.
struct ComparisonSchedule {
    /// Number of confirmed events from one digest to the next. Always a power of two times the interval of milestones,
    /// so members with different strides still meet at the multiples of the longer one.
    private(set) var stride = ConfirmationChain.interval
    /// The position of the newest milestone that was considered.
    private(set) var seen: UInt64 = 0
    /// True while a digest is being made.
    var isUnderWay = false
    private var dueAt: Date?
    private var pause = Duration.zero

    /// The reciprocal of the budget: the pause after a digest is this many times as long as the digest took.
    private static let pauseFactor = 60_000
    /// Maximum stride.
    private static let strideMax = UInt64(1) << 40

    /// Returns true if the milestone at `position` gets a digest.
    mutating func accepts(_ position: UInt64, at moment: Date) -> Bool {
        seen = position
        guard let dueAt else { return true }
        let wait = dueAt.timeIntervalSince(moment)
        // A clock that was set back must not stop comparisons for longer than the normal pause.
        if wait > 0, wait <= pause.seconds {
            stride = min(stride * 2, Self.strideMax)
            return false
        }
        if -wait > 4 * pause.seconds { stride = max(stride / 2, ConfirmationChain.interval) }
        return true
    }

    /// Ends a digest that took `cost`, and plans the pause after it.
    mutating func note(_ cost: Duration, at moment: Date) {
        isUnderWay = false
        pause = cost * Self.pauseFactor
        dueAt = moment + pause.seconds
    }
}

extension SessionCore {
    /// Starts a digest of the newest milestone if the budget allows it.
    mutating func compareStates() {
        // The count restarts with another group.
        if engine.confirmedCount < comparisons.seen { comparisons = ComparisonSchedule() }
        guard isRunning, !engine.isBehind, !comparisons.isUnderWay,
            let position = engine.milestonePosition(every: comparisons.stride, after: comparisons.seen),
            comparisons.accepts(position, at: moment.now), let milestone = engine.milestone(at: position)
        else { return }
        comparisons.isUnderWay = true
        directives.milestone = milestone
    }

    /// Ends a digest that took `cost`, and gives it to the engine. The digest is nil if the state's encoding isn't the
    /// same each time.
    mutating func finishDigest(_ digest: UInt64?, of milestone: SessionMilestone<State>, cost: Duration) {
        comparisons.note(cost, at: moment.now)
        checkStateCoding()
        guard let digest else { return }
        engine.add(
            StateDigest(
                position: milestone.position, chain: milestone.chain, state: digest,
                version: UInt64(max(0, configuration.reducerVersion))))
        wake()
        scheduleExchange(.regular)
    }

    /// Reports, in debug builds, if encoding loses a field of the state: newcomers and relaunches get the decoded copy.
    mutating func checkStateCoding() {
        report(
            CodingLoss.report(
                from: engine.state, to: try CompactCodec().decodedCopy(of: engine.state),
                in: "the state of '\(engine.featureID)'"))
    }
}
