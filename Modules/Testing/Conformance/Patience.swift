/// How long a rule waits for one expectation: so many turns, and twenty more in half a second of real time. In turns
/// alone a busy machine could be taken for a broken transport: a thread may have been put aside in the midst of its work.
struct Patience {
    let turns: Int

    /// - Returns: whether the condition came to hold.
    func settle(by turn: () async -> Void, until condition: () -> Bool) async throws -> Bool {
        for _ in 0..<turns {
            if condition() { return true }
            try Task.checkCancellation()
            await turn()
        }
        for _ in 0..<20 {
            if condition() { return true }
            try await Task.sleep(for: .milliseconds(25))
            await turn()
        }
        return condition()
    }
}
