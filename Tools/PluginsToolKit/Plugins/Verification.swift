import MeshBus
import MeshIdentity
import MeshTesting
import MeshTransport
import MeshWire

/// Which plugins can be examined by the conformance rules, and the examination.
struct Verification {
    let transports: [Contribution<TransportFixture>]
    private let codec: any PayloadCodec

    /// - Parameter name: one plugin; nil for all that can be examined.
    /// - Throws: `ToolError` that says which plugins can be.
    init(of name: String?, on bus: PluginBus) throws {
        let all = bus.contributions(to: .transportFixtures)
        if let name {
            let plugin = try bus.descriptor(named: name).id
            transports = all.filter { $0.plugin == plugin }
            if transports.isEmpty {
                throw ToolError(
                    "'\(name)' offers nothing to examine; these do: \(Set(all.map(\.plugin)).sorted().list)")
            }
        } else {
            transports = all
        }
        let codecs = bus.contributions(to: .codecs).map(\.value)
        guard let codec = codecs.first(where: { $0.id.name == "compact" }) ?? codecs.first else {
            throw ToolError(
                "no codec is registered to write payloads with; list a plugin that brings one, such as CompactCodecPlugin"
            )
        }
        self.codec = codec
    }

    /// - Parameter progress: is told which plugin is examined.
    func rows(progress: (String) -> Void) async -> [ConformanceReport.Row] {
        var rows: [ConformanceReport.Row] = []
        for transport in transports {
            progress(transport.plugin.rawValue)
            rows += await TransportConformance.examine(transport.value, as: transport.plugin, codec: codec).rows
        }
        return rows
    }
}
