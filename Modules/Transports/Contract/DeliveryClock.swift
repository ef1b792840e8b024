public import MeshFoundation

/// The clocks of a transport: elapsed time, wall time, and a call when a deadline is due.
///
/// Tests and `ScenarioNetwork` use a clock of virtual time.
public protocol DeliveryClock: Sendable {
    /// The time of a monotonic clock, which never jumps.
    var elapsed: Duration { get }
    /// The wall clock, which may jump either way.
    var wall: Date { get }
    /// True if time passes by itself. False for a clock that a test moves.
    var passesByItself: Bool { get }
    /// Calls `body` once, on any thread, when `elapsed` has reached `deadline`; never from within this method.
    func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void)
}

extension DeliveryClock {
    public var passesByItself: Bool { true }

    /// Waits until the duration has passed.
    /// - Throws: `CancellationError`.
    public func sleep(for duration: Duration) async throws {
        let (waking, waker) = AsyncStream.makeStream(of: Void.self)
        wake(at: elapsed + duration) { waker.finish() }
        for await _ in waking {}
        try Task.checkCancellation()
    }
}

/// A delivery clock that reads the system's clocks.
public struct SystemClock: DeliveryClock {
    private static let start = ContinuousClock.now
    /// A hundred years. `wake` uses it in place of later deadlines, because the Swift runtime traps if the nanoseconds
    /// exceed 64 bits.
    private static let deadlineMax = Duration.seconds(3_155_760_000)

    /// Creates a clock that reads the same time as every other instance.
    public init() {}

    public var elapsed: Duration { Self.start.duration(to: .now) }
    public var wall: Date { Date() }

    public func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        let deadline = min(deadline, Self.deadlineMax)
        Task {
            try? await Task.sleep(until: Self.start.advanced(by: deadline), clock: .continuous)
            body()
        }
    }
}
