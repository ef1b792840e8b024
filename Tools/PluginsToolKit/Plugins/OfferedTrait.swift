public import MeshBus

/// A trait that this build of the tool lacks, and the plugins it would add. `list` names it.
public struct OfferedTrait: Sendable, Encodable {
    /// The trait's name, as given to `--traits`.
    public let name: String
    /// The plugins that come with it.
    public let plugins: [PluginID]
    /// The trait's purpose in one line, and what it fetches or needs.
    public let summary: String

    /// Creates a trait from its name and the plugins it would add.
    public init(name: String, plugins: [PluginID] = [], summary: String) {
        self.name = name
        self.plugins = plugins
        self.summary = summary
    }
}

extension ExtensionPoint where Value == OfferedTrait {
    /// The extension point at which `list` finds the traits of other builds.
    public static let offeredTraits = ExtensionPoint("sessionmesh.offered-traits")
}
