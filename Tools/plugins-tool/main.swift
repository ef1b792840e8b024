import MeshNetworkBenchmarks
import MeshResumeGateway
import MeshSimulation
import PluginsToolKit
import SessionMesh
import SessionMeshWatchConnectivity

#if Libdeflate
    import MeshLibdeflate
#endif
#if Redis
    import MeshRedisLab
#endif
#if SQLite
    import MeshSQLiteStorage
#endif
#if Zstd
    import MeshZstd
#endif

#if UDP
    import MeshLocalNetworkLab

    // The second process of `bench datagrams`.
    if CommandLine.arguments.dropFirst().first == DatagramSink.command { await DatagramSink.main() }
#endif

#if MQTT
    import MeshMQTTLab
#endif
#if WebSocket
    import MeshGatewayLab
#endif

await PluginsTool.main {
    BuiltModules.plugins
    JSONCodecPlugin()
    CompactCodecPlugin()
    StoragePlugin()
    DeliveryPlugin()
    DiscoveryPlugin()
    #if UDP || MQTT || WebSocket
        SecurityPlugin()
    #endif
    #if UDP
        ExaminableUDPTransportPlugin()
    #endif
    #if MQTT
        ExaminableMQTTTransportPlugin()
    #endif
    #if WebSocket
        ExaminableGatewayTransportPlugin()
    #endif
    LoopbackTransportPlugin()
    ScenarioTransportPlugin()
    PipeTransportPlugin()
    UnixSocketTransportPlugin()
    DiagnosticsPlugin()
    FileTransferPlugin()
    ResumeGatewayPlugin()
    WatchConnectivityTransportPlugin()
    WatchConnectivityPlugin()
    SimulationPlugin()
    WorkoutSimulationPlugin()
    MeasuredLinksPlugin()
    OfferedTraitsPlugin()
    #if Redis
        ExaminableRedisReplayPlugin()
    #endif
    #if Libdeflate
        LibdeflatePlugin()
    #endif
    #if Zstd
        ZstdPlugin()
    #endif
    #if SQLite
        SQLitePlugin()
    #endif
}
