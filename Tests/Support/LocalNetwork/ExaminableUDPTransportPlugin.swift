#if UDP
    package import MeshBus
    import MeshDelivery
    import MeshUDPTransport

    /// MeshUDPTransport's plugin, with links for the conformance rules.
    package struct ExaminableUDPTransportPlugin: Plugin {
        private let transport = UDPTransportPlugin()

        package init() {}

        package var descriptor: PluginDescriptor { transport.descriptor }

        package func contribute(to registry: inout ExtensionRegistry) throws {
            try transport.contribute(to: &registry)
            registry.add(.udp, to: .linkFixtures)
        }
    }
#endif
