/// A plugin's name on the bus: its kind, a dot and its own name, such as `transport.pipe`.
public struct PluginID: Hashable, Comparable, Sendable, Codable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The complete name, such as `transport.pipe`.
    public let rawValue: String

    /// Creates a name from any text, without a check.
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { self.init(value) }
    public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(String.self)) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    public var description: String { rawValue }
    public static func < (left: PluginID, right: PluginID) -> Bool { left.rawValue < right.rawValue }
}

/// The purpose of a plugin. An open type: third parties can create kinds from strings.
public struct PluginKind: Hashable, Sendable, Codable, RawRepresentable, ExpressibleByStringLiteral {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    /// A part of the core: identity, wire, engine.
    public static let core: PluginKind = "core"
    /// An encoding of payloads: the codecs of MeshWire.
    public static let codec: PluginKind = "codec"
    /// A transport of envelopes between devices.
    public static let transport: PluginKind = "transport"
    /// A module with which apps build features: sessions, shared state.
    public static let feature: PluginKind = "feature"
    /// A module that records or shows traffic.
    public static let diagnostics: PluginKind = "diagnostics"
    /// A module for tests or simulations.
    public static let testing: PluginKind = "testing"
    /// A demonstration of the library.
    public static let example: PluginKind = "example"
}

/// A plugin's description of itself. It can be read before any contribution is made.
public struct PluginDescriptor: Hashable, Sendable, Codable {
    /// The plugin's name, unique on a bus.
    public let id: PluginID
    /// The purpose of the plugin.
    public let kind: PluginKind
    /// The Swift module that contains the plugin.
    public let module: String
    /// The plugin's version, as in Semantic Versioning.
    public let version: String
    /// One line that describes the plugin's purpose.
    public let summary: String
    /// The plugins that must be registered too. A bus lists them before this one.
    public let requires: [PluginID]
    /// Short words by which callers may choose a plugin, such as `realtime`. Empty if it has none.
    public let capabilities: [String]
    /// The payload limits under which this plugin works.
    public let limits: [PayloadLimit]

    /// Creates the description of a plugin. Requirements, capabilities and limits are empty by default.
    public init(
        id: PluginID, kind: PluginKind, module: String, version: String, summary: String,
        requires: [PluginID] = [], capabilities: [String] = [], limits: [PayloadLimit] = []
    ) {
        self.id = id
        self.kind = kind
        self.module = module
        self.version = version
        self.summary = summary
        self.requires = requires
        self.capabilities = capabilities
        self.limits = limits
    }
}
