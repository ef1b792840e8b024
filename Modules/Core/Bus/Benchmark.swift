/// A measurement that a plugin offers; `plugins-tool bench` runs what is contributed to `ExtensionPoint.benchmarks`.
///
/// `run` must end within seconds, take its times with the context's stopwatch, and throw rather than leave a row out.
/// An option that it does not know is not for it.
public struct BenchmarkCase: Sendable {
    /// What people type to run it, such as `codecs`.
    public let id: String
    /// One line: what the rows compare.
    public let summary: String
    public let run: @Sendable (BenchmarkContext) async throws -> [BenchmarkRow]

    public init(
        id: String, summary: String, run: @escaping @Sendable (BenchmarkContext) async throws -> [BenchmarkRow]
    ) {
        self.id = id
        self.summary = summary
        self.run = run
    }
}

extension ExtensionPoint where Value == BenchmarkCase {
    /// Where plugins offer measurements.
    public static let benchmarks = ExtensionPoint("sessionmesh.benchmarks")
}

/// A value that codecs are measured with.
public struct BenchmarkPayload: Sendable {
    /// What people type to choose it, such as `track`.
    public let id: String
    public let value: any Codable & Equatable & Sendable
    /// Nil unless the value is made of samples.
    public let samples: Samples?

    public init(id: String, value: any Codable & Equatable & Sendable, samples: Samples? = nil) {
        self.id = id
        self.value = value
        self.samples = samples
    }

    /// How the same payload looks with more or fewer samples; it tells how many fit under a limit.
    public struct Samples: Sendable {
        public let count: Int
        /// The payload with that many samples; any number from 0.
        public let payload: @Sendable (Int) -> any Codable & Equatable & Sendable

        public init(count: Int, payload: @escaping @Sendable (Int) -> any Codable & Equatable & Sendable) {
            self.count = count
            self.payload = payload
        }
    }
}

extension ExtensionPoint where Value == BenchmarkPayload {
    /// Where plugins offer values of their own to measure codecs with.
    public static let benchmarkPayloads = ExtensionPoint("sessionmesh.benchmark-payloads")
}

/// What a running benchmark sees: the bus, what the caller asked for, and a stopwatch.
public struct BenchmarkContext: Sendable {
    /// What the caller asked for, such as `payload` → `track`.
    public let options: [String: String]
    public let stopwatch: BenchmarkStopwatch
    private let bus: PluginBus
    private let progress: @Sendable (String) -> Void

    /// - Parameter progress: is told what is being measured; called often.
    public init(
        bus: PluginBus, options: [String: String] = [:], stopwatch: BenchmarkStopwatch = BenchmarkStopwatch(),
        progress: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.bus = bus
        self.options = options
        self.stopwatch = stopwatch
        self.progress = progress
    }

    /// Every plugin of the bus, each after what it requires.
    public var descriptors: [PluginDescriptor] { bus.descriptors }

    public func contributions<Value>(to point: ExtensionPoint<Value>) -> [Contribution<Value>] {
        bus.contributions(to: point)
    }

    /// Says what is being measured now, for people who wait.
    public func report(_ activity: String) { progress(activity) }
}

/// One line of a benchmark's table: named values in order. Units end the names: `encodeNanoseconds`.
public struct BenchmarkRow: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    public struct Field: Sendable, Equatable {
        public let name: String
        public let value: BenchmarkValue

        public init(name: String, value: BenchmarkValue) {
            self.name = name
            self.value = value
        }
    }

    public let fields: [Field]

    public init(fields: [Field]) { self.fields = fields }

    public init(dictionaryLiteral elements: (String, BenchmarkValue)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The value of that name; O(fields).
    public subscript(name: String) -> BenchmarkValue? {
        fields.first { $0.name == name }?.value
    }
}

/// A value in a benchmark's table.
public enum BenchmarkValue: Sendable, Equatable {
    case text(String)
    case integer(Int)
    case number(Double)
    /// By name, such as the id of a payload limit.
    case flags([String: Bool])
    /// By name, such as the id of a payload limit.
    case integers([String: Int])
}

extension BenchmarkRow: Encodable {
    private struct FieldName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: FieldName.self)
        for field in fields { try container.encode(field.value, forKey: FieldName(stringValue: field.name)) }
    }
}

extension BenchmarkValue: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .flags(let flags): try container.encode(flags)
        case .integers(let integers): try container.encode(integers)
        }
    }
}

/// Times an operation: the median of several batches, each long enough for the clock.
public struct BenchmarkStopwatch: Sendable {
    /// Batches are scaled to last at least this long.
    public let batchDuration: Duration
    public let batchCount: Int
    private let now: @Sendable () -> Duration

    public init(batchDuration: Duration = .milliseconds(5), batchCount: Int = 15) {
        let start = ContinuousClock.now
        self.init(batchDuration: batchDuration, batchCount: batchCount) { ContinuousClock.now - start }
    }

    /// - Parameter now: time passed since any fixed moment.
    public init(batchDuration: Duration, batchCount: Int, now: @escaping @Sendable () -> Duration) {
        precondition(batchCount > 0, "a median needs one batch")
        self.batchDuration = batchDuration
        self.batchCount = batchCount
        self.now = now
    }

    /// Nanoseconds that one call of `operation` takes. Its result is discarded, and is there so that the optimizer
    /// cannot discard the work.
    public func nanoseconds<Result>(_ operation: () throws -> Result) rethrows -> Double {
        let iterations = try iterations(for: operation)
        return try median((0..<batchCount).map { _ in try duration(of: operation, iterations: iterations) }, iterations)
    }

    /// The same for several operations whose ratios matter: their batches take turns, so that what else the machine
    /// does disturbs all alike.
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

    /// How many calls make a batch. Finding out warms up.
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
