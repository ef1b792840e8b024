/// The clock of a coordinator. Tests have one of their own.
struct ResumeTime: Sendable {
    let elapsed: @Sendable () -> Duration
    /// Until that time, or until the task is cancelled, with an error then.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    static var system: ResumeTime {
        let start = ContinuousClock.now
        return ResumeTime(
            elapsed: { start.duration(to: .now) },
            sleep: { try await Task.sleep(until: start.advanced(by: $0), clock: .continuous) })
    }
}
