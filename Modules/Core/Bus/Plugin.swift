/// A part of a mesh that describes itself and contributes values to extension points. The bus starts nothing: the code
/// that uses a contribution creates, starts and stops what it needs.
///
/// To the implementer:
/// - `descriptor` must be constant.
/// - `contribute` must only add to the registry. The bus calls it once, in dependency order, during initialization. If
///   it throws, so does the initializer of the bus.
///
/// Only `descriptor` has no default.
public protocol Plugin: Sendable {
    /// The plugin's description of itself. The bus reads it several times, so it must always be the same.
    var descriptor: PluginDescriptor { get }
    /// Adds the plugin's contributions to the extension points that it knows. The default adds nothing.
    ///
    /// - Throws: Any error. The bus then throws ``PluginError`` with that error as the cause.
    func contribute(to registry: inout ExtensionRegistry) throws
}

extension Plugin {
    /// Contributes nothing: the default for plugins that only have a descriptor.
    public func contribute(to registry: inout ExtensionRegistry) throws {}
}

/// Collects the plugins listed at an entry point.
@resultBuilder
public enum PluginBuilder {
    /// Collects one plugin on a line of its own.
    public static func buildExpression(_ plugin: any Plugin) -> [any Plugin] { [plugin] }
    /// Collects the plugins of another list.
    public static func buildExpression(_ plugins: [any Plugin]) -> [any Plugin] { plugins }
    /// Joins the lines of a list, in order.
    public static func buildBlock(_ parts: [any Plugin]...) -> [any Plugin] { parts.flatMap { $0 } }
    /// Supports `if` without `else`. Adds no plugin if the condition is false.
    public static func buildOptional(_ part: [any Plugin]?) -> [any Plugin] { part ?? [] }
    /// Supports `if` with `else`: the plugins of the first branch.
    public static func buildEither(first part: [any Plugin]) -> [any Plugin] { part }
    /// Supports `if` with `else`: the plugins of the second branch.
    public static func buildEither(second part: [any Plugin]) -> [any Plugin] { part }
    /// Supports `for` over anything that yields plugins.
    public static func buildArray(_ parts: [[any Plugin]]) -> [any Plugin] { parts.flatMap { $0 } }
    /// Supports `if #available` in a list of plugins.
    public static func buildLimitedAvailability(_ part: [any Plugin]) -> [any Plugin] { part }
}
