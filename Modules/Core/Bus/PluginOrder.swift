/// Sorts plugins topologically: each plugin follows the plugins that it requires. Otherwise the listed order stays.
/// Adds required plugins that aren't listed if they are in `ModulePlugin.all`.
///
/// Depth-first search; O(plugins + requirements).
/// - Throws: `PluginError` with `duplicateID`, `missingRequirement` or `circularRequirement`.
func orderedByRequirement(_ plugins: [any Plugin]) throws(PluginError) -> [any Plugin] {
    var byID: [PluginID: any Plugin] = [:]
    for plugin in plugins {
        let descriptor = plugin.descriptor
        if let earlier = byID.updateValue(plugin, forKey: descriptor.id) {
            throw .duplicateID(descriptor.id, modules: [earlier.descriptor.module, descriptor.module])
        }
    }

    var ordered: [any Plugin] = []
    var placed: Set<PluginID> = []
    var path: [PluginID] = []

    func place(_ plugin: any Plugin) throws(PluginError) {
        let descriptor = plugin.descriptor
        guard !placed.contains(descriptor.id) else { return }
        if let start = path.firstIndex(of: descriptor.id) {
            throw .circularRequirement(path[start...] + [descriptor.id])
        }
        path.append(descriptor.id)
        for id in descriptor.requires {
            guard let required = byID[id] ?? ModulePlugin.byID[id] else {
                throw .missingRequirement(of: descriptor.id, missing: id)
            }
            try place(required)
        }
        path.removeLast()
        placed.insert(descriptor.id)
        ordered.append(plugin)
    }

    for plugin in plugins { try place(plugin) }
    return ordered
}

/// Checks that limits with the same ID are equal. Plugins may share a limit.
/// - Throws: `PluginError` with `conflictingLimit`.
func checkLimitsAreConsistent(in descriptors: [PluginDescriptor]) throws(PluginError) {
    var known: [String: (limit: PayloadLimit, plugin: PluginID)] = [:]
    for descriptor in descriptors {
        for limit in descriptor.limits {
            if let earlier = known[limit.id], earlier.limit != limit {
                throw .conflictingLimit(limit.id, of: earlier.plugin, and: descriptor.id)
            }
            known[limit.id] = (limit, descriptor.id)
        }
    }
}
