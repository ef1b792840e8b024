/// The plugins of a mesh and their contributions.
///
/// ```swift
/// let bus = try PluginBus {
///     CompactCodecPlugin()
///     PipeTransportPlugin()
/// }
/// let codecs = bus.contributions(to: .codecs)
/// ```
///
/// A bus is immutable, and there is no global one: you register plugins by listing them. The bus adds required modules
/// that contribute nothing (``ModulePlugin``).
public struct PluginBus: Sendable {
    /// All plugins, each after those that it requires.
    public let plugins: [any Plugin]
    private let extensions: ExtensionRegistry

    /// Creates a bus from a list of plugins in a result builder.
    ///
    /// - Throws: the errors of `init(plugins:)`.
    public init(@PluginBuilder _ plugins: () throws -> [any Plugin]) throws {
        try self.init(plugins: plugins())
    }

    /// Creates a bus, and lets each plugin contribute after the plugins that it requires.
    ///
    /// - Throws: `PluginError` for a duplicate ID, a limit that another plugin states differently, a missing or
    ///   circular requirement, or a failed contribution.
    public init(plugins: [any Plugin]) throws(PluginError) {
        let ordered = try orderedByRequirement(plugins)
        try checkLimitsAreConsistent(in: ordered.map(\.descriptor))
        var registry = ExtensionRegistry(contributor: "")
        for plugin in ordered {
            registry.contributor = plugin.descriptor.id
            do {
                try plugin.contribute(to: &registry)
            } catch {
                throw .contributionFailed(of: plugin.descriptor.id, error)
            }
        }
        self.plugins = ordered
        self.extensions = registry
    }

    /// Descriptions of all plugins, each after those that it requires.
    public var descriptors: [PluginDescriptor] { plugins.map(\.descriptor) }

    /// Returns the contributions to a point, in dependency order. O(contributions to the point).
    public func contributions<Value>(to point: ExtensionPoint<Value>) -> [Contribution<Value>] {
        extensions.contributions(to: point)
    }
}
