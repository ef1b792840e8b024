import MeshBus
import MeshDelivery
import MeshIdentity
import MeshLoopbackTransport
import MeshPipeTransport
import MeshScenarioTransport
import MeshStorage
import MeshTesting
import MeshTransport
import MeshWire
import Testing

@Suite struct TransportConformanceTests {
    /// Fixtures of all transports. The tests define those of the pipe, because its plugins contribute only link fixtures.
    static let fixtures: [(plugin: PluginID, fixture: TransportFixture)] = {
        do {
            let bus = try PluginBus {
                StoragePlugin()
                DeliveryPlugin()
                LoopbackTransportPlugin()
                ScenarioTransportPlugin()
            }
            return bus.contributions(to: .transportFixtures).map { ($0.plugin, $0.value) }
                + [("transport.pipe", .pipe(.socketPair)), ("transport.unix", .pipe(.meetingPlace))]
        } catch {
            Issue.record("the bus cannot be made: \(error)")
            return []
        }
    }()

    @Test func `Every transport of this package offers itself for examination`() {
        #expect(
            Set(Self.fixtures.map(\.plugin)) == [
                "transport.loopback", "transport.scenario", "transport.pipe", "transport.unix",
            ])
    }

    static let codecs: [any PayloadCodec] = [CompactCodec(), JSONCodec()]

    @Test("A transport keeps every rule", arguments: fixtures.indices, TransportConformance.rules.map(\.id))
    func conforms(index: Int, rule: String) async throws {
        let (plugin, fixture) = Self.fixtures[index]
        let rules = TransportConformance.rules.filter { $0.id == rule }
        for codec in Self.codecs {
            let report = await TransportConformance.examine(fixture, as: plugin, codec: codec, rules: rules)
            #expect(report.rows.count == 1)
            #expect(report.failures == [], "with \(codec.id)")
            let lacksExtra = report.rows.contains { $0.outcome == .skipped && $0.detail.hasPrefix("the transport ") }
            #expect(!lacksExtra, "our own transports rely on no default of the contract")
        }
    }

    @Test func `Rules have distinct IDs`() {
        let ids = TransportConformance.rules.map(\.id)
        #expect(Set(ids).count == ids.count)
        #expect(ids.count >= 40)
        #expect(ids.allSatisfy { $0.hasPrefix("transport.") || $0.hasPrefix("link.") })
    }
}
