import MeshSimulation
import MeshTesting
import PluginsToolKit
import SessionMesh
import WorkoutExample

#if Libdeflate
    import MeshLibdeflate
#endif
#if SQLite
    import MeshSQLiteStorage
#endif

await PluginsTool.main {
    BusPlugin()
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
    SecurityPlugin()
    LoopbackTransportPlugin()
    ScenarioTransportPlugin()
    PipeTransportPlugin()
    UnixSocketTransportPlugin()
    UDPTransportPlugin()
    SessionPlugin()
    DiagnosticsPlugin()
    SharedStatePlugin()
    TestingPlugin()
    WorkoutPlugin()
    SimulationPlugin()
    WorkoutSimulationPlugin()
    MeasuredLinksPlugin()
    #if Libdeflate
        LibdeflatePlugin()
    #endif
    #if SQLite
        SQLitePlugin()
    #endif
}
