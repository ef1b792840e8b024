/// A plugin's name on the bus: its kind, a dot and its own name, such as `transport.pipe`.
public struct PluginID: Hashable, Comparable, Sendable, Codable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The whole name, such as `transport.pipe`.
    public let rawValue: String

    /// Takes any text; nothing is checked.
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

/// The purpose of a plugin. Open: a third party names a kind of its own with a string.
public struct PluginKind: Hashable, Sendable, Codable, RawRepresentable, ExpressibleByStringLiteral {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    /// A part of the core: identity, wire, engine.
    public static let core: PluginKind = "core"
    /// A form of bytes: the codecs of MeshWire.
    public static let codec: PluginKind = "codec"
    /// A way for envelopes from device to device.
    public static let transport: PluginKind = "transport"
    /// Something that a person's feature uses: sessions, shared state.
    public static let feature: PluginKind = "feature"
    /// Something that records or shows what passes.
    public static let diagnostics: PluginKind = "diagnostics"
    /// Something that tests or simulates.
    public static let testing: PluginKind = "testing"
    /// Something that shows how the library is used.
    public static let example: PluginKind = "example"
}

/// A plugin's description of itself, readable before any of its code runs.
public struct PluginDescriptor: Hashable, Sendable, Codable {
    /// The plugin's name, unique on a bus.
    public let id: PluginID
    /// The purpose of the plugin.
    public let kind: PluginKind
    /// The Swift module that holds it.
    public let module: String
    /// The plugin's version, as in Semantic Versioning.
    public let version: String
    /// One line: the question that the plugin answers.
    public let summary: String
    /// The plugins that must be registered too. A bus lists them before this one.
    public let requires: [PluginID]
    /// The short words that callers may choose by, such as `realtime`. Empty if the plugin has no such properties.
    public let capabilities: [String]
    /// The payload limits under which this plugin works.
    public let limits: [PayloadLimit]

    /// A description without requirements, capabilities and limits unless they are given.
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
