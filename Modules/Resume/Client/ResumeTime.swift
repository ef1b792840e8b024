/// The clock of a coordinator. Tests supply their own.
struct ResumeTime: Sendable {
    let elapsed: @Sendable () -> Duration
    /// Sleeps until a time. Throws if the task is cancelled.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    static var system: ResumeTime {
        let start = ContinuousClock.now
        return ResumeTime(
            elapsed: { start.duration(to: .now) },
            sleep: { try await Task.sleep(until: start.advanced(by: $0), clock: .continuous) })
    }
}
