import MeshBenchmarks
import MeshResume
import MeshResumeGateway
import MeshSimulatedWatch
import MeshSimulation
import MeshTesting
import PluginsToolKit
import SessionMesh
import SessionMeshWatchConnectivity
import WorkoutExample

#if Libdeflate
    import MeshLibdeflate
#endif
#if Redis
    import MeshRedisLab
#endif
#if SQLite
    import MeshSQLiteStorage
#endif

#if UDP
    import MeshLocalNetworkLab

    // The other process of `bench datagrams`.
    if CommandLine.arguments.dropFirst().first == DatagramSink.command { await DatagramSink.main() }
#endif

#if MQTT
    import MeshMQTTLab
#endif

await PluginsTool.main {
    BusPlugin()
    BenchmarksPlugin()
    IdentityPlugin()
    TimerAnchorPlugin()
    WirePlugin()
    JSONCodecPlugin()
    CompactCodecPlugin()
    CBORCodecPlugin()
    EnginePlugin()
    StoragePlugin()
    TransportPlugin()
    DeliveryPlugin()
    DiscoveryPlugin()
    #if UDP || MQTT
        SecurityPlugin()
    #endif
    #if UDP
        ExaminableUDPTransportPlugin()
    #endif
    #if MQTT
        ExaminableMQTTTransportPlugin()
    #endif
    LoopbackTransportPlugin()
    ScenarioTransportPlugin()
    PipeTransportPlugin()
    UnixSocketTransportPlugin()
    SeriesPlugin()
    SessionPlugin()
    DiagnosticsPlugin()
    ConnectionPlugin()
    RequestsPlugin()
    RegisterPlugin()
    SharedStatePlugin()
    KeySyncPlugin()
    FileTransferPlugin()
    ResumePlugin()
    ResumeGatewayPlugin()
    WatchConnectivityTransportPlugin()
    WatchConnectivityPlugin()
    SimulatedWatchPlugin()
    TestingPlugin()
    WorkoutPlugin()
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
    #if SQLite
        SQLitePlugin()
    #endif
}
