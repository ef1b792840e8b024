import MeshBase
import MeshBus
import MeshDelivery
import MeshIdentity
import MeshTesting
import MeshTransport
import MeshWire
import Testing

/// Delivery turns any link that keeps the link rules into a transport that keeps the transport rules.
@Suite struct LinkConformanceTests {
    static let laneSets: [[LinkLane]] = [
        [.stream], [.datagram], [.stream, .datagram], [.queue], [.queue, .latest, .file],
        [.stream, .datagram, .queue, .latest, .file],
    ]

    @Test("A sound link keeps every rule, whatever its lanes", arguments: laneSets)
    func conforms(lanes: [LinkLane]) async {
        let report = await TransportConformance.examine(fixture(lanes), as: "transport.memory")
        #expect(report.failures == [], "\(lanes)")
        #expect(report.rows.count == TransportConformance.rules.count)
    }

    @Test func `A link with every lane is exempt only from rules that its queue makes void`() async {
        let report = await TransportConformance.examine(fixture([.stream, .datagram]), as: "transport.memory")
        let skipped = report.rows.filter { $0.outcome == .skipped }
        #expect(skipped.allSatisfy { $0.detail.contains("lane") })
        #expect(
            Set(skipped.map(\.rule)) == [
                "link.queue.kept", "link.urgent.once", "link.file.kept", "link.latest.newest",
                "transport.realtime.kept",
            ])
    }

    @Test func `A link between two peers is reported as exempt from the rules for many`() async {
        let report = await TransportConformance.examine(.inMemory(countMax: 2), as: "transport.memory")
        #expect(report.failures == [])
        #expect(report[rule: "transport.crowd.all"]?.outcome == .skipped)
        #expect(report[rule: "transport.crowd.all"]?.detail == "no more than two peers can be joined")
    }

    private func fixture(_ lanes: [LinkLane]) -> LinkFixture {
        .inMemory(
            lanes: Dictionary(
                uniqueKeysWithValues: lanes.map {
                    ($0, $0 == .stream ? .memoryStream : $0 == .datagram ? .memoryDatagram : .memoryKept)
                }), provesPeers: true)
    }
}
