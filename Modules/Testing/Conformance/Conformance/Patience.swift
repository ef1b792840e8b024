/// The time that a rule waits for one expectation: some turns, then some real time. A turn is one call of a fixture's
/// `settle`. Turns alone aren't enough: on a busy machine a thread can be suspended in the middle of its work, and a
/// correct transport would fail.
package struct Patience {
    /// Maximum real time after all turns. It is used up only if an expectation is never met. Tests of deliberately
    /// broken transports shorten it.
    @TaskLocal package static var grace = Duration.seconds(10)
    /// Maximum time for closing. It is used up only if a transport hangs.
    static let closing = Duration.seconds(120)

    let turns: Int

    /// Takes turns until the condition is met or the patience ends.
    /// - Returns: true if the condition was met.
    func settle(by turn: () async -> Void, until condition: () -> Bool) async throws -> Bool {
        for _ in 0..<turns {
            if condition() { return true }
            try Task.checkCancellation()
            await turn()
        }
        return try await Self.sleep(by: turn, until: condition)
    }

    /// Waits in real time only, for callers that must not let the transports' time pass.
    static func sleep(by turn: () async -> Void = {}, until condition: () -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + grace
        while ContinuousClock.now < end {
            if condition() { return true }
            try await Task.sleep(for: grace / 500)
            await turn()
        }
        return condition()
    }
}
