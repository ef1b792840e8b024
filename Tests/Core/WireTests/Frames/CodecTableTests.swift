import MeshBus
import MeshIdentity
import Testing

@testable import MeshWire

@Suite("Tables")
struct CodecTableTests {
    @Test("a codec is found by its number")
    func lookup() throws {
        let codecs = (1...255).map { PlainCodec(id: PayloadCodecID(number: UInt8($0), name: "codec \($0)")) }
        let table = try CodecTable(codecs)
        for codec in codecs {
            #expect(try table.codec(codec.id.number).id.name == codec.id.name)
        }
        #expect(throws: WireError.self) { try table.codec(0) }
    }

    @Test("two codecs of one number, and one of number 0, are refused")
    func conflicts() {
        let zero = PlainCodec(id: PayloadCodecID(number: 0, name: "zero"))
        #expect(throws: WireError.self) { try CodecTable([Sample.codec, Sample.codec]) }
        #expect(throws: WireError.self) { try CodecTable([zero]) }
    }

    @Test("codecs come from plugins")
    func contributions() throws {
        struct CodecPlugin: Plugin {
            let descriptor = PluginDescriptor(
                id: "codec.plain", kind: .codec, module: "Tests", version: "1.0.0", summary: "")

            func contribute(to registry: inout ExtensionRegistry) throws {
                registry.add(Sample.codec, to: .codecs)
            }
        }
        let bus = try PluginBus { CodecPlugin() }
        let table = try CodecTable(bus.contributions(to: .codecs))
        #expect(table.codecs.map(\.id.number) == [200])
    }

    @Test("every known limit has its own id and a source")
    func limits() {
        let known = PayloadLimit.known
        #expect(Set(known.map(\.id)).count == known.count)
        #expect(known.allSatisfy { !$0.source.isEmpty && !$0.summary.isEmpty && $0.bytes > 0 })
        let wire = ModulePlugin.all.first { $0.descriptor.module == "MeshWire" }
        #expect(wire?.descriptor.limits == known)
        let bytes = Dictionary(uniqueKeysWithValues: known.map { ($0.id, $0.bytes) })
        #expect(
            bytes == [
                "wcsession.message": 65_536, "wcsession.userInfo": 65_536, "wcsession.applicationContext": 262_144,
                "udp.datagram": 65_507, "udp.safe": 1_200, "udp.ethernet": 1_472, "mqtt.packet": 268_435_455,
            ])
    }
}
