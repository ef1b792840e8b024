import MeshBenchmarkCases
import MeshBenchmarks
package import MeshBus
import SessionMesh

#if UDP
    import MeshLocalNetworkLab
#endif
#if MQTT
    import MeshMQTTLab
#endif
#if WebSocket
    import MeshGatewayLab
#endif

/// Offers the transports of this package to `bench links`, and the benchmarks of datagrams and brokers.
package struct MeasuredLinksPlugin: Plugin {
    package init() {}

    package var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "tool.measured-links", kind: "tool", module: "MeshNetworkBenchmarks", version: "0.1.0",
            summary: "Pipes, sockets, transports within one process, TLS and a gateway, measured from engine to engine",
            requires: ["transport.pipe", "transport.loopback", "transport.scenario", "core.engine", "feature.session"])
    }

    package func contribute(to registry: inout ExtensionRegistry) {
        registry.add(MeasuredLink(id: "pipe", form: .processes(.pipes, makeEnd: pipe)), to: .measuredLinks)
        registry.add(MeasuredLink(id: "unix socket", form: .processes(.unixSocket, makeEnd: pipe)), to: .measuredLinks)
        registry.add(
            MeasuredLink(
                id: "loopback",
                form: .oneProcess { first, _ in
                    let transport = LoopbackSessionSyncTransport(localPeer: first)
                    return MeasuredLink.Ends(first: transport, second: transport)
                }), to: .measuredLinks)
        registry.add(
            MeasuredLink(
                id: "scenario",
                form: .oneProcess { first, second in
                    let network = ScenarioNetwork(seed: 1, conditions: .ideal)
                    return MeasuredLink.Ends(
                        first: network.makeTransport(localPeer: first), second: network.makeTransport(localPeer: second)
                    ) {
                        // Both ends call this, each while the other may be busy. Short steps keep virtual time from reaching the
                        // peers' timeouts.
                        network.advance(by: .milliseconds(1))
                    }
                }), to: .measuredLinks)
        #if UDP
            registry.add(
                MeasuredLink(
                    id: "tls",
                    form: .oneProcess { _, _ in try begun(InMemoryNetwork().pair()) }), to: .measuredLinks)
            registry.add(DatagramBenchmark.benchmarkCase, to: .benchmarks)
            registry.add(SealingBenchmark.benchmarkCase, to: .benchmarks)
        #endif
        #if MQTT
            registry.add(MQTTBenchmark.sealingCase, to: .benchmarks)
            if MosquittoBroker.isInstalled { registry.add(MQTTBenchmark.benchmarkCase, to: .benchmarks) }
        #endif
        #if WebSocket
            registry.add(
                MeasuredLink(
                    id: "gateway",
                    form: .oneProcess { _, _ in
                        // Measures the path itself, without the rate limit of one device.
                        let gateway = try await LabGateway.start(framesPerSecond: 1_000_000)
                        return try begun(gateway.pair()) { withExtendedLifetime(gateway) {} }
                    }), to: .measuredLinks)
        #endif
    }

    /// Starts two transports that may lose real-time messages.
    private func begun(
        _ pair: [some DeliveringTransport], pump: @escaping @Sendable () -> Void = {}
    ) throws -> MeasuredLink.Ends {
        for transport in pair { try transport.delivery.start() }
        return MeasuredLink.Ends(first: pair[0], second: pair[1], mode: .reliableEventually, pump: pump)
    }

    private func pipe(
        _ localPeer: SessionPeer, _ input: Int32, _ output: Int32
    ) async throws -> any SessionSyncTransport {
        let transport = try PipeSessionSyncTransport(
            localPeer: localPeer, input: input, output: output, closesDescriptors: true)
        try transport.start()
        return transport
    }
}
