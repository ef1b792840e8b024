import MeshBenchmarks
import MeshMailbox
import MeshRelay
import MeshResume
import MeshResumeGateway
import MeshSimulatedWatch
import MeshSimulation
import MeshTesting
import MeshWebSocket
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
#if WebSocket
    import MeshGatewayLab
#endif

await PluginsTool.main {
    BusPlugin()
    BenchmarksPlugin()
    IdentityPlugin()
    TimerAnchorPlugin()
    WirePlugin()
    JSONCodecPlugin()
    CompactCodecPlugin()
    EnginePlugin()
    StoragePlugin()
    TransportPlugin()
    DeliveryPlugin()
    DiscoveryPlugin()
    #if UDP || MQTT || WebSocket
        SecurityPlugin()
    #endif
    #if MQTT || WebSocket
        RelayPlugin()
    #endif
    #if UDP
        ExaminableUDPTransportPlugin()
    #endif
    #if MQTT
        ExaminableMQTTTransportPlugin()
    #endif
    #if WebSocket
        WebSocketPlugin()
        ExaminableGatewayTransportPlugin()
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
    MailboxPlugin()
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
