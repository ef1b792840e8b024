import MeshBus
import Testing

@Suite struct PluginOrderTests {
    /// Each plugin follows the plugins that it requires, for every order and every requirement graph of four plugins.
    @Test func `Requirements come first in every listing of every small graph`() throws {
        let ids: [PluginID] = ["a", "b", "c", "d"]
        // A plugin may require any plugin with a lower index. This gives every acyclic graph of four, up to naming.
        for graph in 0..<64 {
            var bit = 0
            var requires: [[PluginID]] = []
            for index in ids.indices {
                requires.append(
                    (0..<index).compactMap { lower in
                        defer { bit += 1 }
                        return graph >> bit & 1 == 1 ? ids[lower] : nil
                    })
            }
            for listing in permutations(Array(ids.indices)) {
                let bus = try PluginBus(plugins: listing.map { Probe(id: ids[$0], requires: requires[$0]) })
                let order = bus.descriptors.map(\.id)
                #expect(Set(order) == Set(ids))
                for descriptor in bus.descriptors {
                    let place = try #require(order.firstIndex(of: descriptor.id))
                    for required in descriptor.requires {
                        #expect(order[..<place].contains(required), "\(order): \(required) after \(descriptor.id)")
                    }
                }
                if graph == 0 { #expect(order == listing.map { ids[$0] }) }
            }
        }
    }

    @Test func `A duplicate names the plugin and both modules`() {
        let error = #expect(throws: PluginError.self) {
            try PluginBus {
                Probe(id: "core.bus", module: "One")
                Probe(id: "core.bus", module: "Two")
            }
        }
        #expect(error?.code == .duplicateID)
        #expect(error?.plugin == "core.bus")
        #expect(error?.description == "duplicateID: two plugins are registered as 'core.bus' (from One and Two)")
    }

    @Test func `Two different payload limits with one ID are refused`() throws {
        let limit = PayloadLimit(id: "radio.packet", bytes: 64, summary: "Packet", source: "chosen")
        let shared = try PluginBus {
            Probe(id: "a", limits: [limit])
            Probe(id: "b", limits: [limit])
        }
        #expect(shared.descriptors.count == 2)
        let others = [
            PayloadLimit(id: limit.id, bytes: 65, summary: limit.summary, source: limit.source),
            PayloadLimit(id: limit.id, bytes: 64, summary: "Another", source: limit.source),
        ]
        for other in others {
            let error = #expect(throws: PluginError.self) {
                try PluginBus {
                    Probe(id: "a", limits: [limit])
                    Probe(id: "b", limits: [other])
                }
            }
            #expect(error?.code == .conflictingLimit)
            #expect(error?.plugin == "b")
            #expect(error?.message == "plugins 'a' and 'b' declare different payload limits as 'radio.packet'")
        }
    }

    @Test func `A missing requirement names the plugin that requires it and the missing plugin`() {
        let error = #expect(throws: PluginError.self) {
            try PluginBus { Probe(id: "a", requires: ["codec.absent"]) }
        }
        #expect(error?.code == .missingRequirement)
        #expect(error?.plugin == "a")
        #expect(error?.description.contains("'codec.absent'") == true)
    }

    @Test("A ring of any length is named in full", arguments: 1...5)
    func ring(length: Int) {
        let ring = (0..<length).map { index in
            Probe(id: PluginID("p\(index)"), requires: [PluginID("p\((index + 1) % length)")])
        }
        // The error doesn't name a plugin outside the ring that requires a plugin in it.
        let error = #expect(throws: PluginError.self) {
            try PluginBus(plugins: [Probe(id: "outside", requires: ["p0"])] + ring)
        }
        #expect(error?.code == .circularRequirement)
        let path = ((0..<length).map { "p\($0)" } + ["p0"]).joined(separator: " → ")
        #expect(error?.description == "circularRequirement: plugins require each other: \(path)")
    }

    @Test func `The builder takes conditions, loops and lists`() throws {
        let isOn = true
        let bus = try PluginBus {
            Probe(id: "a")
            if isOn { Probe(id: "b") } else { Probe(id: "c") }
            if !isOn { Probe(id: "d") }
            for index in 0..<2 { Probe(id: PluginID("e\(index)")) }
            [Probe(id: "f"), Probe(id: "g")]
        }
        #expect(bus.descriptors.map(\.id) == ["a", "b", "e0", "e1", "f", "g"])
    }
}

private func permutations<Element>(_ elements: [Element]) -> [[Element]] {
    guard elements.count > 1 else { return [elements] }
    return elements.indices.flatMap { index in
        var rest = elements
        let first = rest.remove(at: index)
        return permutations(rest).map { [first] + $0 }
    }
}
