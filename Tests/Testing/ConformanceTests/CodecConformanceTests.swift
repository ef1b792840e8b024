import MeshBus
import MeshIdentity
import MeshTesting
import MeshWire
import Testing

/// Each of our codecs keeps every rule.
@Suite struct CodecConformanceTests {
    static let codecs: [any PayloadCodec] = [
        JSONCodec(), CompactCodec(), CompactCodec(mode: .deterministic, usesDirectPath: false),
    ]

    @Test(arguments: codecs.indices)
    func `A codec keeps every rule for codecs`(index: Int) async {
        let codec = Self.codecs[index]
        let report = await CodecConformance.examine(codec, as: PluginID("codec.\(codec.id.name)"))
        #expect(report.failures == [], "\(codec.id.name)")
        #expect(report.rows.count == CodecConformance.rules.count)
    }
}
