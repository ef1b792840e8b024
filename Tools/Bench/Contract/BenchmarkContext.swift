public import MeshBus

/// What a running benchmark sees: the bus, what the caller asked for, and a stopwatch.
public struct BenchmarkContext: Sendable {
    /// What the caller asked for, such as `payload` → `track`.
    public let options: [String: String]
    /// What times are taken with.
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

    /// What the bus's plugins have contributed to a point, such as the codecs.
    public func contributions<Value>(to point: ExtensionPoint<Value>) -> [Contribution<Value>] {
        bus.contributions(to: point)
    }

    /// Says what is being measured now, for people who wait.
    public func report(_ activity: String) { progress(activity) }
}
