/// A place where plugins contribute values of one type: codecs, transports, benchmark cases.
///
/// The module that owns the contract declares the point as a static constant. Code that has a bus reads the
/// contributions from it, with ``PluginBus/contributions(to:)``.
public struct ExtensionPoint<Value: Sendable>: Sendable {
    /// ID of the point. Contributions belong together if both ID and type are equal.
    public let id: String

    /// Creates a point with that name. Start its ID with the name of your library, as in `sessionmesh.codecs`.
    public init(_ id: String) { self.id = id }
}

/// A contributed value and the plugin that contributed it.
public struct Contribution<Value: Sendable>: Sendable {
    /// The plugin that contributed it.
    public let plugin: PluginID
    /// The value that the plugin contributed.
    public let value: Value
}

/// All contributions of the plugins on a bus, in dependency order.
public struct ExtensionRegistry: Sendable {
    private struct Entry: Sendable {
        let plugin: PluginID
        let value: any Sendable
    }

    private var entries: [String: [Entry]] = [:]
    /// The plugin whose `contribute` is running.
    var contributor: PluginID

    init(contributor: PluginID) { self.contributor = contributor }

    /// Contributes a value on behalf of the plugin whose `contribute(to:)` is running.
    public mutating func add<Value>(_ value: Value, to point: ExtensionPoint<Value>) {
        entries[point.id, default: []].append(Entry(plugin: contributor, value: value))
    }

    /// Returns the values of a point. Ignores those of a point with the same ID and another type.
    func contributions<Value>(to point: ExtensionPoint<Value>) -> [Contribution<Value>] {
        (entries[point.id] ?? []).compactMap { entry in
            (entry.value as? Value).map { Contribution(plugin: entry.plugin, value: $0) }
        }
    }
}
