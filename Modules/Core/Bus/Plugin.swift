/// A part of a mesh: it describes itself and contributes to extension points. What it contributes is made, started and
/// ended by who uses it.
///
/// To the implementer:
/// - `descriptor` must be constant.
/// - `contribute` must only add to the registry. It is called once, in dependency order, when the bus is made; it may
///   throw, and the bus then is not made.
///
/// Only `descriptor` has no default.
public protocol Plugin: Sendable {
    /// The plugin's description of itself. The bus reads it several times, so it must always be the same.
    var descriptor: PluginDescriptor { get }
    /// Adds what the plugin offers to the extension points that it knows. By default nothing.
    ///
    /// - Throws: any error; the bus then is not made and throws ``PluginError`` with it as the cause.
    func contribute(to registry: inout ExtensionRegistry) throws
}

extension Plugin {
    /// Contributes nothing: the default for plugins that only have a descriptor.
    public func contribute(to registry: inout ExtensionRegistry) throws {}
}

/// Collects the plugins listed at an entry point.
@resultBuilder
public enum PluginBuilder {
    /// One plugin on a line of its own.
    public static func buildExpression(_ plugin: any Plugin) -> [any Plugin] { [plugin] }
    /// Plugins that another list has collected.
    public static func buildExpression(_ plugins: [any Plugin]) -> [any Plugin] { plugins }
    /// The lines of a list, in their order.
    public static func buildBlock(_ parts: [any Plugin]...) -> [any Plugin] { parts.flatMap { $0 } }
    /// `if` without `else`: no plugin where the condition does not hold.
    public static func buildOptional(_ part: [any Plugin]?) -> [any Plugin] { part ?? [] }
    /// `if` with `else`, where the condition holds.
    public static func buildEither(first part: [any Plugin]) -> [any Plugin] { part }
    /// `if` with `else`, where the condition does not hold.
    public static func buildEither(second part: [any Plugin]) -> [any Plugin] { part }
    /// `for` over anything that yields plugins.
    public static func buildArray(_ parts: [[any Plugin]]) -> [any Plugin] { parts.flatMap { $0 } }
    /// Allows `if #available` in a list of plugins.
    public static func buildLimitedAvailability(_ part: [any Plugin]) -> [any Plugin] { part }
}
