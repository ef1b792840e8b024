import MeshBus
import MeshDelivery
import MeshIdentity
import MeshTesting
import MeshTransport
import MeshWire

struct RadioTransportPlugin: Plugin {
    var descriptor: PluginDescriptor { fatalError() }
}
enum RadioLink {
    static func makePair() throws -> (any TransportLink, any TransportLink) { fatalError() }
}
@MainActor var registry: ExtensionRegistry {
    get { fatalError() }
    set {}
}
