/// The time that a rule waits for one expectation: some turns, then some real time. With turns alone, a correct
/// transport could fail on a busy machine, where a thread may be suspended in the middle of its work.
package struct Patience {
    /// Maximum real time after all turns. All of it passes only if an expectation is never met. Tests of deliberately
    /// broken transports shorten it.
    @TaskLocal package static var grace = Duration.seconds(10)
    /// Maximum time for closing. All of it passes only if a transport hangs.
    static let closing = Duration.seconds(120)

    let turns: Int

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
