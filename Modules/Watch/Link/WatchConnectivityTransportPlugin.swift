public import MeshBus
import MeshDelivery
import MeshTransport

#if !canImport(WatchConnectivity)
    import MeshSimulatedWatch
#endif

/// A plugin that registers MeshWatchConnectivityTransport.
public struct WatchConnectivityTransportPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.watch-connectivity", kind: .transport, module: "MeshWatchConnectivityTransport",
            version: "0.1.0", summary: "A phone and its watch, over WatchConnectivity",
            requires: ["core.transport", "core.delivery"],
            capabilities: ["realtime", "queue", "latest", "request-reply", "discovery"],
            limits: [
                .watchConnectivityMessage, .watchConnectivityUserInfo, .wcSessionApplicationContext,
                .watchConnectivityLatest, .watchConnectivityPayload,
            ])
    }

    #if !canImport(WatchConnectivity)
        public func contribute(to registry: inout ExtensionRegistry) {
            registry.add(
                LinkFixture(patience: 5000, configuration: .watchConnectivity) { _ in try Self.makeLinks() },
                to: .linkFixtures)
        }

        /// Creates a simulated phone and watch with a complication, and with both apps in the foreground.
        private static func makeLinks() throws -> LinkGroup {
            let pair = SimulatedWatchPair(seed: 1, conditions: .ideal, traceLimit: 0)
            pair.watch.isComplicationEnabled = true
            let sessions = [pair.phone, pair.watch].compactMap { $0.launch() }
            return LinkGroup(
                sessions.enumerated().map {
                    WatchConnectivityLink($1, clock: pair.clock, launch: UInt32($0))
                },
                clock: pair.clock,
                settle: {
                    pair.advance(by: .milliseconds(10))
                    // The readers run on other threads, in real time.
                    try? await Task.sleep(for: .microseconds(50))
                })
        }
    #endif
}
