import Foundation
public import MeshBus
import MeshTransport
import MeshWatchConnectivityTransport

/// A plugin that registers SessionMeshWatchConnectivity.
public struct WatchConnectivityPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.watch-connection", kind: .feature, module: "SessionMeshWatchConnectivity", version: "0.1.0",
            summary:
                "Requests, shared state and files between a phone and its watch, under the names of WatchConnectivitySwift",
            requires: [
                "core.connection", "feature.requests", "feature.shared-state", "feature.files",
                "transport.watch-connectivity",
            ])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(TransportWrapping { CounterpartTransport(silentOver: $0) }, to: .transportWrappers)
    }
}

extension CounterpartTransport {
    /// Creates a wrapper over a silent session. It must forward all traffic of the mesh's transport unchanged.
    convenience init(silentOver mesh: any SessionSyncTransport) {
        let (session, clock) = (StandInSession(), SystemClock())
        (session.isReachable, session.autoReply) = (false, false)
        let port = ReferencePort(multiplexer: .of(session, clock: clock), decoder: JSONDecoder(), clock: clock)
        self.init(localPeer: mesh.localPeer, mesh: mesh, port: port, clock: clock, store: nil, dialect: .mesh)
        open(
            deliver: { _ in }, onStates: { _, _ in }, onSession: {}, onContextWritten: { _ in },
            onIncompatible: { _, _ in })
    }
}
