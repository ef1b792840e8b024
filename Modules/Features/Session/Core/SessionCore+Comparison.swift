import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshWire

/// When the next digest of a state may be made, so that digests take a millisecond of CPU a minute at most.
struct ComparisonSchedule {
    /// Confirmed events from one digest to the next. Doubles while digests would come too soon; since it is a power of two
    /// times the interval of milestones, members whose strides differ still meet at the multiples of the longer one.
    private(set) var stride = ConfirmationChain.interval
    /// The newest milestone that was considered.
    private(set) var seen: UInt64 = 0
    /// One digest is under way.
    var isUnderWay = false
    private var dueAt: Date?
    private var pause = Duration.zero

    /// CPU time of a minute is this many times the budget.
    private static let thrift = 60_000
    /// Beyond it a session compares no states.
    private static let strideMax = UInt64(1) << 40

    /// - Returns: whether a milestone at `position` gets a digest.
    mutating func takes(_ position: UInt64, at moment: Date) -> Bool {
        seen = position
        guard let dueAt else { return true }
        let wait = dueAt.timeIntervalSince(moment)
        // A clock that was set back must not stop comparisons for longer than they would pause anyway.
        if wait > 0, wait <= pause.seconds {
            stride = min(stride * 2, Self.strideMax)
            return false
        }
        if -wait > 4 * pause.seconds { stride = max(stride / 2, ConfirmationChain.interval) }
        return true
    }

    /// - Parameter cost: CPU time of the digest.
    mutating func note(_ cost: Duration, at moment: Date) {
        isUnderWay = false
        pause = cost * Self.thrift
        dueAt = moment + pause.seconds
    }
}

extension SessionCore {
    /// Whether the state that follows from confirmed events is the others', at milestones that the budget allows.
    mutating func compareStates() {
        // Another group counts anew.
        if engine.confirmedCount < comparisons.seen { comparisons = ComparisonSchedule() }
        guard isRunning, !comparisons.isUnderWay,
            let milestone = engine.milestone(every: comparisons.stride, after: comparisons.seen),
            comparisons.takes(milestone.position, at: moment.now)
        else { return }
        comparisons.isUnderWay = true
        directives.milestone = milestone
    }

    /// - Parameters:
    ///   - digest: nil for a state whose encoding isn't the same each time.
    ///   - cost: CPU time that it took.
    mutating func takeDigest(_ digest: UInt64?, of milestone: SessionMilestone<State>, cost: Duration) {
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

    /// In debug builds, whether encoding loses something of the state: a newcomer and a relaunch have the decoded copy.
    mutating func checkStateCoding() {
        report(
            CodingLoss.report(
                from: engine.state, to: try CompactCodec().decodedCopy(of: engine.state),
                in: "the state of '\(engine.featureID)'"))
    }
}
