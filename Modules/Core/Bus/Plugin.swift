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
    var descriptor: PluginDescriptor { get }
    func contribute(to registry: inout ExtensionRegistry) throws
}

extension Plugin {
    public func contribute(to registry: inout ExtensionRegistry) throws {}
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
