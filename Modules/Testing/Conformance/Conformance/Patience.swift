/// How long a rule waits for one expectation: so many turns, and then some real time. In turns alone a busy machine could
/// be taken for a broken transport: a thread may have been put aside in the midst of its work.
package struct Patience {
    /// The real time after all turns. Only what never comes takes it; so does a transport that is broken on purpose, and
    /// its test need not wait.
    @TaskLocal package static var grace = Duration.seconds(10)
    /// What closing may take. Only a transport that hangs does.
    static let closing = Duration.seconds(120)

    let turns: Int

    /// - Returns: whether the condition came to hold.
    func settle(by turn: () async -> Void, until condition: () -> Bool) async throws -> Bool {
        for _ in 0..<turns {
            if condition() { return true }
            try Task.checkCancellation()
            await turn()
        }
        return try await Self.sleep(by: turn, until: condition)
    }

    /// For who may not let the transports' own time pass.
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
