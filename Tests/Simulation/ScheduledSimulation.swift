/// A simulation whose seeds decide everything before the first step, so a failing schedule can be printed and shrunk.
public protocol ScheduledSimulation: SeedSimulation {
    associatedtype Plan: Equatable, CustomStringConvertible

    /// The lists that shrinking removes elements from.
    static var parts: [ScheduleParts<Plan>] { get }
    /// Changes that each make one condition ideal.
    static var simplifications: [@Sendable (inout Plan) -> Void] { get }

    func schedule(of seed: UInt64) -> Plan
    func run(_ schedule: Plan, trace: Trace?) -> SeedOutcome
    /// Returns the readable form of a failing seed's schedule.
    func text(of schedule: Plan) -> String
}

/// A list in a schedule.
public struct ScheduleParts<Schedule>: Sendable {
    let count: @Sendable (Schedule) -> Int
    let drop: @Sendable (Range<Int>, inout Schedule) -> Void

    init<Part>(_ path: any WritableKeyPath<Schedule, [Part]> & Sendable) {
        count = { $0[keyPath: path].count }
        drop = { $1[keyPath: path].removeSubrange($0) }
    }
}

extension ScheduledSimulation {
    public static var simplifications: [@Sendable (inout Plan) -> Void] { [] }

    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome { run(schedule(of: seed), trace: trace) }

    public func text(of schedule: Plan) -> String { "\(schedule)" }

    /// Shrinks a failing schedule: removes parts and makes conditions ideal while it still fails in the same way.
    /// - Returns: the smallest schedule that was found; nil if the schedule doesn't fail.
    public func shrunk(_ schedule: Plan) -> Plan? {
        guard let failure = run(schedule, trace: nil).failure else { return nil }
        var best = schedule
        func keep(_ change: (inout Plan) -> Void) -> Bool {
            var candidate = best
            change(&candidate)
            guard candidate != best, let other = run(candidate, trace: nil).failure, Self.isAlike(failure, other)
            else { return false }
            best = candidate
            return true
        }
        func drop(_ parts: ScheduleParts<Plan>) {
            var size = max(1, parts.count(best) / 2)
            while true {
                var start = 0
                while start < parts.count(best) {
                    let range = start..<min(start + size, parts.count(best))
                    if !keep({ parts.drop(range, &$0) }) { start += size }
                }
                guard size > 1 else { return }
                size /= 2
            }
        }

        var before: Plan
        repeat {
            before = best
            for parts in Self.parts { drop(parts) }
            for simplification in Self.simplifications { _ = keep(simplification) }
        } while best != before
        return best
    }

    /// True if the texts differ only in words that contain digits.
    private static func isAlike(_ one: String, _ other: String) -> Bool {
        func words(_ text: String) -> [Substring] {
            text.split(separator: " ").filter { !$0.contains(where: \.isNumber) }
        }
        return words(one) == words(other)
    }
}
