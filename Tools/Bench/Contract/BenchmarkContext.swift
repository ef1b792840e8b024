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
    /// - Parameter progress: Called often, with a description of the current measurement.
    public init(
        bus: PluginBus, options: [String: String] = [:], stopwatch: BenchmarkStopwatch = BenchmarkStopwatch(),
        progress: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.bus = bus
        self.options = options
        self.stopwatch = stopwatch
        self.progress = progress
    }

    /// All plugins of the bus. Each follows the plugins it requires.
    public var descriptors: [PluginDescriptor] { bus.descriptors }

    /// Returns the values that the bus's plugins have contributed to a point, such as the codecs.
    public func contributions<Value>(to point: ExtensionPoint<Value>) -> [Contribution<Value>] {
        bus.contributions(to: point)
    }

    /// Shows the current activity to a waiting user.
    public func report(_ activity: String) { progress(activity) }
}
