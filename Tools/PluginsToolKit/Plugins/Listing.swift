import MeshBenchmarks
import MeshBus
import MeshIdentity
import MeshToolOutput
import MeshWire

extension PluginBus {
    /// Returns the descriptor with that ID.
    /// - Throws: `ToolError`, which names the nearest IDs.
    func descriptor(named name: String) throws -> PluginDescriptor {
        if let descriptor = descriptors.first(where: { $0.id.rawValue == name }) { return descriptor }
        throw ToolError.unknown("plugin", name, among: descriptors.map(\.id.rawValue), listedBy: "list")
    }

    /// Returns the cases with those names, in that order, or all.
    /// - Throws: `ToolError`, which lists the known cases.
    func benchmarks(named names: [String]) throws -> [BenchmarkCase] {
        let cases = contributions(to: .benchmarks).map(\.value)
        guard !names.isEmpty else { return cases }
        return try names.map { name in
            if let named = cases.first(where: { $0.id == name }) { return named }
            throw ToolError("there is no benchmark '\(name)'; there are: \(cases.map(\.id).sorted().list)")
        }
    }

    /// Returns the limit with that ID. For nil, returns the limit of application contexts if a plugin declares it: a state within
    /// it fits most devices.
    /// - Throws: `ToolError`, which names the nearest IDs.
    func limit(named name: String?) throws -> PayloadLimit? {
        let limits = descriptors.payloadLimits
        guard let name else { return limits.first { $0 == .wcSessionApplicationContext } }
        if let limit = limits.first(where: { $0.id == name }) { return limit }
        throw ToolError.unknown("limit", name, among: limits.map(\.id), listedBy: "limits")
    }

    /// Returns the plugin's contributions as text for people, such as `codec json`.
    func contributions(of plugin: PluginID) -> [String] {
        let codecs = contributions(to: .codecs).filter { $0.plugin == plugin }.map { "codec \($0.value.id.name)" }
        let compressors = contributions(to: .compressors).filter { $0.plugin == plugin }
            .map { "compressor \($0.value.name)" }
        let benchmarks = contributions(to: .benchmarks).filter { $0.plugin == plugin }
            .map { "benchmark \($0.value.id)" }
        return codecs + compressors + benchmarks
    }
}

/// A payload limit, and the plugins that work under it.
struct LimitRow: Encodable, Equatable {
    let id: String
    let bytes: Int
    let summary: String
    let source: String
    let plugins: [PluginID]

    /// Returns one row for each limit, smallest first.
    static func rows(of descriptors: [PluginDescriptor]) -> [LimitRow] {
        descriptors.payloadLimits.map { limit in
            LimitRow(
                id: limit.id, bytes: limit.bytes, summary: limit.summary, source: limit.source,
                plugins: descriptors.filter { $0.limits.contains(limit) }.map(\.id).sorted())
        }
    }
}

extension ToolError {
    /// - Parameter command: The command that lists the known names.
    static func unknown(_ what: String, _ name: String, among known: [String], listedBy command: String) -> ToolError {
        let near = name.isEmpty ? [] : known.filter { $0.contains(name) || $0.isAlmost(name) }.sorted()
        let hint = near.isEmpty ? ";" : "; did you mean \(near.joined(separator: " or "))?"
        return ToolError("there is no \(what) '\(name)'\(hint) `\(command)` lists them")
    }
}

extension String {
    /// True if the texts differ by at most two typing mistakes.
    fileprivate func isAlmost(_ other: String) -> Bool {
        (-2...2).contains(count - other.count) && editDistance(to: other) <= 2
    }

    /// Number of insertions, deletions and replacements between the two (Levenshtein). O(count × count).
    private func editDistance(to other: String) -> Int {
        let other = Array(other)
        var distances = Array(0...other.count)
        for (row, character) in self.enumerated() {
            var diagonal = distances[0]
            distances[0] = row + 1
            for column in other.indices {
                let replaced = diagonal + (other[column] == character ? 0 : 1)
                diagonal = distances[column + 1]
                distances[column + 1] = Swift.min(replaced, diagonal + 1, distances[column] + 1)
            }
        }
        return distances[other.count]
    }
}
