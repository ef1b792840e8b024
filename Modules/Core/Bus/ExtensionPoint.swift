/// A place where plugins contribute values of one type: codecs, transports, benchmark cases.
///
/// The module that owns the contract declares the point as a static constant; the code that lists plugins reads it.
public struct ExtensionPoint<Value: Sendable>: Sendable {
    /// Names the point: contributions meet where id and type are the same.
    public let id: String

    /// An id begins with its library, such as `sessionmesh.codecs`.
    public init(_ id: String) { self.id = id }
}

/// A contributed value and the plugin that it came from.
public struct Contribution<Value: Sendable>: Sendable {
    /// The plugin that contributed it.
    public let plugin: PluginID
    /// The value that the plugin contributed.
    public let value: Value
}

/// Everything that the plugins of a bus have contributed, in dependency order.
public struct ExtensionRegistry: Sendable {
    private struct Entry: Sendable {
        let plugin: PluginID
        let value: any Sendable
    }

    private var entries: [String: [Entry]] = [:]
    /// The plugin whose `contribute` is being called.
    var contributor: PluginID

    init(contributor: PluginID) { self.contributor = contributor }

    /// Contributes a value, on behalf of the plugin whose `contribute(to:)` runs.
    public mutating func add<Value>(_ value: Value, to point: ExtensionPoint<Value>) {
        entries[point.id, default: []].append(Entry(plugin: contributor, value: value))
    }

    /// Values contributed to a point of the same id but another type are not among them.
    func contributions<Value>(to point: ExtensionPoint<Value>) -> [Contribution<Value>] {
        (entries[point.id] ?? []).compactMap { entry in
            (entry.value as? Value).map { Contribution(plugin: entry.plugin, value: $0) }
        }
    }
}
