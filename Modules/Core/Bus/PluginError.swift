public import MeshBase

/// An error that says why a bus couldn't be created, and names the plugin at fault.
public struct PluginError: CodedError {
    /// The category of the failure. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// Two listed plugins have the same ID.
        public static let duplicateID = Code(description: "duplicateID")
        /// Two plugins state different payload limits with the same ID.
        public static let conflictingLimit = Code(description: "conflictingLimit")
        /// A plugin requires one that isn't listed.
        public static let missingRequirement = Code(description: "missingRequirement")
        /// Plugins require each other in a cycle.
        public static let circularRequirement = Code(description: "circularRequirement")
        /// A plugin's `contribute` threw.
        public static let contributionFailed = Code(description: "contributionFailed")
    }

    public let code: Code
    /// The plugin at fault.
    public let plugin: PluginID
    public let message: String
    public let cause: (any Error)?

    public var advice: String {
        switch code {
        case .duplicateID: "List only one of them, or give the other its own ID."
        case .conflictingLimit: "Declare the same limit in both, or give each limit its own ID."
        case .missingRequirement: "List the required plugin as well."
        case .circularRequirement: "Remove one of these requirements."
        default: "Fix the underlying error, or remove the plugin."
        }
    }
}

extension PluginError {
    static func duplicateID(_ id: PluginID, modules: [String]) -> PluginError {
        PluginError(
            code: .duplicateID, plugin: id,
            message: "two plugins are registered as '\(id)' (from \(modules.joined(separator: " and ")))", cause: nil)
    }

    static func conflictingLimit(_ limit: String, of first: PluginID, and second: PluginID) -> PluginError {
        PluginError(
            code: .conflictingLimit, plugin: second,
            message: "plugins '\(first)' and '\(second)' declare different payload limits as '\(limit)'", cause: nil)
    }

    static func missingRequirement(of id: PluginID, missing: PluginID) -> PluginError {
        PluginError(
            code: .missingRequirement, plugin: id,
            message: "plugin '\(id)' requires '\(missing)', which is not registered", cause: nil)
    }

    static func circularRequirement(_ ring: [PluginID]) -> PluginError {
        PluginError(
            code: .circularRequirement, plugin: ring[0],
            message: "plugins require each other: \(ring.map(\.rawValue).joined(separator: " → "))", cause: nil)
    }

    static func contributionFailed(of id: PluginID, _ cause: any Error) -> PluginError {
        PluginError(
            code: .contributionFailed, plugin: id, message: "plugin '\(id)' failed to contribute", cause: cause)
    }
}
