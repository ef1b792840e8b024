public import MeshBus

/// The tools of a running benchmark: the bus, the caller's options and a stopwatch.
public struct BenchmarkContext: Sendable {
    /// The caller's options, such as `payload` → `track`.
    public let options: [String: String]
    /// The stopwatch for all times.
    public let stopwatch: BenchmarkStopwatch
    private let bus: PluginBus
    private let progress: @Sendable (String) -> Void

    /// Creates the context of a benchmark.
    ///
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

    /// Returns the values that the bus's plugins have contributed to a point, such as the codecs.
    public func contributions<Value>(to point: ExtensionPoint<Value>) -> [Contribution<Value>] {
        bus.contributions(to: point)
    }

    /// Says what is being measured now, for people who wait.
    public func report(_ activity: String) { progress(activity) }
}
