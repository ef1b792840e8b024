import MeshBase

/// Times an operation by the median of several batches. Each batch is long enough for the clock.
public struct BenchmarkStopwatch: Sendable {
    /// Minimum duration of a batch.
    public let batchDuration: Duration
    /// The number of batches that the median is taken from.
    public let batchCount: Int
    private let now: @Sendable () -> Duration

    /// Creates a stopwatch on the system's clock.
    public init(batchDuration: Duration = .milliseconds(5), batchCount: Int = 15) {
        let start = ContinuousClock.now
        self.init(batchDuration: batchDuration, batchCount: batchCount) { ContinuousClock.now - start }
    }

    /// Creates a stopwatch on a clock of the caller's choice.
    ///
    /// - Parameter now: Time since any fixed moment.
    public init(batchDuration: Duration, batchCount: Int, now: @escaping @Sendable () -> Duration) {
        precondition(batchCount > 0, "a median needs one batch")
        self.batchDuration = batchDuration
        self.batchCount = batchCount
        self.now = now
    }

    /// Returns the nanoseconds of one call of `operation`. The result is discarded. It exists so that the optimizer can't
    /// remove the work.
    public func nanoseconds<Result>(_ operation: () throws -> Result) rethrows -> Double {
        let iterations = try iterations(for: operation)
        return try median((0..<batchCount).map { _ in try duration(of: operation, iterations: iterations) }, iterations)
    }

    /// Measures several operations whose ratios matter, and returns the nanoseconds of each. Their batches take turns, so
    /// that other load on the machine affects all equally.
    public func nanoseconds(takingTurns operations: [() throws -> Void]) throws -> [Double] {
        let iterations = try operations.map { try self.iterations(for: $0) }
        var durations = operations.map { _ in [Duration]() }
        for _ in 0..<batchCount {
            for (index, operation) in operations.enumerated() {
                durations[index].append(try duration(of: operation, iterations: iterations[index]))
            }
        }
        return zip(durations, iterations).map(median)
    }

    /// Returns the number of calls in a batch. Also warms up.
    private func iterations<Result>(for operation: () throws -> Result) rethrows -> Int {
        var iterations = 1
        while try duration(of: operation, iterations: iterations) < batchDuration, iterations < 1 << 30 {
            iterations *= 2
        }
        return iterations
    }

    private func duration<Result>(of operation: () throws -> Result, iterations: Int) rethrows -> Duration {
        let start = now()
        for _ in 0..<iterations { _ = try operation() }
        return now() - start
    }

    private func median(_ durations: [Duration], _ iterations: Int) -> Double {
        durations.sorted()[durations.count / 2] / .nanoseconds(1) / Double(iterations)
    }
}
