/// A part of a mesh: it describes itself, contributes to extension points and may live for a while.
///
/// To the implementer:
/// - `descriptor` must be constant.
/// - `contribute` must only add to the registry. It is called once, in dependency order, when the bus is made; it may
///   throw, and the bus then is not made.
/// - `start` must return once the plugin is ready and must leave nothing behind when it throws.
/// - `run` may last as long as the bus runs; it must return soon after its task is cancelled. Returning early is fine.
/// - `stop` must undo `start`. It is called only if `start` returned, after `run` has ended, also when the task that
///   runs the bus has been cancelled.
///
/// Only `descriptor` has no default.
public protocol Plugin: Sendable {
    var descriptor: PluginDescriptor { get }
    func contribute(to registry: inout ExtensionRegistry) throws
    func start(in context: PluginContext) async throws
    func run(in context: PluginContext) async throws
    func stop() async
}

extension Plugin {
    public func contribute(to registry: inout ExtensionRegistry) throws {}
    public func start(in context: PluginContext) async throws {}
    public func run(in context: PluginContext) async throws {}
    public func stop() async {}
}

/// What a running plugin sees of the bus: topics and contributions, and nothing of the other plugins.
public struct PluginContext: Sendable {
    /// The plugin to which this context was given.
    public let plugin: PluginID
    let bus: PluginBus

    public func topic<Element>(_ key: TopicKey<Element>) -> Topic<Element> { bus.topic(key) }

    public func contributions<Value>(to point: ExtensionPoint<Value>) -> [Contribution<Value>] {
        bus.contributions(to: point)
    }
}

/// Collects the plugins listed at an entry point.
@resultBuilder
public enum PluginBuilder {
    public static func buildExpression(_ plugin: any Plugin) -> [any Plugin] { [plugin] }
    public static func buildExpression(_ plugins: [any Plugin]) -> [any Plugin] { plugins }
    public static func buildBlock(_ parts: [any Plugin]...) -> [any Plugin] { parts.flatMap { $0 } }
    public static func buildOptional(_ part: [any Plugin]?) -> [any Plugin] { part ?? [] }
    public static func buildEither(first part: [any Plugin]) -> [any Plugin] { part }
    public static func buildEither(second part: [any Plugin]) -> [any Plugin] { part }
    public static func buildArray(_ parts: [[any Plugin]]) -> [any Plugin] { parts.flatMap { $0 } }
    public static func buildLimitedAvailability(_ part: [any Plugin]) -> [any Plugin] { part }
}
