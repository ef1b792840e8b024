import MeshBus
import MeshDelivery
import MeshIdentity
import MeshResumeGateway
import MeshStorage
import MeshTesting
import MeshToolOutput
import MeshTransport
import MeshWire

/// The plugins that the conformance rules can examine, and the examination.
struct Verification {
    let transports: [Contribution<TransportFixture>]
    let wrappers: [Contribution<TransportWrapping>]
    // The transports over which wrappers are examined.
    private let wrappedFixtures: [TransportFixture]
    let links: [Contribution<LinkFixture>]
    let codecs: [Contribution<any PayloadCodec>]
    let stores: [Contribution<StoreFactory>]
    let replayBuffers: [Contribution<ReplayBufferFixture>]
    // Encodes the payloads that transports carry.
    private let codec: any PayloadCodec

    /// - Parameter name: ID of one plugin; nil for all that can be examined.
    /// - Throws: `ToolError`, which lists the plugins that can be examined.
    init(of name: String?, on bus: PluginBus) throws {
        let allTransports = bus.contributions(to: .transportFixtures)
        let allWrappers = bus.contributions(to: .transportWrappers)
        wrappedFixtures = allTransports.map(\.value)
        let allLinks = bus.contributions(to: .linkFixtures)
        let allCodecs = bus.contributions(to: .codecs)
        let allStores = bus.contributions(to: .stores)
        let allReplayBuffers = bus.contributions(to: .replayBuffers)
        if let name {
            let plugin = try bus.descriptor(named: name).id
            transports = allTransports.filter { $0.plugin == plugin }
            wrappers = allWrappers.filter { $0.plugin == plugin }
            links = allLinks.filter { $0.plugin == plugin }
            codecs = allCodecs.filter { $0.plugin == plugin }
            stores = allStores.filter { $0.plugin == plugin }
            replayBuffers = allReplayBuffers.filter { $0.plugin == plugin }
            if transports.isEmpty, wrappers.isEmpty, links.isEmpty, codecs.isEmpty, stores.isEmpty,
                replayBuffers.isEmpty
            {
                let examinable = Set(
                    allTransports.map(\.plugin) + allWrappers.map(\.plugin) + allLinks.map(\.plugin)
                        + allCodecs.map(\.plugin) + allStores.map(\.plugin) + allReplayBuffers.map(\.plugin))
                throw ToolError("'\(name)' can't be examined; these can: \(examinable.sorted().list)")
            }
        } else {
            transports = allTransports
            wrappers = allWrappers
            links = allLinks
            codecs = allCodecs
            stores = allStores
            replayBuffers = allReplayBuffers
        }
        let payloadCodecs = allCodecs.map(\.value)
        guard let codec = payloadCodecs.first(where: { $0.id.name == "compact" }) ?? payloadCodecs.first else {
            throw ToolError(
                "no codec is registered for payloads; list a plugin that provides one, such as CompactCodecPlugin"
            )
        }
        self.codec = codec
    }

    /// - Parameter progress: Called with the ID of the plugin that is examined next.
    func rows(progress: (String) -> Void) async -> [ConformanceReport.Row] {
        var rows: [ConformanceReport.Row] = []
        for codec in codecs {
            progress(codec.plugin.rawValue)
            rows += await CodecConformance.examine(codec.value, as: codec.plugin).rows
        }
        for store in stores {
            progress(store.plugin.rawValue)
            rows += await StoreConformance.examine(store.value, as: store.plugin).rows
        }
        for buffer in replayBuffers {
            progress(buffer.plugin.rawValue)
            rows += await Self.rows(of: buffer)
        }
        var reports: [PluginID: [ConformanceReport]] = [:]
        for transport in transports {
            progress(transport.plugin.rawValue)
            reports[transport.plugin, default: []].append(
                await TransportConformance.examine(transport.value, as: transport.plugin, codec: codec))
        }
        for wrapper in wrappers {
            progress(wrapper.plugin.rawValue)
            for fixture in wrappedFixtures {
                reports[wrapper.plugin, default: []].append(
                    await TransportConformance.examine(
                        fixture.wrapped(by: wrapper.value.wrap), as: wrapper.plugin, codec: codec))
            }
        }
        for link in links {
            progress(link.plugin.rawValue)
            reports[link.plugin, default: []].append(
                await TransportConformance.examine(link.value, as: link.plugin, codec: codec))
        }
        var seen: Set<PluginID> = []
        let plugins = transports.map(\.plugin) + wrappers.map(\.plugin) + links.map(\.plugin)
        for plugin in plugins where seen.insert(plugin).inserted {
            rows += ConformanceReport(merging: reports[plugin] ?? []).rows
        }
        return rows
    }

    private static func rows(of buffer: Contribution<ReplayBufferFixture>) async -> [ConformanceReport.Row] {
        if let exemption = buffer.value.exemption {
            return buffer.value.rules.map { rule in
                .init(
                    plugin: buffer.plugin, rule: rule.id, summary: rule.summary, outcome: .skipped, detail: exemption)
            }
        }
        return await buffer.value.examine().map { rule, complaint in
            .init(
                plugin: buffer.plugin, rule: rule.id, summary: rule.summary,
                outcome: complaint == nil ? .passed : .failed, detail: complaint ?? "")
        }
    }
}
