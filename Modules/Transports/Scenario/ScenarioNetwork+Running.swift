// For tests of code on the main actor: time passes in steps, and the actor's tasks run between them.
@MainActor
extension ScenarioNetwork {
    private static let step = Duration.milliseconds(10)

    /// Lets virtual time pass for the duration.
    public func run(for duration: Duration) async {
        let end = elapsed + duration
        while elapsed < end { await step(until: end) }
    }

    /// Lets virtual time pass until the condition holds.
    /// - Throws: `ScenarioTimeout` if it doesn't hold within the limit.
    public func run(within limit: Duration = .seconds(60), until condition: () -> Bool) async throws {
        let end = elapsed + limit
        while !condition() {
            guard elapsed < end else { throw ScenarioTimeout(limit: limit, seed: seed) }
            await step(until: end)
        }
    }

    private func step(until end: Duration) async {
        advance(by: min(Self.step, end - elapsed))
        // A message passes through several tasks; each yield lets the next one run.
        for _ in 0..<12 { await Task.yield() }
    }
}
